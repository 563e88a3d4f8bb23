package demovendor_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/demovendor"
)

// The smallest bodies that the vendors answer.
const (
	claudeBody = `{"model":"m","max_tokens":500,"messages":[{"role":"user","content":"hello"}]}`
	gptBody    = `{"model":"m","messages":[{"role":"user","content":"hello"}]}`
)

// quick is a vendor of one model, m, that answers at once.
func quick(w demovendor.Wire) demovendor.Config {
	return demovendor.Config{Wire: w, Models: []demovendor.Model{{Name: "m"}}, Record: 10}
}

// streamed turns a body into one that asks for a stream.
func streamed(body string) string { return `{"stream":true,` + body[1:] }

// request builds the request that a client of the wire would send.
func request(w demovendor.Wire, body string) *http.Request {
	path := "/v1/messages"
	if w == demovendor.WireOpenAI {
		path = "/v1/chat/completions"
	}
	r := httptest.NewRequest(http.MethodPost, "http://vendor"+path, strings.NewReader(body))
	r.RequestURI = "" // a client's request has none
	r.Header.Set("Content-Type", "application/json")
	if w == demovendor.WireAnthropic {
		r.Header.Set("Anthropic-Version", "2023-06-01")
	}
	return r
}

// body returns the body that suits the wire.
func body(w demovendor.Wire) string {
	if w == demovendor.WireOpenAI {
		return gptBody
	}
	return claudeBody
}

// ask sends a request in memory and reads the answer to its end.
func ask(t *testing.T, v *demovendor.Vendor, r *http.Request) (*http.Response, string) {
	t.Helper()
	resp, err := v.RoundTrip(r)
	if err != nil {
		t.Fatalf("round trip: %v", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	return resp, string(b)
}

// decode reads a JSON answer.
func decode(t *testing.T, doc string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(doc), &m); err != nil {
		t.Fatalf("answer %q: %v", doc, err)
	}
	return m
}

// sent is one event as a client reads it.
type sent struct{ name, data string }

// parse reads a stream by the rules of server-sent events, whatever ends its lines.
func parse(stream string) []sent {
	text := strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	var events []sent
	var e sent
	var data []string
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil {
				e.data = strings.Join(data, "\n")
				events = append(events, e)
			}
			e, data = sent{}, nil
		case name == "event":
			e.name = value
		case name == "data":
			data = append(data, value)
		}
	}
	return events
}

// names lists the events' names.
func names(events []sent) string {
	var list []string
	for _, e := range events {
		list = append(list, e.name)
	}
	return strings.Join(list, " ")
}

// frozen is a clock that never waits.
type frozen struct{}

func (frozen) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }
func (frozen) Wall() time.Time                                  { return time.Unix(1_700_000_000, 0) }

func TestPresetsServeTheirModels(t *testing.T) {
	t.Parallel()
	for wire, want := range map[demovendor.Wire][]string{
		demovendor.WireAnthropic: {"claude-opus-5-5", "claude-sonnet-5", "claude-haiku-5-5"},
		demovendor.WireOpenAI:    {"gpt-6-sol", "gpt-6-luna"},
	} {
		cfg := demovendor.Preset(wire)
		cfg.Clock = frozen{}
		v := demovendor.New(cfg)
		for _, model := range want {
			resp, got := ask(t, v, request(wire, strings.Replace(body(wire), `"m"`, `"`+model+`"`, 1)))
			if resp.StatusCode != http.StatusOK || !strings.Contains(got, "Simulated answer from "+model) {
				t.Errorf("%s: status %d, answer %q, want it to say that it is simulated", model, resp.StatusCode, got)
			}
			if resp.Header.Get(demovendor.MarkHeader) == "" {
				t.Errorf("%s: answer without the header %s", model, demovendor.MarkHeader)
			}
		}
	}
}

func TestAnswersEchoNoPrompt(t *testing.T) {
	t.Parallel()
	for _, wire := range []demovendor.Wire{demovendor.WireAnthropic, demovendor.WireOpenAI} {
		v := demovendor.New(quick(wire))
		_, got := ask(t, v, request(wire, strings.Replace(body(wire), "hello", "xyzzy-secret", 1)))
		if strings.Contains(got, "xyzzy") {
			t.Errorf("%s: the answer quotes the prompt: %s", wire, got)
		}
	}
}

func TestModelsInTheWiresShape(t *testing.T) {
	t.Parallel()
	for wire, want := range map[demovendor.Wire]string{
		demovendor.WireAnthropic: `"first_id":"claude-opus-5-5"`,
		demovendor.WireOpenAI:    `"object":"list"`,
	} {
		v := demovendor.New(demovendor.Preset(wire))
		r := httptest.NewRequest(http.MethodGet, "/v1/models", nil)
		r.RequestURI = ""
		resp, got := ask(t, v, r)
		if resp.StatusCode != http.StatusOK || !strings.Contains(got, want) {
			t.Errorf("%s: models: status %d, %s, want %s in it", wire, resp.StatusCode, got, want)
		}
		if list, _ := decode(t, got)["data"].([]any); len(list) != len(demovendor.Preset(wire).Models) {
			t.Errorf("%s: %d models listed, want %d", wire, len(list), len(demovendor.Preset(wire).Models))
		}
	}
}

func TestEmptyModelListIsStillAList(t *testing.T) {
	t.Parallel()
	for _, wire := range []demovendor.Wire{demovendor.WireAnthropic, demovendor.WireOpenAI} {
		r := httptest.NewRequest(http.MethodGet, "/v1/models", nil)
		r.RequestURI = ""
		_, got := ask(t, demovendor.New(demovendor.Config{Wire: wire}), r)
		if !strings.Contains(got, `"data":[]`) {
			t.Errorf("%s: models of nobody: %s, want an empty list", wire, got)
		}
	}
}
