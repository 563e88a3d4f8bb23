package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/gateway"
)

// errorEvent is an error inside a stream that began with 200.
func errorEvent(kind string) string {
	return "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"" + kind + "\",\"message\":\"no\"}}\n\n"
}

// twoRig has a primary and a fallback that both speak Anthropic's format.
func twoRig(t testing.TB, primary, fallback *vendor, changes ...setup) *rig {
	t.Helper()
	return newRig(t, []target{
		{id: "claude", model: "claude-1", wire: core.WireAnthropic, vendor: primary},
		{id: "claude-b", model: "claude-2", wire: core.WireAnthropic, vendor: fallback},
	}, changes...)
}

// cutAfter streams the parts and drops the connection.
func cutAfter(parts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		streams(parts...)(w, r)
		panic(http.ErrAbortHandler)
	}
}

// TestStream_FallsBackBeforeContent holds R6.2: whatever happens before the
// first content, lifecycle events or not, the caller gets one clean stream.
func TestStream_FallsBackBeforeContent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script http.HandlerFunc
		want   core.Kind
	}{
		{"529", says(529, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`), core.KindOverloaded},
		{"500", says(500, "no JSON at all"), core.KindServerError},
		{"redirect", says(307, "", "Location", "http://127.0.0.1:1/"), core.KindBadResponse},
		{"overloaded after 200", streams(messageStart, errorEvent("overloaded_error")), core.KindOverloaded},
		{"error after 200", streams(messageStart, errorEvent("api_error")), core.KindStreamError},
		{"cut after the lifecycle events", cutAfter(messageStart), core.KindStreamCut},
		{"end without an end marker", streams(messageStart), core.KindStreamCut},
		{"nothing at all", streams(), core.KindStreamCut},
		{"JSON instead of a stream", says(200, messageAnswer), core.KindBadResponse},
		{"an error in JSON instead of a stream", says(200, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`), core.KindOverloaded},
		{"a megabyte of nothing", streams(strings.Repeat(messageStart, 5000)), core.KindBadResponse},
		{"hung up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, core.KindConnect},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			good := messageStart + messageDelta("from b") + messageEnd
			r := twoRig(t, newVendor(t, tt.script), newVendor(t, streams(good)), setup{tables: noRetries})
			got := r.ask(t, "/v1/messages", askMessagesStream)
			if got.status != 200 || got.body != withoutPings(good) {
				t.Errorf("status %d, got\n%s", got.status, got.body)
			}
			d := r.tape.decision(t, 1)
			if d.Attempts[0].Kind != tt.want || d.Target != "claude-b" || d.Situation != core.SituationFallback {
				t.Errorf("first attempt %v, want %v; answered by %s as %v", d.Attempts[0].Kind, tt.want, d.Target, d.Situation)
			}
			if got.header.Get("Spillway-Target") != "claude-b" || got.header.Get("Spillway-Fallback") != "true" {
				t.Errorf("the paid caller was told %v", got.header)
			}
		})
	}
}

// noRetries lets every failure go to the next step at once.
func noRetries(tb *core.Tables) {
	for u := range tb.Reactions {
		for k := range tb.Reactions[u] {
			tb.Reactions[u][k][0][0].Retries, tb.Reactions[u][k][0][0].PauseMS = 0, 0
		}
	}
}

// TestStream_ErrorAfterContent holds that a failure after the first content ends
// in a proper error event, and that no second target is asked.
func TestStream_ErrorAfterContent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script http.HandlerFunc
		want   core.Kind
	}{
		{"cut", cutAfter(messageStart, messageDelta("half")), core.KindStreamCut},
		{"end without an end marker", streams(messageStart, messageDelta("half")), core.KindStreamCut},
		{"error event", streams(messageStart, messageDelta("half"), errorEvent("overloaded_error")), core.KindOverloaded},
		{"error event in the same packet", streams(messageStart + messageDelta("half") + errorEvent("api_error")), core.KindStreamError},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			second := newVendor(t, streams(messageStart, messageDelta("x"), messageEnd))
			r := twoRig(t, newVendor(t, tt.script), second, setup{tables: noRetries})
			got := r.ask(t, "/v1/messages", askMessagesStream)
			contains(t, got.body, "half", "event: error\n")
			if strings.Contains(got.body, "message_stop") || second.count() != 0 {
				t.Errorf("a clean end, or %d calls of another target, after a cut: %s", second.count(), got.body)
			}
			d := r.tape.decision(t, 1)
			if d.Outcome != tt.want || d.Status != 200 {
				t.Errorf("recorded as %v, %d", d.Outcome, d.Status)
			}
		})
	}
}

