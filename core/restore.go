package core

import (
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
)

// Restore takes over the state of an earlier process: open circuits stay open
// (clamped to their longest open time), cooldowns and budgets go on, keys that
// were out of service stay out, holds that have not expired hold, what was spent
// stays spent. Names of targets and use cases that the
// acting revision does not know are forgotten. Call it before the first request.
func (e *Engine) Restore(s State) {
	w, wall, now := e.snap.Load().world, e.clock.Wall(), e.clock.Mono()
	e.refresher.mu.Lock()
	at := func(t time.Time) time.Duration { return now + t.Sub(wall) }
	for _, c := range s.Circuits {
		x := e.cell(w, c.Target, c.UseCase)
		if x == nil {
			continue
		}
		x.circuit.Restore(now, at(c.Since), at(c.Until), c.Cause, c.Opens)
		since := c.Since
		x.since.Store(&since)
	}
	for _, c := range s.Cooldowns {
		if until := at(c.Until); until > now {
			e.cooldowns.extend(cooldownKey{c.QuotaGroup, c.Key}, until)
		}
	}
	for _, b := range s.Budgets {
		if x := e.cell(w, b.Target, b.UseCase); x != nil {
			x.budget.Restore(b.Tokens, now)
			x.sampled = x.budget.View(now).Tokens
		}
	}
	e.restoreKeys(w, s.Keys)
	e.refresher.mu.Unlock()
	e.accounts.restore(s.Spends, now, wall)
	e.restoreHolds(s.Overrides, wall, now)
	e.changed(now)
}

func (e *Engine) restoreKeys(w *world, keys []KeyState) {
	for _, k := range keys {
		for i := range w.providers {
			if w.rev.Catalog.Providers[i].ID != k.Provider {
				continue
			}
			if ks := w.providers[i].key(k.Key); ks != nil {
				ks.back.Store(int64(e.clock.Mono() + keyRetest))
				ks.set(k.Usable, k.Kind)
			}
		}
	}
}

func (e *Engine) cell(w *world, target, useCase string) *cell {
	t, ok := w.rev.Catalog.TargetIndex(target)
	if !ok {
		return nil
	}
	u, ok := w.rev.Tables.UseCaseIndex(useCase)
	if !ok {
		return nil
	}
	return w.cells[u][t]
}

// State returns what must survive a restart.
func (e *Engine) State() State {
	w, wall, now := e.snap.Load().world, e.clock.Wall(), e.clock.Mono()
	var s State
	for _, row := range w.cells {
		for _, c := range row {
			v := c.circuit.View(now)
			if v.Computed != circuit.Closed {
				s.Circuits = append(s.Circuits, CircuitState{
					Target: c.target, UseCase: c.useCase, Since: wall.Add(v.Since - now),
					Until: wall.Add(max(v.OpenUntil-now, 0)), Cause: v.Cause, Opens: v.Opens,
				})
			}
			if b := c.budget.View(now); b.Tokens < b.Capacity {
				s.Budgets = append(s.Budgets, BudgetState{Target: c.target, UseCase: c.useCase, Tokens: b.Tokens})
			}
		}
	}
	for k, until := range e.cooldowns.all() {
		if until > now {
			s.Cooldowns = append(s.Cooldowns, CooldownState{QuotaGroup: k.group, Key: k.key, Until: wall.Add(until - now)})
		}
	}
	for i, p := range w.providers {
		for _, k := range p.keys {
			if !k.usable() {
				s.Keys = append(s.Keys, KeyState{At: wall, Provider: w.rev.Catalog.Providers[i].ID, Key: k.id, Kind: k.why()})
			}
		}
	}
	s.Spends = e.accounts.state(wall)
	s.Overrides = e.heldState(now)
	return s
}
