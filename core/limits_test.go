package core_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/limit"
)

// atOnce lets so many attempts run at once at each target, and so many wait.
func atOnce(running, waiting int) func(*core.Tables) {
	return func(tb *core.Tables) {
		for i := range tb.TargetLimits {
			tb.TargetLimits[i].Concurrency = limit.ConcurrencySettings{Limit: running, Queue: waiting}
		}
	}
}

// only leaves a use case one target.
func only(target string) func(*core.Tables) {
	return func(tb *core.Tables) {
		for i := range tb.UseCases {
			tb.UseCases[i].Targets = []string{target}
		}
	}
}

// outcome is what became of a request.
type outcome struct {
	d   core.Decision
	err *core.Error
	at  time.Time
}

// crowd runs requests side by side.
type crowd struct {
	wg  sync.WaitGroup
	rig *rig
}

// ask begins a request and returns where its outcome will be, once all work has
// come to a halt. Its vendor answers after take.
func (c *crowd) ask(ctx context.Context, req *core.Request, take time.Duration) *outcome {
	out := &outcome{}
	c.wg.Go(func() {
		_, err := core.Do(ctx, c.rig.Engine, req, (&vendor{take: take}).call)
		errors.As(err, &out.err)
		out.d, out.at = req.Decision, time.Now()
	})
	synctest.Wait()
	return out
}

func plain() *core.Request { return &core.Request{Facts: core.Facts{MaxTokens: 10}} }

// idle fails unless nothing runs, waits or is reserved any more.
func (r *rig) idle(t *testing.T) {
	t.Helper()
	for _, l := range r.Loads() {
		if l.Running != 0 || l.Waiting != 0 {
			t.Errorf("%s: %d running, %d waiting", l.Target, l.Running, l.Waiting)
		}
	}
	for _, a := range r.Accounts() {
		if a.Spend.Reserved != 0 {
			t.Errorf("%s %s: %d still reserved", a.Scope, a.ID, a.Spend.Reserved)
		}
	}
}

func TestLimits_FullTargetIsSkipped(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, atOnce(1, 0))
		c := crowd{rig: r}
		ask := func() *outcome { return c.ask(t.Context(), plain(), 10*time.Second) }
		first, second, third, fourth := ask(), ask(), ask(), ask()
		if loads := r.Loads(); loads[0] != (core.Load{Target: "a1", Running: 1, Limit: 1}) {
			t.Errorf("loads %+v", loads)
		}
		c.wg.Wait()
		for i, o := range []*outcome{first, second, third} {
			if want := []string{"a1", "a2", "o1"}[i]; o.err != nil || o.d.Target != want || len(o.d.Skips) != i {
				t.Errorf("request %d: %v by %q after %+v", i+1, o.err, o.d.Target, o.d.Skips)
			}
		}
		if s := second.d.Skips[0]; s.Kind != core.KindLimitLocal || s.Detail != "target concurrency" || s.Wait <= 0 {
			t.Errorf("skip %+v", s)
		}
		if second.d.Situation != core.SituationRerouted {
			t.Errorf("situation %v", second.d.Situation)
		}
		e := fourth.err
		if e == nil || e.Kind != core.KindLimitLocal || e.Code != "concurrency" || e.RetryAfter <= 0 || len(fourth.d.Attempts) != 0 {
			t.Fatalf("a request too many: %+v", e)
		}
		if fourth.d.Limit != "target concurrency" || !strings.Contains(e.Message, "concurrency of the model is reached: 1 asked, 0 of 1 left") {
			t.Errorf("limit %q: %s", fourth.d.Limit, e.Message)
		}
		r.Tick()
		for _, l := range r.Snapshot().Targets {
			if l.Circuits[0].State != circuit.Closed || l.Circuits[0].BudgetPermille != 1000 {
				t.Errorf("a refusal moved circuit or budget: %+v", l.Circuits[0])
			}
		}
		r.idle(t)
	})
}

