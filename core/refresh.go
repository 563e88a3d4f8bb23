package core

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/health"
)

// refresher rebuilds the snapshot. One caller at a time does it; the others go
// on with the picture they have.
type refresher struct {
	mu     sync.Mutex
	dirty  atomic.Bool  // a state changed: the picture is wrong
	due    atomic.Int64 // monotonic time of the next look at the figures
	levels []levelHold  // per use case; guarded by mu
	epoch  uint64       // guarded by mu
}

// levelHold keeps a use case from coming back to a better level at once.
type levelHold struct {
	useCase string
	level   Level
	better  time.Duration // since when the computed level has been better, 0 if it is not
}

// levelHoldFor is R8.1's hysteresis: worse shows at once, better only after the
// figures have been better for this long, so that a flapping target does not
// flip tiers with every probe.
const levelHoldFor = 5 * time.Second

// changed says that a state changed, and rebuilds the snapshot unless somebody
// else is at it.
func (e *Engine) changed(now time.Duration) {
	e.refresher.dirty.Store(true)
	e.refresh(now)
}

// refreshIfDue rebuilds the snapshot before a request reads one that time or an
// event has made wrong.
func (e *Engine) refreshIfDue(now time.Duration) {
	if e.refresher.dirty.Load() || int64(now) >= e.refresher.due.Load() {
		e.refresh(now)
	}
}

// untilDue is how long the picture stays right by itself, at most limit.
func (e *Engine) untilDue(limit time.Duration) time.Duration {
	left := time.Duration(e.refresher.due.Load()) - e.clock.Mono()
	return min(max(left, time.Millisecond), limit)
}

func (e *Engine) refresh(now time.Duration) {
	if !e.refresher.mu.TryLock() {
		return
	}
	defer e.refresher.mu.Unlock()
	e.publish(e.snap.Load().world, now)
}

// publish takes a new picture and publishes it if anything moved. The caller
// holds refresher.mu.
func (e *Engine) publish(w *world, now time.Duration) {
	dirty := e.refresher.dirty.Swap(false)
	dirty = e.endHolds(now) || dirty
	e.advance(w, now)
	e.cooldowns.expire(now)
	e.returnKeys(w, now)
	s := e.picture(w, now)
	e.judgeLevels(s)
	next := now + tickEvery
	if s.ValidUntil != 0 {
		next = min(next, s.ValidUntil)
	}
	e.refresher.due.Store(int64(next))
	old := e.snap.Load()
	if old != nil && !dirty && old.world == w && same(old, s) {
		return
	}
	e.refresher.epoch++
	s.Epoch = e.refresher.epoch
	w.rev.Decider.Prepare(s)
	e.snap.Store(s)
}

// advance lets time change the circuits, and records what it changed.
func (e *Engine) advance(w *world, now time.Duration) {
	for u := range w.cells {
		for t := range w.cells[u] {
			c := w.cells[u][t]
			if tr, ok := c.circuit.Advance(now); ok {
				e.transition(w, c, tr)
			}
		}
	}
}

// transition records a circuit's change of state.
func (e *Engine) transition(w *world, c *cell, tr circuit.Transition) {
	wall, now := e.clock.Wall(), e.clock.Mono()
	at := wall.Add(tr.At - now)
	c.since.Store(&at)
	ev := Transition{
		At: at, Target: c.target, UseCase: c.useCase, From: tr.From, To: tr.To, Cause: tr.Cause,
		Failures: tr.Failures, Calls: tr.Calls, Opens: tr.Opens, Revision: w.rev.ID, Effective: tr.Effective(),
	}
	if tr.To == circuit.Open {
		ev.Until = wall.Add(tr.OpenUntil - now)
	}
	e.recorder.Record(&ev)
}

// picture takes the live state of a world.
func (e *Engine) picture(w *world, now time.Duration) *Snapshot {
	wall := e.clock.Wall()
	s := &Snapshot{
		Time: wall, Mono: now, Revision: w.rev.ID, Catalog: w.rev.Catalog, world: w,
		Targets: make([]Live, len(w.targets)), Levels: make([]Level, len(w.cells)),
	}
	for _, u := range w.rev.Tables.UseCases {
		s.UseCases = append(s.UseCases, u.ID)
	}
	for t := range w.targets {
		l := &s.Targets[t]
		f := w.targets[t].window.Figures(now)
		l.SuccessPermille = f.SuccessPermille
		l.P95MS = health.Quantise2(int(f.P95.Milliseconds()))
		l.FirstContentP95MS = health.Quantise2(int(f.FirstContentP95.Milliseconds()))
		l.RequestsPerMinute = health.Quantise2(f.RequestsPerMinute)
		l.InFlight = coarse(f.InFlight)
		e.pictureKeys(w, t, l, s, now)
		e.pictureCircuits(w, t, l, s, now)
	}
	s.Providers = e.pictureProviders(w, now, wall, s.until)
	return s
}

// coarse rounds a count up to 0, 1, 2, 5, 10, 20, 50, … so that every new request
// does not make a new snapshot.
func coarse(n int) int {
	step := 1
	for n > 5*step {
		step *= 10
	}
	switch {
	case n <= step:
		return step * min(n, 1)
	case n <= 2*step:
		return 2 * step
	default:
		return 5 * step
	}
}

func (e *Engine) pictureKeys(w *world, t int, l *Live, s *Snapshot, now time.Duration) {
	_, why, wait := e.keyFor(w, t, 0, now)
	l.Healthy = true
	switch why {
	case KindNone:
	case KindCoolingDown:
		l.CoolingDown = true
		l.CooldownUntil = s.Time.Add(wait)
		s.until(now + wait)
	default:
		l.Healthy, l.Unusable = false, "no usable key"
		for _, k := range w.providers[w.owner[t]].keys {
			if k.why() != KindNone {
				l.Unusable = "key out of service: " + k.why().String()
			}
		}
	}
	nodes := w.providers[w.owner[t]].nodes
	if usable, total := nodes.Usable(now); usable == 0 && total > 1 {
		l.Unusable = "no node answers"
	}
	if next := nodes.NextChange(now); next != 0 {
		s.until(next)
	}
}

