package translate_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire"
	"github.com/spillway-llm/spillway/core/wire/anthropic"
	"github.com/spillway-llm/spillway/core/wire/openai"
	"github.com/spillway-llm/spillway/core/wire/translate"
	"github.com/spillway-llm/spillway/core/wire/wiretest"
)

// direction reads a scenario's section "from".
func direction(t *testing.T, sc wiretest.Scenario) (from, to core.Wire) {
	t.Helper()
	if from = core.Wire(sc.Section(t, "from")); from == core.WireAnthropic {
		return from, core.WireOpenAI
	}
	return from, core.WireAnthropic
}

// names reads a scenario's section "names", which it may lack: the tool names
// that were shortened in the request.
func names(t *testing.T, sc wiretest.Scenario) translate.Names {
	t.Helper()
	var n translate.Names
	if doc, ok := sc.Sections["names"]; ok {
		if err := json.Unmarshal([]byte(doc), &n); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func format(w core.Wire) wire.Format {
	if w == core.WireAnthropic {
		return anthropic.New()
	}
	return openai.New()
}

func TestRequest_Scenarios(t *testing.T) {
	t.Parallel()
	for _, sc := range wiretest.Load(t, "testdata/requests") {
		t.Run(sc.Name, func(t *testing.T) {
			t.Parallel()
			from, to := direction(t, sc)
			var target core.Target
			if err := json.Unmarshal([]byte(sc.Section(t, "target")), &target); err != nil {
				t.Fatal(err)
			}
			doc := sc.Section(t, "body")
			f, err := translate.Request(from, to, []byte(doc), &target)
			if err != nil {
				t.Fatal(err)
			}
			if want := sc.Section(t, "want"); string(f.Body) != want {
				t.Errorf("got  %s\nwant %s", f.Body, want)
			}
			if got, want := strings.Join(f.Warnings, "\n"), sc.Section(t, "warnings"); got != want {
				t.Errorf("warnings:\n%s\nwant:\n%s", got, want)
			}
			var p wire.Peek
			if err := format(to).Peek(f.Body, &p); err != nil || p.Model != target.Model || p.Needs.Prefill {
				t.Errorf("the body is no request of its new form: %+v, %v", p, err)
			}
			if doc != sc.Section(t, "body") {
				t.Error("the caller's body was changed")
			}
		})
	}
}

func TestResponse_Scenarios(t *testing.T) {
	t.Parallel()
	for _, sc := range wiretest.Load(t, "testdata/answers") {
		t.Run(sc.Name, func(t *testing.T) {
			t.Parallel()
			from, to := direction(t, sc)
			got, err := translate.Response(from, to, []byte(sc.Section(t, "answer")), 0, names(t, sc))
			if _, bad := sc.Sections["error"]; bad {
				var e *core.Error
				if !errors.As(err, &e) || e.Kind != core.KindBadResponse || e.Type != sc.Section(t, "error") {
					t.Errorf("got %s, %v; want an error at %s", got.Body, err, sc.Section(t, "error"))
				}
				return
			}
			if want := sc.Section(t, "want"); err != nil || string(got.Body) != want {
				t.Fatalf("got  %s, %v\nwant %s", got.Body, err, want)
			}
			if got, want := strings.Join(got.Warnings, "\n"), strings.TrimSuffix(sc.Sections["warnings"], "\n"); got != want {
				t.Errorf("warnings:\n%s\nwant:\n%s", got, want)
			}
			if _, model, id, err := format(to).Answer(got.Body); err != nil || model == "" || id == "" {
				t.Errorf("the answer is none of its new form: %q %q %v", model, id, err)
			}
		})
	}
}

func TestStream_Scenarios(t *testing.T) {
	t.Parallel()
	for _, sc := range wiretest.Load(t, "testdata/streams") {
		t.Run(sc.Name, func(t *testing.T) {
			t.Parallel()
			from, to := direction(t, sc)
			s := translate.NewStream(from, to, sc.Section(t, "usage") == "yes", 0, names(t, sc))
			source := format(from).NewFollower()
			var got []byte
			for _, ev := range wiretest.Events(t, sc.Section(t, "stream")+"\n") {
				source.Follow(&ev)
				got = s.Append(got, &ev)
			}
			if source.Err() == nil {
				got = s.End(got)
			}
			if want := sc.Sections["want"]; string(got) != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			path := ""
			if err := s.Err(); err != nil {
				path = err.Type
			}
			if want := strings.TrimSuffix(sc.Sections["error"], "\n"); path != want {
				t.Errorf("error at %q, want %q", path, want)
			}
			if got, want := strings.Join(s.Warnings(), "\n"), strings.TrimSuffix(sc.Sections["warnings"], "\n"); got != want {
				t.Errorf("warnings:\n%s\nwant:\n%s", got, want)
			}
			whole(t, format(to), string(got), source.Err() == nil && s.Err() == nil)
		})
	}
}

// whole holds that the caller's own format finds the stream as whole as its
// source was.
func whole(t *testing.T, f wire.Format, stream string, want bool) {
	t.Helper()
	follower := f.NewFollower()
	for _, ev := range wiretest.Events(t, stream) {
		if !ev.Canonical {
			t.Errorf("event is not canonical: %q", ev.Raw)
		}
		follower.Follow(&ev)
	}
	if got := follower.Err() == nil; got != want {
		t.Errorf("the translated stream is whole: %v (%v), want %v", got, follower.Err(), want)
	}
}