// TestStream_NothingCountsAfterTheEnd holds that a whole answer stays one,
// however the vendor hangs up.
func TestStream_NothingCountsAfterTheEnd(t *testing.T) {
	t.Parallel()
	good := messageStart + messageDelta("all") + messageEnd
	r := anthropicRig(t, newVendor(t, cutAfter(good, errorEvent("api_error"))))
	if got := r.ask(t, "/v1/messages", askMessagesStream); got.body != withoutPings(good) {
		t.Errorf("got\n%s", got.body)
	}
	if d := r.tape.decision(t, 1); d.Outcome != core.KindNone {
		t.Errorf("recorded as %v", d.Outcome)
	}
}

// TestStream_SilentVendor holds R6.2's time limit on holding back: after it the
// caller gets 200 and signs of life, a fallback still works, and its news comes
// as a comment.
func TestStream_SilentVendor(t *testing.T) {
	t.Parallel()
	fail := make(chan struct{})
	primary := newVendor(t, func(w http.ResponseWriter, r *http.Request) {
		streams(messageStart)(w, r)
		<-fail
		panic(http.ErrAbortHandler)
	})
	good := messageStart + messageDelta("from b") + messageEnd
	r := twoRig(t, primary, newVendor(t, streams(good)), setup{
		tables: noRetries, config: func(c *gateway.Config) { c.Silence = 50 * time.Millisecond },
	})
	res, err := r.send(t.Context(), http.MethodPost, "/v1/messages", strings.NewReader(askMessagesStream))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != 200 || res.Header.Get("Spillway-Target") != "claude" {
		t.Errorf("status %d, headers %v", res.StatusCode, res.Header)
	}
	early := readUntil(t, res.Body, ": ping\n\n: ping\n\n")
	if strings.Contains(early, "event:") || strings.Contains(early, "data:") {
		t.Errorf("more than comments before content: %q", early)
	}
	close(fail)
	rest := readUntil(t, res.Body, "message_stop")
	contains(t, rest, ": target=claude-b; fallback=true\n\n", "from b")
	if strings.Count(rest, "event: message_start") != 1 {
		t.Errorf("not one stream: %s", rest)
	}
}

// TestStream_SilentVendorFailsForGood holds that a failure after the early 200
// is an error event and not a silent end.
func TestStream_SilentVendorFailsForGood(t *testing.T) {
	t.Parallel()
	fail := make(chan struct{})
	v := newVendor(t, func(http.ResponseWriter, *http.Request) {
		<-fail
		panic(http.ErrAbortHandler)
	})
	r := anthropicRig(t, v, setup{tables: noRetries, config: func(c *gateway.Config) { c.Silence = 50 * time.Millisecond }})
	res, err := r.send(t.Context(), http.MethodPost, "/v1/messages", strings.NewReader(askMessagesStream))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	readUntil(t, res.Body, ": ping\n\n")
	close(fail)
	readUntil(t, res.Body, "event: error\n")
}

// TestStream_PingsInTheMiddle holds that a caller of a vendor that thinks
// silently in the middle of an answer gets its format's own pings.
func TestStream_PingsInTheMiddle(t *testing.T) {
	t.Parallel()
	resume := make(chan struct{})
	v := newVendor(t, func(w http.ResponseWriter, r *http.Request) {
		streams(messageStart, messageDelta("half"))(w, r)
		<-resume
		streams(messageEnd)(w, r)
	})
	r := anthropicRig(t, v, setup{config: func(c *gateway.Config) { c.Silence = 50 * time.Millisecond }})
	res, err := r.send(t.Context(), http.MethodPost, "/v1/messages", strings.NewReader(askMessagesStream))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	readUntil(t, res.Body, "half")
	readUntil(t, res.Body, "event: ping\n")
	close(resume)
	readUntil(t, res.Body, "message_stop")
}

// TestJSON_FallsBack holds the same for whole answers.
func TestJSON_FallsBack(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script http.HandlerFunc
		want   core.Kind
	}{
		{"529", says(529, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`), core.KindOverloaded},
		{"not JSON", says(200, "<html>"), core.KindBadResponse},
		{"an error in a 200", says(200, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`), core.KindOverloaded},
		{"a stream that nobody asked for", streams(messageStart), core.KindBadResponse},
		{"half an answer", says(200, messageAnswer[:40], "Content-Length", "400"), core.KindBadResponse},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := twoRig(t, newVendor(t, tt.script), newVendor(t, says(200, messageAnswer)), setup{tables: noRetries})
			if got := r.ask(t, "/v1/messages", askMessages); got.status != 200 || got.body != messageAnswer {
				t.Errorf("status %d, body %q", got.status, got.body)
			}
			if d := r.tape.decision(t, 1); d.Attempts[0].Kind != tt.want || d.Target != "claude-b" {
				t.Errorf("first attempt %v, answered by %s", d.Attempts[0].Kind, d.Target)
			}
		})
	}
}