func TestLimits_LastTargetIsWaitedFor(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, atOnce(1, 5), only("a1"))
		c, begin := crowd{rig: r}, time.Now()
		first, second := c.ask(t.Context(), plain(), 2*time.Second), c.ask(t.Context(), plain(), time.Second)
		if l := r.Loads()[0]; l.Running != 1 || l.Waiting != 1 {
			t.Errorf("load %+v", l)
		}
		c.wg.Wait()
		if first.err != nil || second.err != nil || second.at.Sub(begin) != 3*time.Second || second.d.Attempts[0].Wait != 2*time.Second {
			t.Errorf("%v, %v after %v, %+v", first.err, second.err, second.at.Sub(begin), second.d.Attempts)
		}
		// A place that is long in coming is not waited for beyond the queue's patience.
		c.ask(t.Context(), plain(), 20*time.Second)
		late := c.ask(t.Context(), plain(), time.Second)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if late.err == nil || late.err.Code != "concurrency" || len(late.d.Skips) != 1 {
			t.Errorf("after %v: %+v, skips %+v", late.d.Duration, late.err, late.d.Skips)
		}
		c.wg.Wait()
		r.idle(t)
	})
}

func TestLimits_LowestPriorityIsShed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, atOnce(1, 2), only("a1"))
		c := crowd{rig: r}
		with := func(priority int) *core.Request {
			return &core.Request{Facts: core.Facts{MaxTokens: 10, Priority: priority}}
		}
		c.ask(t.Context(), with(5), 2*time.Second)
		low, middle := c.ask(t.Context(), with(2), time.Second), c.ask(t.Context(), with(4), time.Second)
		high := c.ask(t.Context(), with(9), time.Second)
		if low.err == nil || low.err.Kind != core.KindLimitLocal || low.err.RetryAfter <= 0 {
			t.Fatalf("the lowest priority was not shed: %+v", low.err)
		}
		equal := c.ask(t.Context(), with(4), time.Second)
		if equal.err == nil || equal.err.RetryAfter < low.err.RetryAfter {
			t.Errorf("an equal priority took a place: %+v", equal.err)
		}
		c.wg.Wait()
		if high.err != nil || middle.err != nil || !high.at.Before(middle.at) {
			t.Errorf("high %v at %v, middle %v at %v", high.err, high.at, middle.err, middle.at)
		}
		r.idle(t)
	})
}

func TestLimits_EveryTargetIsTriedBeforeWaiting(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, atOnce(1, 5))
		c := crowd{rig: r}
		for range 3 {
			c.ask(t.Context(), plain(), 3*time.Second)
		}
		waited := c.ask(t.Context(), plain(), time.Second)
		c.wg.Wait()
		if waited.err != nil || waited.d.Target != "a1" || waited.d.Attempts[0].Wait != 3*time.Second || waited.d.Situation != core.SituationNone {
			t.Errorf("%v by %q, %+v", waited.err, waited.d.Target, waited.d)
		}
		r.idle(t)
	})
}

func TestLimits_PolicyMayWaitAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, atOnce(1, 1), func(tb *core.Tables) {
			for i := range 4 {
				tb.Reactions[0][core.KindLimitLocal][i>>1][i&1].Next = core.NextNone
			}
		})
		c := crowd{rig: r}
		c.ask(t.Context(), plain(), time.Second)
		waited := c.ask(t.Context(), plain(), time.Second)
		refused := c.ask(t.Context(), plain(), time.Second)
		c.wg.Wait()
		if waited.err != nil || waited.d.Target != "a1" || waited.d.Attempts[0].Wait != time.Second || len(waited.d.Skips) != 0 {
			t.Errorf("%v by %q, %+v", waited.err, waited.d.Target, waited.d)
		}
		if refused.err == nil || refused.err.Code != "concurrency" || len(refused.d.Attempts) != 0 || len(refused.d.Skips) != 1 {
			t.Errorf("%+v, %+v", refused.err, refused.d.Skips)
		}
		r.idle(t)
	})
}