func (e *Engine) pictureCircuits(w *world, t int, l *Live, s *Snapshot, now time.Duration) {
	l.Circuits = make([]CircuitLive, len(w.cells))
	for u := range w.cells {
		c := w.cells[u][t]
		v := c.circuit.View(now)
		b := c.budget.View(now)
		x := CircuitLive{State: v.State, Computed: v.Computed, Cause: v.Cause, BudgetTokens: b.Tokens}
		if b.Capacity > 0 {
			x.BudgetPermille = int(b.Tokens*20/b.Capacity) * 50
		}
		if at := c.since.Load(); at != nil {
			x.Since = *at
		}
		until := v.OpenUntil
		if v.Hold == circuit.HoldOpen {
			until = max(until, v.HoldUntil)
		}
		if v.State == circuit.Open && until > now {
			x.Until = s.Time.Add(until - now)
		}
		if v.Hold != circuit.HoldNone {
			x.Held = c.held.Load()
			l.Overridden = l.Overridden || w.rev.Tables.Served[u][t]
		}
		if v.NextChange > now {
			s.until(v.NextChange)
		}
		l.Circuits[u] = x
	}
}

// until brings ValidUntil forward.
func (s *Snapshot) until(t time.Duration) {
	if s.ValidUntil == 0 || t < s.ValidUntil {
		s.ValidUntil = t
	}
}

// judgeLevels computes each use case's level with its hysteresis and records
// changes. The caller holds refresher.mu.
func (e *Engine) judgeLevels(s *Snapshot) {
	holds := make([]levelHold, len(s.UseCases))
	for u, id := range s.UseCases {
		h, known := e.heldLevel(id)
		computed := s.level(u)
		switch {
		case !known || computed > h.level:
			h.better = 0
		case computed == h.level:
			h.better = 0
		case h.better == 0:
			h.better = s.Mono
		}
		next := computed
		if known && computed < h.level && s.Mono-h.better < levelHoldFor {
			next = h.level
			s.until(h.better + levelHoldFor)
		}
		if known && next != h.level {
			e.recorder.Record(&LevelChange{At: s.Time, UseCase: id, From: h.level, To: next})
		}
		holds[u] = levelHold{useCase: id, level: next, better: h.better}
		s.Levels[u] = next
	}
	e.refresher.levels = holds
}

func (e *Engine) heldLevel(useCase string) (levelHold, bool) {
	for _, h := range e.refresher.levels {
		if h.useCase == useCase {
			return h, true
		}
	}
	return levelHold{}, false
}

// level is the level of a use case by its targets now. A standby makes the
// difference between degraded and unhealthy, and no other: it has no traffic to
// close its circuit with.
func (s *Snapshot) level(u int) Level {
	usable, whole, total := 0, 0, 0
	for t, served := range s.world.rev.Tables.Served[u] {
		if !served {
			continue
		}
		l := &s.Targets[t]
		able := l.Healthy && !l.CoolingDown && l.Circuits[u].State != circuit.Open
		if able {
			usable++
		}
		if s.Catalog.Targets[t].Standby() {
			continue
		}
		total++
		if able && l.Circuits[u].State == circuit.Closed {
			whole++
		}
	}
	switch {
	case usable == 0:
		return Unhealthy
	case whole < total:
		return Degraded
	default:
		return Healthy
	}
}

// same reports whether two pictures show the same state.
func same(a, b *Snapshot) bool {
	return a.ValidUntil == b.ValidUntil && slices.Equal(a.Levels, b.Levels) && slices.EqualFunc(a.Providers, b.Providers, sameProvider) &&
		slices.EqualFunc(a.Targets, b.Targets, sameLive)
}

func sameLive(a, b Live) bool {
	return a.SuccessPermille == b.SuccessPermille && a.P95MS == b.P95MS &&
		a.FirstContentP95MS == b.FirstContentP95MS && a.RequestsPerMinute == b.RequestsPerMinute &&
		a.InFlight == b.InFlight && a.CoolingDown == b.CoolingDown && a.Healthy == b.Healthy &&
		a.Overridden == b.Overridden && slices.EqualFunc(a.Circuits, b.Circuits, sameCircuit)
}

func sameCircuit(a, b CircuitLive) bool {
	return a.State == b.State && a.Computed == b.Computed && a.BudgetPermille == b.BudgetPermille && a.Held == b.Held
}

// sampleEvery is how many tokens a budget must have moved to be sampled again,
// as a share of its capacity, unless it is empty.
const sampleShare = 0.01

// sampleBudgets records budgets that moved (R5.2).
func (e *Engine) sampleBudgets(now time.Duration) {
	if !e.refresher.mu.TryLock() {
		return
	}
	defer e.refresher.mu.Unlock()
	for _, row := range e.snap.Load().world.cells {
		for _, c := range row {
			v := c.budget.View(now)
			moved := v.Tokens - c.sampled
			if moved == 0 || (v.Tokens >= 1 && v.Tokens < v.Capacity && max(moved, -moved) < sampleShare*v.Capacity) {
				continue
			}
			c.sampled = v.Tokens
			e.recorder.Record(&BudgetSample{
				At: e.clock.Wall(), Target: c.target, UseCase: c.useCase,
				Tokens: v.Tokens, Capacity: v.Capacity, ZeroSeconds: v.ZeroFor.Seconds(),
			})
		}
	}
}
