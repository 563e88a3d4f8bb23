package gateway_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spillway-llm/spillway/core"
)

func anthropicRig(t testing.TB, v *vendor, changes ...setup) *rig {
	t.Helper()
	return newRig(t, []target{{id: "claude", model: "claude-1", wire: core.WireAnthropic, vendor: v}}, changes...)
}

func openAIRig(t testing.TB, v *vendor, changes ...setup) *rig {
	t.Helper()
	return newRig(t, []target{{id: "gpt", model: "gpt-1", wire: core.WireOpenAI, vendor: v}}, changes...)
}

func TestNative_JSONIsByteFaithful(t *testing.T) {
	t.Parallel()
	v := newVendor(t, says(200, messageAnswer, "Request-Id", "req_vendor"))
	r := anthropicRig(t, v)
	body := `{"novel_field" : {"deep":[1 ,2]},"model":"claude","max_tokens":64, "messages":[{"role":"user","content":"hi\u00e9","x":null}]}`
	got := r.ask(t, "/v1/messages", body, "Anthropic-Version", "2026-10-21")
	if got.status != 200 || got.body != messageAnswer {
		t.Errorf("status %d, body %q", got.status, got.body)
	}
	h := v.last(t)
	if want := strings.Replace(body, `"claude"`, `"claude-1"`, 1); string(h.body) != want {
		t.Errorf("vendor got\n%s, want\n%s", h.body, want)
	}
	if h.header.Get("Anthropic-Version") != "2026-10-21" {
		t.Errorf("version %q was rewritten", h.header.Get("Anthropic-Version"))
	}
	d := r.tape.decision(t, 1)
	if d.Target != "claude" || d.Status != 200 || d.Outcome != core.KindNone || d.Model != "claude-1" ||
		d.Usage.Input != 12 || d.Usage.Output != 5 || !d.CostKnown || d.Cost != 12*3_000_000+5*15_000_000 {
		t.Errorf("decision %+v", d)
	}
	if a := d.Attempts[0]; a.UpstreamID != "req_vendor" || a.Status != 200 || a.FirstContent == 0 {
		t.Errorf("attempt %+v", a)
	}
	if id := got.header.Get("Request-Id"); id != d.ID || got.header.Get("Spillway-Decision") != d.ID {
		t.Errorf("request id %q, decision %q, recorded %q", id, got.header.Get("Spillway-Decision"), d.ID)
	}
}

func TestNative_StreamIsByteFaithful(t *testing.T) {
	t.Parallel()
	novel := "event: novel_event\ndata: {\"type\":\"novel_event\",\"x\":[1, 2]}\n\n"
	parts := []string{messageStart, messageDelta("Hel"), novel + messageDelta("lo"), messageEnd}
	v := newVendor(t, streams(parts...))
	r := anthropicRig(t, v)
	got := r.ask(t, "/v1/messages?beta=true", askMessagesStream, "Anthropic-Beta", "b-1,b-2")
	if want := withoutPings(strings.Join(parts, "")); got.body != want {
		t.Errorf("got\n%s, want\n%s", got.body, want)
	}
	if ct := got.header.Get("Content-Type"); ct != "text/event-stream" {
		t.Errorf("content type %q", ct)
	}
	if h := v.last(t); h.query != "beta=true" || h.header.Get("Anthropic-Beta") != "b-1,b-2" {
		t.Errorf("vendor got query %q, betas %q", h.query, h.header.Get("Anthropic-Beta"))
	}
	if d := r.tape.decision(t, 1); d.Usage.Input != 12 || d.Usage.Output != 5 || d.Usage.Estimated || d.FirstContent == 0 {
		t.Errorf("decision %+v", d)
	}
}

// TestNative_ConnectionIsUsedAgain holds that a stream is read to its end after
// the end marker: a connection per stream would cost more than the stream.
func TestNative_ConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	v := &vendor{Server: httptest.NewUnstartedServer(streams(messageStart, messageDelta("Hello"), messageEnd))}
	v.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	v.Start()
	t.Cleanup(v.Close)
	r := anthropicRig(t, v)
	for range 5 {
		r.ask(t, "/v1/messages", askMessagesStream)
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections for 5 streams in a row", n)
	}
}
