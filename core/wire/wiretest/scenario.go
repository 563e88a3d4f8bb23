// Package wiretest holds every wire format to the same scenarios.
package wiretest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/core/sse"
	"github.com/spillway-llm/spillway/core/wire"
)

// Scenario is one txtar file: a comment and named sections.
type Scenario struct {
	Name     string
	Sections map[string]string
}

// Section returns a section without the line end before the next one. The
// scenario must have it.
func (s Scenario) Section(t *testing.T, name string) string {
	t.Helper()
	text, ok := s.Sections[name]
	if !ok {
		t.Fatalf("scenario %s has no section %q", s.Name, name)
	}
	return strings.TrimSuffix(text, "\n")
}

// Load reads the scenarios of a folder.
func Load(t *testing.T, dir string) []Scenario {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenarios in %s: %v", dir, err)
	}
	var all []Scenario
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, Scenario{
			Name:     strings.TrimSuffix(filepath.Base(path), ".txtar"),
			Sections: sections(string(b)),
		})
	}
	return all
}

// sections splits at lines like "-- name --".
func sections(text string) map[string]string {
	m := map[string]string{}
	name := ""
	for line := range strings.Lines(text) {
		if head, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok && strings.HasSuffix(head, " --") {
			name = strings.TrimSuffix(head, " --")
			m[name] = ""
			continue
		}
		m[name] += line
	}
	return m
}

// Events returns the events of a stream, each with memory of its own.
func Events(t testing.TB, stream string) []sse.Event {
	t.Helper()
	s := sse.NewScanner(0)
	s.Feed([]byte(stream))
	var all []sse.Event
	for {
		ev, ok := s.Next()
		if !ok {
			return all
		}
		all = append(all, sse.Event{
			Name: append([]byte(nil), ev.Name...), Data: append([]byte(nil), ev.Data...),
			Raw: append([]byte(nil), ev.Raw...), Canonical: ev.Canonical,
		})
	}
}

// outcome is a scenario's result section.
type outcome struct {
	Marks  string      `json:"marks"`
	End    core.Kind   `json:"end"`
	Repeat bool        `json:"repeat"`
	Model  string      `json:"model"`
	ID     string      `json:"id"`
	Usage  price.Usage `json:"usage"`
}

// Streams runs a format's follower through the streams in a folder: each has a
// section "stream" and a section "result" with the marks of its events, the
// kind at its end, whether the same target may be tried again, and what was seen.
func Streams(t *testing.T, f wire.Format, dir string) {
	t.Helper()
	follower := f.NewFollower()
	for _, sc := range Load(t, dir) {
		t.Run(sc.Name, func(t *testing.T) {
			var want outcome
			if err := json.Unmarshal([]byte(sc.Section(t, "result")), &want); err != nil {
				t.Fatal(err)
			}
			for name, stream := range Spellings(sc.Section(t, "stream") + "\n") {
				follower.Reset()
				if got := follow(t, follower, stream); got != want {
					t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
				}
			}
		})
	}
}

// Spellings writes one stream in the ways that the standard allows (field case
// R19).
func Spellings(stream string) map[string]string {
	return map[string]string{
		"lf":       stream,
		"crlf":     strings.ReplaceAll(stream, "\n", "\r\n"),
		"cr":       strings.ReplaceAll(stream, "\n", "\r"),
		"no_space": strings.ReplaceAll(strings.ReplaceAll(stream, "\ndata: ", "\ndata:"), "event: ", "event:"),
		"noise":    strings.ReplaceAll(stream, "\n\n", "\nid: 7\nretry: 10\n: comment\n\n: comment\n\n"),
	}
}

func follow(t *testing.T, f wire.Follower, stream string) outcome {
	t.Helper()
	var got outcome
	var marks []string
	for _, ev := range Events(t, stream) {
		marks = append(marks, markName(f.Follow(&ev)))
	}
	got.Marks = strings.Join(marks, " ")
	if err := f.Err(); err != nil {
		got.End, got.Repeat = err.Kind, !err.NoRetry
	}
	got.Usage, got.Model, got.ID = f.Seen()
	return got
}

func markName(m wire.Mark) string {
	names := map[wire.Mark]string{
		wire.MarkLifecycle: "lifecycle", wire.MarkPing: "ping", wire.MarkContent: "content",
		wire.MarkUsage: "usage", wire.MarkEnd: "end", wire.MarkError: "error",
	}
	return names[m]
}
