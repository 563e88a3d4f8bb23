package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
)

// What the vendors of field failure R09 say.
const (
	tooLong   = "prompt is too long: 250000 tokens > 200000 maximum"
	malformed = "temperature: Input should be a valid number"
)

// refusal400 is Anthropic's 400 with a message.
func refusal400(message string) http.HandlerFunc {
	return says(400, `{"type":"error","error":{"type":"invalid_request_error","message":"`+message+`"}}`)
}

// onMistake answers requests that say "bad" by a script, others well.
func onMistake(t *testing.T, script http.HandlerFunc) *vendor {
	var v *vendor
	v = newVendor(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(string(v.last(t).body), "bad") {
			script(w, r)
			return
		}
		says(200, messageAnswer)(w, r)
	})
	return v
}

// mistaken is field failure R09's pool: three keys on A, then the fallbacks.
func mistaken(t *testing.T, a *vendor, fallbacks []place, changes ...setup) *rig {
	t.Helper()
	places := append([]place{{id: "a", wire: core.WireAnthropic, url: a.URL, keys: []string{"k1", "k2", "k3"}, window: 200_000}}, fallbacks...)
	return rigOver(t, catalogOver(t, places...), nil, changes...)
}

// badMessages is a request that A refuses.
var badMessages = strings.Replace(strings.Replace(askMessages, `"hi"`, `"bad"`, 1), "claude", "a", 1)

// unmoved holds that nothing about the pool changed, and that a normal request
// goes to A at once.
func unmoved(t *testing.T, r *rig, a *vendor, n int) {
	t.Helper()
	before := a.count()
	got := r.ask(t, "/v1/messages", strings.Replace(askMessages, "claude", "a", 1))
	if d := r.tape.decision(t, n); got.status != 200 || len(d.Attempts) != 1 || d.Target != "a" || a.count() != before+1 {
		t.Errorf("a normal request got %d from %q after %d attempts", got.status, d.Target, len(d.Attempts))
	}
	if r.tape.opened != 0 || len(r.tape.keys) != 0 || len(r.tape.cooldowns) != 0 {
		t.Errorf("circuits moved %d times, keys %+v, cooldowns %+v", r.tape.opened, r.tape.keys, r.tape.cooldowns)
	}
}

func TestCallersMistake_WalksNoPool(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body, says string
		hits       int
	}{
		"malformed":                          {badMessages, malformed, 1},
		"too long":                           {badMessages, tooLong, 1},
		"so malformed that nobody is called": {strings.Replace(badMessages, `"max_tokens":64`, `"max_tokens":-1`, 1), "max_tokens", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := onMistake(t, refusal400(tt.says))
			o := newVendor(t, says(422, `{"error":{"message":"unrelated","type":"invalid_request_error"}}`))
			r := mistaken(t, a, []place{{id: "o", wire: core.WireOpenAI, url: o.URL}}, shippedWith(t))
			got := r.ask(t, "/v1/messages", tt.body)
			checkError(t, core.WireAnthropic, got, 400, tt.says)
			contains(t, got.body, `"type":"invalid_request_error"`)
			if a.count() != tt.hits || o.count() != 0 {
				t.Errorf("%d requests went to A and %d to O, want %d and none", a.count(), o.count(), tt.hits)
			}
			unmoved(t, r, a, 1+tt.hits)
		})
	}
}

// TestCallersMistake_OnlyMoreRoomHelps holds what happens where policy lets a
// prompt that is too long go on: one try at a known larger window, and if that
// fails, however it does, the first vendor's words.
func TestCallersMistake_OnlyMoreRoomHelps(t *testing.T) {
	t.Parallel()
	goOn := []string{reactionsData, `"kinds": {`, `"kinds": {
    "context_exceeded": {"retry": "never", "schedule": "exponential", "next": "any"},`}
	for name, tt := range map[string]struct {
		large  http.HandlerFunc
		status int
	}{
		"it fits":                    {says(200, messageAnswer), 200},
		"another complaint":          {says(422, `{"type":"error","error":{"type":"invalid_request_error","message":"unrelated"}}`), 400},
		"too long for that one also": {refusal400("prompt is too long: 250000 tokens > 220000 maximum"), 400},
		"a failure":                  {says(529, anthropicBusy), 400},
		"a refused key":              {says(401, `{"type":"error","error":{"type":"authentication_error","message":"no"}}`), 400},
		"a redirect":                 {says(307, "", "Location", "http://127.0.0.1:1/"), 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, same := onMistake(t, refusal400(tooLong)), newVendor(t, says(200, messageAnswer))
			large, larger := newVendor(t, tt.large), newVendor(t, says(200, messageAnswer))
			r := mistaken(t, a, []place{
				{id: "same", wire: core.WireAnthropic, url: same.URL, window: 200_000},
				{id: "large", wire: core.WireAnthropic, url: large.URL, window: 1_000_000},
				{id: "larger", wire: core.WireAnthropic, url: larger.URL, window: 2_000_000},
			}, shippedWith(t, goOn...))
			got := r.ask(t, "/v1/messages", badMessages)
			if tt.status == 400 {
				checkError(t, core.WireAnthropic, got, 400, tooLong)
			}
			if got.status != tt.status || a.count() != 1 || same.count() != 0 || large.count() != 1 || larger.count() != 0 {
				t.Errorf("%d after %d, %d, %d and %d calls: %s",
					got.status, a.count(), same.count(), large.count(), larger.count(), got.body)
			}
		})
	}
}

// TestCallersMistake_TooLongForAll holds that a prompt over every window is the
// caller's to shorten, in words that its tools know, and is sent to nobody.
func TestCallersMistake_TooLongForAll(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word", 250_000)
	for name, change := range map[string]setup{"shipped policies": shippedWith(t), "compiled-in figures": {}} {
		for _, f := range fronts() {
			t.Run(name+f.path, func(t *testing.T) {
				t.Parallel()
				a := newVendor(t, says(200, messageAnswer))
				r := mistaken(t, a, nil, change)
				got := r.ask(t, f.path, strings.NewReplacer("MODEL", "auto", `"hi"`, `"`+long+`"`).Replace(f.ask))
				checkError(t, f.wire, got, 400, "prompt is too long: 2", "tokens > 200000 maximum")
				if f.wire == core.WireOpenAI {
					contains(t, got.body, `"code":"context_length_exceeded"`)
				}
				d := r.tape.decision(t, 1)
				if a.count() != 0 || d.Outcome != core.KindContextExceeded || got.header.Get("Retry-After") != "" {
					t.Errorf("%d calls, recorded as %v, retry-after %q", a.count(), d.Outcome, got.header.Get("Retry-After"))
				}
			})
		}
	}
}
