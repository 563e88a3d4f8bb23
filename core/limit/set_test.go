package limit_test

import (
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/limit"
)

// world is every limit that a set can hold.
type world struct {
	set limit.Set
	now limit.Now
}

func newWorld() *world {
	rate := func(s limit.RateSettings) *limit.Rate { return limit.NewRate(s, 0) }
	return &world{
		now: limit.Now{Wall: noon()},
		set: limit.Set{
			Target:       limit.NewConcurrency(limit.ConcurrencySettings{Limit: 10, Queue: 10}),
			KeyRate:      rate(limit.RateSettings{RequestsPerMinute: 60}),
			UseCaseRate:  rate(limit.RateSettings{InputTokensPerMinute: 6000}),
			GroupRate:    rate(limit.RateSettings{TokensPerMinute: 12_000}),
			TargetRate:   rate(limit.RateSettings{OutputTokensPerMinute: 6000}),
			KeySpend:     limit.NewSpend(limit.SpendSettings{DayPico: 1000}),
			UseCaseSpend: limit.NewSpend(limit.SpendSettings{MonthPico: 5000}),
		},
	}
}

// picture is all that a world has given out.
type picture struct {
	running     int
	rates       [4]limit.RateView
	spent, kept [2]int64
}

func (w *world) picture() picture {
	m, s := w.now.Mono, w.set
	key, useCase := s.KeySpend.View(w.now.Wall), s.UseCaseSpend.View(w.now.Wall)
	return picture{
		running: s.Target.View(m).Running,
		rates:   [4]limit.RateView{s.KeyRate.View(m), s.UseCaseRate.View(m), s.GroupRate.View(m), s.TargetRate.View(m)},
		spent:   [2]int64{key.DayPico, useCase.MonthPico}, kept: [2]int64{key.Reserved, useCase.Reserved},
	}
}

func ask() limit.Ask {
	return limit.Ask{Priority: 5, Use: limit.Use{Requests: 1, Input: 100, Output: 100}, Cost: known(100)}
}

func TestSet_AllOrNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fill  func(*world)
		edit  func(*limit.Ask)
		rule  limit.Rule
		scope limit.Scope
	}{
		"concurrency": {fill: func(w *world) {
			for range 10 {
				w.set.Target.Acquire(0, 5)
			}
		}, rule: limit.RuleConcurrency, scope: limit.ScopeTarget},
		"key_rate": {
			fill: func(w *world) { w.set.KeyRate.Reserve(0, limit.Use{Requests: 60}) },
			rule: limit.RuleRequests, scope: limit.ScopeKey,
		},
		"use_case_rate": {edit: func(a *limit.Ask) { a.Use.Input = 6001 }, rule: limit.RuleInputTokens, scope: limit.ScopeUseCase},
		"group_rate": {
			fill: func(w *world) { w.set.GroupRate.Reserve(0, limit.Use{Input: 12_000}) },
			rule: limit.RuleTokens, scope: limit.ScopeGroup,
		},
		"target_rate":    {edit: func(a *limit.Ask) { a.Use.Output = 6001 }, rule: limit.RuleOutputTokens, scope: limit.ScopeTarget},
		"key_spend":      {edit: func(a *limit.Ask) { a.Cost = known(1001) }, rule: limit.RuleSpendDay, scope: limit.ScopeKey},
		"use_case_spend": {fill: func(w *world) { w.set.UseCaseSpend.Reserve(noon(), known(4950)) }, rule: limit.RuleSpendMonth, scope: limit.ScopeUseCase},
		"unknown_price":  {edit: func(a *limit.Ask) { a.Cost = limit.Cost{} }, rule: limit.RulePriceUnknown, scope: limit.ScopeKey},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a := newWorld(), ask()
			if tc.fill != nil {
				tc.fill(w)
			}
			if tc.edit != nil {
				tc.edit(&a)
			}
			before := w.picture()
			r, no := w.set.Reserve(w.now, a)
			if no.Rule != tc.rule || no.Scope != tc.scope {
				t.Errorf("got %v, want %v of the %v", no, tc.rule, tc.scope)
			}
			r.Settle(w.now, a.Use, a.Cost)
			if after := w.picture(); after != before {
				t.Errorf("a refusal took something: %+v, want %+v", after, before)
			}
		})
	}
}

