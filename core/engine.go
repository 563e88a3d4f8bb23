package core

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
)

// Config is what an engine needs. Only Revision is required.
type Config struct {
	Revision *Revision
	// Clock defaults to [NewSystemClock].
	Clock Clock
	// Recorder defaults to [Discard].
	Recorder Recorder
	// Prober probes the nodes of providers; nil leaves them to the requests.
	Prober Prober
	// Seed fixes every random draw; 0 takes a random seed.
	Seed uint64
}

// Engine runs requests. It is safe for concurrent use.
type Engine struct {
	clock    Clock
	recorder Recorder
	random   Random
	ids      idSource
	watch    watchdog
	probing  probing
	flights  sync.Pool

	snap      atomic.Pointer[Snapshot]
	refresher refresher
	cooldowns cooldowns
	affinity  affinity

	mu       sync.Mutex // guards what follows; never held while a request waits
	live     registry
	holds    map[holdKey]Override
	stop     context.CancelFunc
	stopped  chan struct{}
	requests atomic.Uint64
}

// New returns an engine without background work: call [Engine.Start], or
// [Engine.Tick] from time to time.
func New(cfg Config) (*Engine, error) {
	if cfg.Revision == nil {
		return nil, errors.New("new engine: no revision")
	}
	if cfg.Clock == nil {
		cfg.Clock = NewSystemClock()
	}
	if cfg.Recorder == nil {
		cfg.Recorder = Discard{}
	}
	for cfg.Seed == 0 {
		var b [8]byte
		if _, err := rand.Read(b[:]); err != nil {
			return nil, fmt.Errorf("new engine: seed: %w", err)
		}
		cfg.Seed = binary.LittleEndian.Uint64(b[:])
	}
	e := &Engine{
		clock: cfg.Clock, recorder: cfg.Recorder, random: Random{Seed: cfg.Seed},
		ids: idSource{random: Random{Seed: cfg.Seed}}, live: newRegistry(Random{Seed: cfg.Seed}), holds: map[holdKey]Override{},
	}
	e.watch.clock = cfg.Clock
	e.probing.open(cfg.Prober)
	e.flights.New = func() any { return new(flight) }
	if err := e.Activate(cfg.Revision); err != nil {
		return nil, fmt.Errorf("new engine: %w", err)
	}
	return e, nil
}

// Activate makes a revision the acting one, with its catalog, atomically and
// without losing counts. Requests that already run keep the revision they began
// with. On an error nothing has changed.
func (e *Engine) Activate(rev *Revision) error {
	if err := rev.Tables.Check(rev.Catalog); err != nil {
		return fmt.Errorf("activate revision: %w", err)
	}
	e.mu.Lock()
	w := e.live.world(rev, e.clock.Mono(), e.openJitter())
	e.mu.Unlock()
	e.refresher.mu.Lock()
	defer e.refresher.mu.Unlock()
	e.publish(w, e.clock.Mono())
	return nil
}

// openJitter draws the upward jitter of open times.
func (e *Engine) openJitter() func() float64 {
	return func() float64 { return e.random.Float64(e.requests.Load(), PurposeOpenDelay, 0) }
}

// Revision returns the acting revision.
func (e *Engine) Revision() *Revision { return e.snap.Load().world.rev }

// Snapshot returns the picture of the live state, taken anew if time or an event
// has made the last one wrong: what is shown is what routing does, also without
// background work.
func (e *Engine) Snapshot() *Snapshot {
	e.refreshIfDue(e.clock.Mono())
	return e.snap.Load()
}

// Plan answers what would be done, without doing it (R2.6).
func (e *Engine) Plan(f *Facts) *Plan {
	e.refreshIfDue(e.clock.Mono())
	snap := e.snap.Load()
	plan, _ := snap.world.rev.Decider.Decide(snap, f)
	return plan
}

// Disclosure is what policy tells the caller about a situation.
func (e *Engine) Disclosure(f *Facts, s Situation) Disclosure {
	t := e.Revision().Tables
	uc, ok := t.UseCaseIndex(f.UseCase)
	if !ok {
		return Disclosure{}
	}
	return t.Disclosure(uc, f.Audience, s, f.Language)
}

// Tick does the work that time alone causes: it half-opens circuits, ends
// cooldowns and holds, refreshes the snapshot, samples budgets and probes the
// nodes that are due, for whose answers it waits: 2.5 s at most. With
// [Engine.Start] it is not needed (R16.1).
func (e *Engine) Tick() {
	now := e.clock.Mono()
	e.refresh(now)
	e.sampleBudgets(now)
	e.probeDue()
}

// tickEvery is how often the live figures are looked at when nothing else
// happens; it bounds how late a half-open circuit shows (architecture.md).
const tickEvery = 250 * time.Millisecond

// Start does Tick's work in the background until Close. Calling it twice does
// nothing more.
func (e *Engine) Start() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stop != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.stop, e.stopped = cancel, make(chan struct{})
	e.probing.background.Store(true)
	e.clock.Go(func() {
		defer close(e.stopped)
		for e.clock.Sleep(ctx, e.untilDue(tickEvery)) == nil {
			e.Tick()
		}
	})
}

// Close ends the background work for good, probes included, and waits for it.
// Requests may still run.
func (e *Engine) Close() {
	e.mu.Lock()
	stop, stopped := e.stop, e.stopped
	e.stop = nil
	e.mu.Unlock()
	if stop != nil {
		stop()
		<-stopped
	}
	e.probing.close()
	e.watch.close()
}

// holdKey names a held circuit; an empty use case holds all of a target's.
type holdKey struct{ target, useCase string }

// Hold puts an operator's hold on a target's circuit, or on all of them without
// a use case; HoldNone takes it back (R1.8). Until must lie ahead unless the
// hold is taken back.
func (e *Engine) Hold(o Override) error {
	wall, now := e.clock.Wall(), e.clock.Mono()
	if o.Reason == "" && o.Hold != circuit.HoldNone {
		return errors.New("hold circuit: a reason is required")
	}
	if o.Hold != circuit.HoldNone && !o.Until.After(wall) {
		return errors.New("hold circuit: the expiry must lie ahead")
	}
	n := 0
	w := e.snap.Load().world
	for u := range w.cells {
		for t := range w.cells[u] {
			c := w.cells[u][t]
			if c.target != o.Target || (o.UseCase != "" && o.UseCase != c.useCase) {
				continue
			}
			c.circuit.SetHold(o.Hold, now, now+o.Until.Sub(wall))
			n++
		}
	}
	if n == 0 {
		return fmt.Errorf("hold circuit: no target %q for use case %q", o.Target, o.UseCase)
	}
	o.At = wall
	e.mu.Lock()
	e.holds[holdKey{o.Target, o.UseCase}] = o
	e.mu.Unlock()
	e.recorder.Record(&o)
	e.changed(now)
	return nil
}
