package limit_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/limit"
)

// R23's first run: a thousand tokens a minute, ten requests at once that
// reserve three hundred each, and one more after all have ended.
func TestRate_BurstDoesNotGetPast(t *testing.T) {
	t.Parallel()
	r := limit.NewRate(limit.RateSettings{TokensPerMinute: 1000}, 0)
	var holds []limit.RateHold
	for range 10 {
		h, no := r.Reserve(0, limit.Use{Requests: 1, Input: 100, Output: 200})
		if !no.Refused() {
			holds = append(holds, h)
			continue
		}
		want := limit.Refusal{
			Rule: limit.RuleTokens, Asked: 300, Left: 100, Cap: 1000, RetryAfter: 12 * time.Second,
		}
		if no != want {
			t.Fatalf("got %+v, want %+v", no, want)
		}
	}
	if len(holds) != 3 {
		t.Fatalf("%d were admitted, want 3", len(holds))
	}
	for i := range holds {
		holds[i].Settle(time.Second, limit.Use{Requests: 1, Input: 100, Output: 200})
	}
	_, no := r.Reserve(time.Second, limit.Use{Requests: 1, Input: 100, Output: 200})
	if !no.Refused() || no.RetryAfter != 11*time.Second || no.Left != 116 || no.Over() != 184 {
		t.Errorf("got %+v, want a refusal for 11 s", no)
	}
	if _, no := r.Reserve(12*time.Second-1, limit.Use{Input: 300}); !no.Refused() {
		t.Error("admitted a nanosecond before its time")
	}
	if _, no := r.Reserve(12*time.Second, limit.Use{Input: 300}); no.Refused() {
		t.Errorf("at the time it was told: %v", no)
	}
}

func TestRate_NamesTheLimit(t *testing.T) {
	t.Parallel()
	s := limit.RateSettings{
		RequestsPerMinute: 10, InputTokensPerMinute: 1000, OutputTokensPerMinute: 500, TokensPerMinute: 1200,
	}
	for name, tc := range map[string]struct {
		taken, asked limit.Use
		want         limit.Refusal
	}{
		"fits":                        {limit.Use{}, limit.Use{Requests: 1, Input: 700, Output: 500}, limit.Refusal{}},
		"requests":                    {limit.Use{Requests: 10}, limit.Use{Requests: 1}, limit.Refusal{Rule: limit.RuleRequests, Asked: 1, Cap: 10, RetryAfter: 6 * time.Second}},
		"input":                       {limit.Use{Input: 900}, limit.Use{Input: 200}, limit.Refusal{Rule: limit.RuleInputTokens, Asked: 200, Left: 100, Cap: 1000, RetryAfter: 6 * time.Second}},
		"output":                      {limit.Use{Output: 400}, limit.Use{Output: 200}, limit.Refusal{Rule: limit.RuleOutputTokens, Asked: 200, Left: 100, Cap: 500, RetryAfter: 12 * time.Second}},
		"together":                    {limit.Use{Input: 700, Output: 300}, limit.Use{Input: 200, Output: 200}, limit.Refusal{Rule: limit.RuleTokens, Asked: 400, Left: 200, Cap: 1200, RetryAfter: 10 * time.Second}},
		"longest":                     {limit.Use{Input: 1000, Output: 150}, limit.Use{Input: 100, Output: 400}, limit.Refusal{Rule: limit.RuleTokens, Asked: 500, Left: 50, Cap: 1200, RetryAfter: 22500 * time.Millisecond}},
		"never":                       {limit.Use{Requests: 10}, limit.Use{Requests: 1, Output: 501}, limit.Refusal{Rule: limit.RuleOutputTokens, Asked: 501, Left: 500, Cap: 500, Never: true}},
		"asks_none_of_an_empty_limit": {limit.Use{Output: 500}, limit.Use{Requests: 1, Input: 5}, limit.Refusal{}},
		"negative_counts_as_none":     {limit.Use{Output: 500}, limit.Use{Requests: -1, Input: -5, Output: -5}, limit.Refusal{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := limit.NewRate(s, 0)
			if _, no := r.Reserve(0, tc.taken); no.Refused() {
				t.Fatal(no)
			}
			before := r.View(0)
			_, no := r.Reserve(0, tc.asked)
			if no != tc.want {
				t.Errorf("got %+v, want %+v", no, tc.want)
			}
			if no.Refused() && r.View(0) != before {
				t.Errorf("a refusal took something: %+v, want %+v", r.View(0), before)
			}
			if no.Refused() && !no.Never {
				if _, again := r.Reserve(no.RetryAfter, tc.asked); again.Refused() {
					t.Errorf("when told to come back: %v", again)
				}
			}
		})
	}
}

