package core

import (
	"time"

	"github.com/spillway-llm/spillway/core/limit"
)

// gate is what an attempt passes before it reaches a target (R13.1).
type gate struct {
	concurrency *limit.Concurrency
	rate, group *limit.Rate // nil without limits
}

// limiters keep what was used of targets' limits by name, so that an activation
// resizes them while attempts run.
type limiters struct {
	concurrency map[string]*limit.Concurrency
	rates       map[limitKey]*limit.Rate
	accounts    *accounts
}

func newLimiters(a *accounts) limiters {
	return limiters{
		concurrency: map[string]*limit.Concurrency{}, rates: map[limitKey]*limit.Rate{}, accounts: a,
	}
}

// lay puts the gates and the use cases' accounts of a revision into its world.
func (l *limiters) lay(w *world, now time.Duration) {
	t := w.rev.Tables
	for i := range w.rev.Catalog.Targets {
		target := &w.rev.Catalog.Targets[i]
		s := t.TargetLimits[i]
		c := l.concurrency[target.ID]
		if c == nil {
			c = limit.NewConcurrency(s.Concurrency)
			l.concurrency[target.ID] = c
		}
		c.SetSettings(now, s.Concurrency)
		w.gates = append(w.gates, gate{
			concurrency: c,
			rate:        l.rate(limitKey{limit.ScopeTarget, target.ID}, s.Rate, now),
			group:       l.rate(limitKey{limit.ScopeGroup, target.QuotaGroup}, t.GroupRates[target.QuotaGroup], now),
		})
	}
	for i, u := range t.UseCases {
		w.useCases = append(w.useCases, l.accounts.of(limitKey{limit.ScopeUseCase, u.ID}, t.UseCaseLimits[i], now))
	}
}

// rate returns the named rate under these settings, nil without a limit.
func (l *limiters) rate(k limitKey, s limit.RateSettings, now time.Duration) *limit.Rate {
	r := l.rates[k]
	switch {
	case r != nil:
		r.SetSettings(s, now)
	case s.Limited():
		r = limit.NewRate(s, now)
		l.rates[k] = r
	}
	if !s.Limited() {
		return nil
	}
	return r
}

// Load is how much of a target's concurrency limit is taken.
type Load struct {
	Target string
	// Running attempts and Waiting requests; Limit is 0 without a limit.
	Running, Waiting, Limit int
}

// Loads returns the load of every target, in the catalog's order.
func (e *Engine) Loads() []Load {
	w, now := e.snap.Load().world, e.clock.Mono()
	out := make([]Load, len(w.gates))
	for i := range w.gates {
		v := w.gates[i].concurrency.View(now)
		out[i] = Load{
			Target: w.rev.Catalog.Targets[i].ID, Running: v.Running, Waiting: v.Waiting, Limit: v.Settings.Limit,
		}
	}
	return out
}
