package exchange

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
)

func TestNotice_Headers(t *testing.T) {
	t.Parallel()
	n := Notice{
		decision: "d1", idHeader: "Request-Id", target: "t", policy: "p", fallback: "true", degraded: "now on t",
		attempts: "2; a=overloaded; t", warnings: "w", circuits: "a=open", retryAfter: "7", shouldRetry: "false",
	}
	h := http.Header{}
	v := n.Headers(h)
	v.Set("Content-Type", "application/json")
	v.Set("Cache-Control", "")
	v.Set("X-Should-Retry", "true")
	want := http.Header{
		"Spillway-Decision": {"d1"}, "Request-Id": {"d1"}, "Spillway-Target": {"t"}, "Spillway-Policy": {"p"},
		"Spillway-Fallback": {"true"}, "Spillway-Degraded": {"now on t"}, "Spillway-Attempts": {"2; a=overloaded; t"},
		"Spillway-Warnings": {"w"}, "Spillway-Circuits": {"a=open"}, "Retry-After": {"7"}, "X-Should-Retry": {"true"},
		"Content-Type": {"application/json"},
	}
	for name, values := range h {
		if !slices.Equal(values, want[name]) || http.CanonicalHeaderKey(name) != name {
			t.Errorf("%s = %q, want %q", name, values, want[name])
		}
	}
	if len(h) != len(want) {
		t.Errorf("%d headers, want %d", len(h), len(want))
	}
	// Whoever adds a value to one header must not reach the next one's memory.
	h["Spillway-Target"] = append(h["Spillway-Target"], "more")
	if h.Get("Spillway-Policy") != "p" {
		t.Error("the headers share their ends")
	}
}

func TestNotice_Empty(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	n := Notice{idHeader: "Request-Id"}
	n.Headers(h)
	if len(h) != 0 || n.News() != "" {
		t.Errorf("an empty notice tells %v and %q", h, n.News())
	}
}

func TestNotice_News(t *testing.T) {
	t.Parallel()
	told := Notice{decision: "d1", target: "a", fallback: "false", attempts: "1; a"}
	now := Notice{decision: "d1", target: "b", fallback: "true", attempts: "2; a=overloaded; b"}
	if !now.Differs(&told) || now.Differs(&now) {
		t.Error("the news is not noticed")
	}
	if got, want := now.News(), "target=b; fallback=true; attempts=2; a=overloaded; b"; got != want {
		t.Errorf("news %q, want %q", got, want)
	}
}

// An SDK is told to wait only where waiting is the right retry (R4.5).
func TestAdviseRetry(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kind         core.Kind
		after        time.Duration
		attempts     int
		hint, should string
	}{
		"used up":            {core.KindOverloaded, 0, 2, "", "false"},
		"used up, hint":      {core.KindOverloaded, 7 * time.Second, 2, "7", "false"},
		"throttled":          {core.KindRateLimited, 7 * time.Second, 1, "7", ""},
		"throttled, long":    {core.KindRateLimited, 61 * time.Second, 1, "61", "false"},
		"throttled, unknown": {core.KindRateLimited, 0, 1, "", "false"},
		"circuit open":       {core.KindOpenCircuit, 1500 * time.Millisecond, 0, "2", ""},
		"circuit open, long": {core.KindOpenCircuit, 2 * time.Minute, 0, "120", "false"},
		"nothing tried":      {core.KindNoTarget, 0, 0, "", ""},
	} {
		var n Notice
		n.adviseRetry(&core.Error{Kind: tt.kind, RetryAfter: tt.after}, tt.attempts)
		if n.retryAfter != tt.hint || n.shouldRetry != tt.should {
			t.Errorf("%s: retry after %q, should %q, want %q, %q", name, n.retryAfter, n.shouldRetry, tt.hint, tt.should)
		}
		n = Notice{}
		n.adviseRetry(&core.Error{Kind: tt.kind, RetryAfter: tt.after, Spent: true}, max(tt.attempts, 1))
		if n.retryAfter != tt.hint || n.shouldRetry != "false" {
			t.Errorf("%s, own retries spent: retry after %q, should %q, want %q, false", name, n.retryAfter, n.shouldRetry, tt.hint)
		}
	}
}

// FuzzAsks holds that no header gets past its bounds, and that every refusal
// says what to do.
func FuzzAsks(f *testing.F) {
	for _, name := range append(askNames(), "Spillway-Nonsense") {
		for _, v := range []string{"", "5", "-1", "code", "true", "日本", "1e9", "off"} {
			f.Add(name, v)
		}
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		a, e := readAsks(http.Header{http.CanonicalHeaderKey(name): {value}})
		if e != nil {
			if e.Message == "" || e.Status != http.StatusBadRequest {
				t.Errorf("refused with %+v", e)
			}
			return
		}
		if a.priority < 0 || a.priority > maxPriority || a.latencyMS < 1 || a.latencyMS > maxLatencyBudgetMS ||
			!slices.Contains(core.Tasks(), a.task) || !slices.Contains(core.Qualities(), a.quality) ||
			len(a.affinity) > maxAffinityBytes || len(a.tags) > maxTagsBytes {
			t.Errorf("%q: %q is taken as %+v", name, value, a)
		}
	})
}