func TestSet_ToldRefusal(t *testing.T) {
	t.Parallel()
	full := func(w *world) {
		for range 10 {
			w.set.Target.Acquire(0, 5)
		}
	}
	t.Run("longest_wait", func(t *testing.T) {
		t.Parallel()
		w := newWorld()
		full(w)
		w.set.KeyRate.Reserve(0, limit.Use{Requests: 60})
		w.set.GroupRate.Reserve(0, limit.Use{Input: 12_000})
		_, no := w.set.Reserve(w.now, limit.Ask{Use: limit.Use{Requests: 1, Input: 1000}, Cost: known(1)})
		if no.Rule != limit.RuleTokens || no.RetryAfter != 5*time.Second {
			t.Errorf("got %v, want the quota group's 5 s", no)
		}
	})
	t.Run("others_before_concurrency", func(t *testing.T) {
		t.Parallel()
		w := newWorld()
		full(w)
		w.now.Mono = 30 * time.Second // nothing has ended for so long
		w.set.KeyRate.Reserve(w.now.Mono, limit.Use{Requests: 60})
		_, no := w.set.Reserve(w.now, ask())
		if no.Rule != limit.RuleRequests || no.RetryAfter != 30*time.Second {
			t.Errorf("got %v, want the key's limit, and the longer wait", no)
		}
	})
	t.Run("never_before_all", func(t *testing.T) {
		t.Parallel()
		w := newWorld()
		full(w)
		w.set.UseCaseSpend.Reserve(noon(), known(4950))
		a := ask()
		a.Use.Input = 7000
		if _, no := w.set.Reserve(w.now, a); !no.Never || no.Rule != limit.RuleInputTokens || no.RetryAfter != 0 {
			t.Errorf("got %v, want what is never possible", no)
		}
	})
}

func TestReservation_Endings(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end    func(*world, *limit.Reservation)
		used   int64 // requests of the key
		output int64
		spent  int64
	}{
		"settled": {func(w *world, r *limit.Reservation) {
			r.Settle(w.now, limit.Use{Requests: 1, Input: 90, Output: 40}, known(70))
		}, 1, 40, 70},
		"settled_then_cancelled": {func(w *world, r *limit.Reservation) {
			r.Settle(w.now, limit.Use{Requests: 1, Input: 90, Output: 40}, known(70))
			r.Cancel(w.now)
			r.Settle(w.now, limit.Use{Requests: 1, Input: 90, Output: 40}, known(70))
		}, 1, 40, 70},
		"cancelled":        {func(w *world, r *limit.Reservation) { r.Cancel(w.now) }, 0, 0, 0},
		"without_a_figure": {func(w *world, r *limit.Reservation) { r.Settle(w.now, ask().Use, limit.Cost{}) }, 1, 100, 100},
		"panic": {func(w *world, r *limit.Reservation) {
			defer func() { _ = recover() }()
			defer func() { r.Cancel(w.now) }()
			panic("in the attempt")
		}, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			r, no := w.set.Reserve(w.now, ask())
			if no.Refused() {
				t.Fatal(no)
			}
			if p := w.picture(); p.running != 1 || p.kept != [2]int64{100, 100} || p.rates[3].Output.Used != 100 {
				t.Fatalf("reserved %+v", p)
			}
			tc.end(w, &r)
			p := w.picture()
			if p.running != 0 || p.kept != [2]int64{} || p.spent != [2]int64{tc.spent, tc.spent} ||
				p.rates[0].Requests.Used != tc.used || p.rates[3].Output.Used != tc.output {
				t.Errorf("got %+v, want %d requests, %d output tokens, %d spent", p, tc.used, tc.output, tc.spent)
			}
		})
	}
}

func TestSet_Adopt(t *testing.T) {
	t.Parallel()
	w := newWorld()
	ticket, _ := w.set.Target.Acquire(0, 5)
	r, no := w.set.Adopt(w.now, &ticket, ask())
	if no.Refused() || ticket.Held() {
		t.Fatalf("refused %v; the ticket is still the caller's: %v", no, ticket.Held())
	}
	ticket.Release(0)
	if got := w.picture().running; got != 1 {
		t.Errorf("%d running, want the one of the reservation", got)
	}
	r.Cancel(w.now)
	ticket, _ = w.set.Target.Acquire(0, 5)
	a := ask()
	a.Cost = known(1001)
	if _, no := w.set.Adopt(w.now, &ticket, a); no.Rule != limit.RuleSpendDay || ticket.Held() {
		t.Errorf("got %v, ticket held %v; want a refusal that released it", no, ticket.Held())
	}
	if p := w.picture(); p.running != 0 || p.kept != [2]int64{} {
		t.Errorf("something is left: %+v", p)
	}
}

func TestSet_Empty(t *testing.T) {
	t.Parallel()
	var s limit.Set
	r, no := s.Reserve(limit.Now{}, limit.Ask{Use: limit.Use{Requests: 1 << 40}})
	if no.Refused() {
		t.Error(no)
	}
	r.Settle(limit.Now{}, limit.Use{}, limit.Cost{})
	r.Cancel(limit.Now{})
}
