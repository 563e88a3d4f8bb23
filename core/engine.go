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
	accounts  accounts

	holding  sync.Mutex // keeps records of holds in the order of the holds; taken before mu
	heldAt   time.Time  // of the newest; guarded by holding
	mu       sync.Mutex // guards what follows; never held while a request waits
	live     registry
	holds    holds
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
		ids: idSource{random: Random{Seed: cfg.Seed}},
	}
	e.live = newRegistry(&e.accounts, e.random)
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
	now := e.clock.Mono()
	w := e.live.world(rev, now, e.openJitter())
	e.applyHolds(now) // also to circuits that are new
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

// Snapshot returns the newest picture of the live state. It is taken anew if an
// event or time alone has made the last one wrong, so that what is shown is what
// routing does; figures that only went on wait for a request or a tick.
func (e *Engine) Snapshot() *Snapshot {
	s, now := e.snap.Load(), e.clock.Mono()
	if e.refresher.dirty.Load() || s.ValidUntil != 0 && now >= s.ValidUntil {
		e.refresh(now)
	}
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
// cooldowns and holds, refreshes the snapshot, samples budgets and spending, and
// probes the nodes that are due, for whose answers it waits: 2.5 s at most. With
// [Engine.Start] it is not needed (R16.1).
func (e *Engine) Tick() {
	now := e.clock.Mono()
	e.refresh(now)
	e.sampleBudgets(now)
	e.sampleSpends(now, spendEvery)
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

// Close ends the background work for good, probes included, and waits for it, and
// records what was spent since the last sample. Requests may still run.
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
	e.sampleSpends(e.clock.Mono(), 0)
	e.watch.close()
}