func TestLimits_CallerLeavesTheQueue(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, atOnce(1, 5), only("a1"))
		c := crowd{rig: r}
		c.ask(t.Context(), plain(), 3*time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		left := c.ask(ctx, plain(), time.Second)
		next := c.ask(t.Context(), plain(), time.Second)
		cancel()
		synctest.Wait()
		if left.err == nil || left.err.Kind != core.KindCallerGone || left.d.Outcome != core.KindCallerGone {
			t.Errorf("%+v", left.err)
		}
		c.wg.Wait()
		if next.err != nil {
			t.Error(next.err)
		}
		r.idle(t)
	})
}

// An activation resizes a limit while attempts run and requests wait.
func TestLimits_ResizedWhileRunning(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, atOnce(1, 5), only("a1"))
		c := crowd{rig: r}
		resize := func(running int) {
			next := core.DefaultRevision(catalog(t))
			atOnce(running, min(5, 5*running))(next.Tables)
			only("a1")(next.Tables)
			if err := r.Activate(next); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		for range 3 {
			c.ask(t.Context(), plain(), 3*time.Second)
		}
		resize(2)
		if l := r.Loads()[0]; l != (core.Load{Target: "a1", Running: 2, Waiting: 1, Limit: 2}) {
			t.Errorf("with room for another: %+v", l)
		}
		resize(1)
		if l := r.Loads()[0]; l != (core.Load{Target: "a1", Running: 2, Waiting: 1, Limit: 1}) {
			t.Errorf("below what runs: %+v", l)
		}
		resize(0)
		if l := r.Loads()[0]; l != (core.Load{Target: "a1", Running: 3}) {
			t.Errorf("without a limit: %+v", l)
		}
		resize(2)
		if late := c.ask(t.Context(), plain(), time.Second); late.err != nil || r.Loads()[0].Waiting != 1 {
			t.Errorf("those that ran before count: %v, %+v", late.err, r.Loads()[0])
		}
		c.wg.Wait()
		r.idle(t)
	})
}

func TestLimits_QuotaGroup(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, func(tb *core.Tables) {
			tb.GroupRates = map[string]limit.RateSettings{"a": {OutputTokensPerMinute: 1000}}
		})
		ask := func(tokens int) (*core.Decision, error) {
			req := &core.Request{Facts: core.Facts{MaxTokens: tokens}}
			_, err := core.Do(t.Context(), r.Engine, req, (&vendor{}).call)
			return &req.Decision, err
		}
		for i, want := range []string{"a1", "a1", "a1", "o1"} { // each uses 100 of its 800
			if d, err := ask(800); err != nil || d.Target != want {
				t.Errorf("request %d: %v by %q", i+1, err, d.Target)
			}
		}
		d, _ := ask(800)
		if len(d.Skips) != 2 || d.Skips[0].Detail != "quota_group output_tokens_per_minute" || d.Skips[0].Wait != 6*time.Second {
			t.Errorf("skips %+v", d.Skips)
		}
		time.Sleep(6 * time.Second)
		if d, err := ask(800); err != nil || d.Target != "a1" {
			t.Errorf("after the wait: %v by %q", err, d.Target)
		}
	})
}

// A target's own failures cost it what its vendor counts.
func TestLimits_TargetRateSettles(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, only("a1"), func(tb *core.Tables) {
			tb.TargetLimits[0].Rate = limit.RateSettings{RequestsPerMinute: 2, TokensPerMinute: 5000}
		})
		v := &vendor{script: map[string][]error{"a1": {fails(core.KindInvalidRequest), &core.Error{Kind: core.KindConnect}, nil}}}
		for i, want := range []core.Kind{core.KindInvalidRequest, core.KindNone, core.KindLimitLocal} {
			d, err := r.ask(t.Context(), "assistant", v)
			if core.KindOf(err) != want {
				t.Errorf("request %d: %v, %+v", i+1, err, d.Attempts)
			}
		}
		// Waiting for a connection cost no request.
		var e *core.Error
		_, err := r.ask(t.Context(), "assistant", v)
		if !errors.As(err, &e) || e.Code != "requests_per_minute" || e.RetryAfter <= 0 || e.RetryAfter > 30*time.Second {
			t.Errorf("%+v", e)
		}
	})
}