func TestExhausted(t *testing.T) {
	t.Parallel()
	busy := says(529, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`)
	for _, tt := range []struct {
		key   string
		chain bool
	}{{freeKey, false}, {paidKey, true}, {adminKey, true}} {
		t.Run(tt.key, func(t *testing.T) {
			t.Parallel()
			r := twoRig(t, newVendor(t, busy), newVendor(t, busy), setup{tables: noRetries})
			got := r.ask(t, "/v1/messages", askMessages, "X-Api-Key", tt.key)
			checkError(t, core.WireAnthropic, got, 529)
			if told := strings.Contains(got.body, "claude-b: overloaded"); told != tt.chain {
				t.Errorf("the chain is told: %v, want %v: %s", told, tt.chain, got.body)
			}
			if got.header.Get("X-Should-Retry") != "false" {
				t.Error("the SDK would multiply the attempts")
			}
			if d := r.tape.decision(t, 1); got.header.Get("Request-Id") != d.ID || d.Status != 529 || len(d.Attempts) != 2 {
				t.Errorf("request id %q, decision %+v", got.header.Get("Request-Id"), d)
			}
		})
	}
}

// TestRateLimited holds what a throttled caller's SDK is told (R4.5).
func TestRateLimited(t *testing.T) {
	t.Parallel()
	tests := []struct{ hint, retryAfter, should string }{
		{"20", "20", ""},        // obey the hint
		{"19.2", "20", ""},      // whole seconds, never too early
		{"61", "61", "false"},   // longer than openai-node obeys
		{"300", "300", "false"}, // far longer
	}
	for _, tt := range tests {
		t.Run(tt.hint, func(t *testing.T) {
			t.Parallel()
			v := newVendor(t, says(429, `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, "Retry-After", tt.hint,
				"Anthropic-Ratelimit-Requests-Remaining", "0"))
			r := anthropicRig(t, v)
			got := r.ask(t, "/v1/messages", askMessages)
			checkError(t, core.WireAnthropic, got, 429)
			if got.header.Get("Retry-After") != tt.retryAfter || got.header.Get("X-Should-Retry") != tt.should {
				t.Errorf("Retry-After %q, x-should-retry %q", got.header.Get("Retry-After"), got.header.Get("X-Should-Retry"))
			}
			if got.header.Get("Anthropic-Ratelimit-Requests-Remaining") != "" {
				t.Error("the provider account's allowance was told to a caller")
			}
			if v.count() != 1 || r.tape.opened != 0 {
				t.Errorf("%d calls, %d circuits moved", v.count(), r.tape.opened)
			}
		})
	}
}

// TestMarkedRetry holds that a request which arrives as an SDK's retry is marked
// for the engine.
func TestMarkedRetry(t *testing.T) {
	t.Parallel()
	busy := says(500, `{"type":"error","error":{"type":"api_error","message":"no"}}`)
	v := newVendor(t, busy)
	r := anthropicRig(t, v, setup{tables: func(tb *core.Tables) {
		for k := range tb.Reactions[0] {
			tb.Reactions[0][k][0][0].Retries, tb.Reactions[0][k][0][0].BaseMS = 1, 1
			tb.Reactions[0][k][1][0].Retries, tb.Reactions[0][k][1][0].BaseMS = 1, 1
		}
	}})
	r.ask(t, "/v1/messages", askMessages)
	first := v.count()
	r.ask(t, "/v1/messages", askMessages, "X-Stainless-Retry-Count", "1")
	if again := v.count() - first; first != 2 || again != 1 {
		t.Errorf("%d calls for a first request and %d for its retry, want 2 and 1", first, again)
	}
}

// TestConcurrentRequests holds that pooled memory is nobody else's: every caller
// gets the answer to its own request.
func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	v := newVendor(t, func(w http.ResponseWriter, r *http.Request) {
		own := r.Header.Get("Anthropic-Beta")
		says(200, strings.Replace(messageAnswer, "Hello", own, 1))(w, r)
	})
	r := anthropicRig(t, v)
	errs := make(chan string, 8)
	for i := range 8 {
		go func() {
			own := strings.Repeat(string(rune('a'+i)), 100*(i+1))
			for range 30 {
				if got := r.askOwn(t.Context(), own); got != "" {
					errs <- got
					return
				}
			}
			errs <- ""
		}()
	}
	for range 8 {
		if e := <-errs; e != "" {
			t.Error(e)
		}
	}
	for _, h := range v.hits {
		if !strings.Contains(string(h.body), h.header.Get("Anthropic-Beta")) {
			t.Fatalf("a vendor got %q with the headers of %q", h.body, h.header.Get("Anthropic-Beta"))
		}
	}
}

// askOwn sends a request that names its caller twice and returns what is wrong
// with the answer.
func (r *rig) askOwn(ctx context.Context, own string) string {
	body := strings.Replace(askMessages, "hi", own, 1)
	res, err := r.send(ctx, http.MethodPost, "/v1/messages", strings.NewReader(body), "Anthropic-Beta", own)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := res.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			break
		}
	}
	if !strings.Contains(b.String(), `"`+own+" [#end]") {
		return "the answer of another caller: " + b.String()
	}
	return ""
}