func TestRateHold_Endings(t *testing.T) {
	t.Parallel()
	asked := limit.Use{Requests: 1, Input: 100, Output: 400}
	for name, tc := range map[string]struct {
		end  func(*limit.RateHold)
		want [3]int64 // requests, input, output in use
	}{
		"cancelled":          {func(h *limit.RateHold) { h.Cancel(0) }, [3]int64{0, 0, 0}},
		"cancelled_twice":    {func(h *limit.RateHold) { h.Cancel(0); h.Cancel(0) }, [3]int64{0, 0, 0}},
		"less":               {func(h *limit.RateHold) { h.Settle(0, limit.Use{Requests: 1, Input: 90, Output: 20}) }, [3]int64{1, 90, 20}},
		"more":               {func(h *limit.RateHold) { h.Settle(0, limit.Use{Requests: 1, Input: 150, Output: 450}) }, [3]int64{1, 150, 450}},
		"more_than_the_cap":  {func(h *limit.RateHold) { h.Settle(0, limit.Use{Requests: 1, Input: 5000}) }, [3]int64{1, 5000, 0}},
		"refused_by_vendor":  {func(h *limit.RateHold) { h.Settle(0, limit.Use{Requests: 1}) }, [3]int64{1, 0, 0}},
		"settled_and_again":  {func(h *limit.RateHold) { h.Settle(0, asked); h.Settle(0, limit.Use{}); h.Cancel(0) }, [3]int64{1, 100, 400}},
		"negative_real_use":  {func(h *limit.RateHold) { h.Settle(0, limit.Use{Requests: 1, Input: -9, Output: -9}) }, [3]int64{1, 0, 0}},
		"never_ended_counts": {func(*limit.RateHold) {}, [3]int64{1, 100, 400}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := limit.NewRate(limit.RateSettings{
				RequestsPerMinute: 10, InputTokensPerMinute: 1000, OutputTokensPerMinute: 1000,
			}, 0)
			h, no := r.Reserve(0, asked)
			if no.Refused() {
				t.Fatal(no)
			}
			tc.end(&h)
			v := r.View(0)
			if got := [3]int64{v.Requests.Used, v.Input.Used, v.Output.Used}; got != tc.want {
				t.Errorf("got %v in use, want %v", got, tc.want)
			}
		})
	}
	var none limit.RateHold
	none.Settle(0, asked)
	none.Cancel(0)
}

// What one request used beyond its estimate is paid by those after it.
func TestRate_DebtIsWaitedFor(t *testing.T) {
	t.Parallel()
	r := limit.NewRate(limit.RateSettings{OutputTokensPerMinute: 600}, 0)
	h, _ := r.Reserve(0, limit.Use{Output: 600})
	h.Settle(0, limit.Use{Output: 900})
	_, no := r.Reserve(0, limit.Use{Output: 100})
	if no.RetryAfter != 40*time.Second || no.Left != 0 || no.Over() != 100 {
		t.Errorf("got %+v, want 40 s: 300 owed and 100 asked at 10 a second", no)
	}
	if _, no := r.Reserve(40*time.Second, limit.Use{Output: 100}); no.Refused() {
		t.Error(no)
	}
}

func TestRate_NonsenseStaysCountable(t *testing.T) {
	t.Parallel()
	r := limit.NewRate(limit.RateSettings{OutputTokensPerMinute: math.MaxInt64, InputTokensPerMinute: -5}, 0)
	if v := r.View(0); v.Output.Cap != 50_000_000 || v.Input.Cap != 0 {
		t.Fatalf("got %+v, want the largest limit and none", v)
	}
	for range 5 {
		h, _ := r.Reserve(0, limit.Use{Output: 1})
		h.Settle(0, limit.Use{Input: math.MaxInt64, Output: math.MaxInt64})
	}
	_, no := r.Reserve(0, limit.Use{Output: 1})
	if !no.Refused() || no.RetryAfter <= 0 || no.RetryAfter > 2*time.Minute {
		t.Errorf("got %+v, want a wait of about a minute", no)
	}
	if _, no := r.Reserve(math.MaxInt64, limit.Use{Output: 50_000_000}); no.Refused() {
		t.Errorf("after 292 years: %v", no)
	}
	if _, no := r.Reserve(0, limit.Use{Output: 1}); !no.Refused() {
		t.Error("time that went back refilled the bucket")
	}
}