func TestLimits_OutputCap(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, func(tb *core.Tables) { tb.UseCaseLimits[0].MaxOutputTokens = 5000 })
		for _, c := range []struct {
			tokens, key int
			says        string
		}{
			{4096, 4096, ""},
			{5000, 4096, "this key allows at most 4096 output tokens a request, and the request asks for about 5000"},
			{0, 4096, "this key allows at most 4096 output tokens a request, and the request does not say how many"},
			{5000, 0, ""},
			{6000, 0, "this use case allows at most 5000 output tokens a request"},
		} {
			req := &core.Request{Limits: core.CallerLimits{MaxOutputTokens: c.key}, Facts: core.Facts{MaxTokens: c.tokens}}
			_, err := core.Do(t.Context(), r.Engine, req, (&vendor{}).call)
			var e *core.Error
			errors.As(err, &e)
			switch {
			case c.says == "" && err != nil:
				t.Errorf("%+v: %v", c, err)
			case c.says != "" && (e == nil || e.Kind != core.KindInvalidRequest || e.Code != "max_output_tokens" || !strings.HasPrefix(e.Message, c.says)):
				t.Errorf("%+v: %+v", c, e)
			case c.says != "" && !strings.HasSuffix(req.Decision.Limit, " max_output_tokens"):
				t.Errorf("%+v: limit %q", c, req.Decision.Limit)
			}
		}
	})
}

func TestTables_LimitsAreChecked(t *testing.T) {
	t.Parallel()
	for says, change := range map[string]func(*core.Tables){
		`limits of target "a1": concurrency: limit is -1`:             func(tb *core.Tables) { tb.TargetLimits[0].Concurrency.Limit = -1 },
		`limits of target "a2": rate: burst_s is 61`:                  func(tb *core.Tables) { tb.TargetLimits[1].Rate.BurstSeconds = 61 },
		`limits of use case "batch": spend: day_pico is 2, above`:     func(tb *core.Tables) { tb.UseCaseLimits[1].Spend = limit.SpendSettings{DayPico: 2, MonthPico: 1} },
		`limits of use case "batch": rate: tokens_per_minute is -1`:   func(tb *core.Tables) { tb.UseCaseLimits[1].Rate.TokensPerMinute = -1 },
		`limits of use case "admin": max_output_tokens is -1, not in`: func(tb *core.Tables) { tb.UseCaseLimits[2].MaxOutputTokens = -1 },
		`quota group "x" is no target's`:                              func(tb *core.Tables) { tb.GroupRates["x"] = limit.RateSettings{} },
		`rate of quota group "a": requests_per_minute is -1`:          func(tb *core.Tables) { tb.GroupRates["a"] = limit.RateSettings{RequestsPerMinute: -1} },
		`limits of 1 targets and 5 use cases, want 3 and 5`:           func(tb *core.Tables) { tb.TargetLimits = tb.TargetLimits[:1] },
	} {
		c := catalog(t)
		tb := core.DefaultTables(c)
		change(tb)
		if err := tb.Check(c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %s", err, says)
		}
	}
	c := catalog(t)
	tb := core.DefaultTables(c)
	tb.TargetLimits, tb.UseCaseLimits, tb.GroupRates = nil, nil, nil
	if err := tb.Check(c); err != nil || tb.TargetLimits[2] != (core.TargetLimits{}) || tb.UseCaseLimits[4].Counted() {
		t.Errorf("tables without limits: %v, %+v", err, tb.TargetLimits)
	}
	got := core.DefaultTables(c).TargetLimits
	if !slices.EqualFunc(got, []int{20, 60, 40}, func(l core.TargetLimits, n int) bool { return l.Concurrency.Limit == n }) {
		t.Errorf("shipped limits %+v, want 20 for opus, 60 for haiku, 40 for others", got)
	}
}