func TestRate_Burst(t *testing.T) {
	t.Parallel()
	r := limit.NewRate(limit.RateSettings{RequestsPerMinute: 6, OutputTokensPerMinute: 600, BurstSeconds: 5}, 0)
	if _, no := r.Reserve(0, limit.Use{Requests: 1, Output: 50}); no.Refused() {
		t.Errorf("one request and five seconds' tokens: %v", no)
	}
	_, no := r.Reserve(0, limit.Use{Requests: 1})
	if no.Rule != limit.RuleRequests || no.RetryAfter != 10*time.Second {
		t.Errorf("got %+v, want the next request in 10 s", no)
	}
	if _, no := r.Reserve(time.Hour, limit.Use{Output: 51}); !no.Never {
		t.Errorf("got %+v, want more than the burst never admitted", no)
	}
}

func TestRate_SetSettings(t *testing.T) {
	t.Parallel()
	r := limit.NewRate(limit.RateSettings{OutputTokensPerMinute: 600}, 0)
	early, _ := r.Reserve(0, limit.Use{Input: 300, Output: 600})
	r.SetSettings(limit.RateSettings{OutputTokensPerMinute: 6000, InputTokensPerMinute: 100}, 0)
	if _, no := r.Reserve(0, limit.Use{Output: 10}); no.RetryAfter != 100*time.Millisecond {
		t.Errorf("got %+v, want what was used to stay used, and refilled faster", no)
	}
	if _, no := r.Reserve(0, limit.Use{Input: 100}); no.Refused() {
		t.Errorf("a new limit starts full: %v", no)
	}
	early.Cancel(0)
	if v := r.View(0); v.Input.Used != 100 {
		t.Errorf("got %d, want a new limit not given back what it never gave", v.Input.Used)
	}
	r.SetSettings(limit.RateSettings{OutputTokensPerMinute: 60}, time.Minute)
	if _, no := r.Reserve(time.Minute, limit.Use{Input: 1 << 40, Output: 60}); no.Refused() {
		t.Errorf("a limit taken away and one lowered: %v", no)
	}
	if _, no := r.Reserve(time.Minute, limit.Use{Output: 1}); no.RetryAfter != time.Second {
		t.Errorf("got %+v, want a full minute's allowance and no more", no)
	}
}

func TestRefusal_Text(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]limit.Refusal{
		"admitted": {},
		"key output_tokens_per_minute: 300 asked, 100 of 1000 left, 12 s left":               {Rule: limit.RuleOutputTokens, Scope: limit.ScopeKey, Asked: 300, Left: 100, Cap: 1000, RetryAfter: 11001 * time.Millisecond},
		"use_case spend_per_day: $0.004 asked, $0.002 of $0.01 left, 3600 s left":            {Rule: limit.RuleSpendDay, Scope: limit.ScopeUseCase, Asked: 4e9, Left: 2e9, Cap: 1e10, RetryAfter: time.Hour},
		"price_unknown: a spend cap applies and the cost can't be estimated, never possible": {Rule: limit.RulePriceUnknown, Never: true},
		"target concurrency: 1 asked, 0 of 20 left, 1 s left":                                {Rule: limit.RuleConcurrency, Scope: limit.ScopeTarget, Asked: 1, Cap: 20, RetryAfter: time.Second},
	} {
		if got := r.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	seen := map[string]bool{}
	for r := limit.RuleNone; r <= limit.RulePriceUnknown; r++ {
		seen[r.String()] = true
	}
	for s := limit.ScopeKey; s <= limit.ScopeTarget; s++ {
		seen[s.String()] = true
	}
	if len(seen) != 13 || seen["unknown"] || strings.Contains(limit.Rule(99).String()+limit.Scope(99).String(), " ") {
		t.Errorf("names are not told apart: %v", seen)
	}
}
