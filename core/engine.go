package core

import (
	"context"
	"errors"
	"time"
)

// Config is what an engine needs. Only Revision is required.
type Config struct {
	Revision *Revision
	// Clock defaults to [NewSystemClock].
	Clock Clock
	// Recorder defaults to [Discard].
	Recorder Recorder
	// Seed fixes every random draw; 0 takes a random seed.
	Seed uint64
}

// Engine runs requests. It is safe for concurrent use.
type Engine struct{ cfg Config }

type flight struct{ committed bool }

func (f *flight) firstContent(*Attempt)  {}
func (f *flight) progress()              {}
func (f *flight) elapsed() time.Duration { return 0 }

// New returns an engine without background work: call [Engine.Start], or
// [Engine.Tick] from time to time.
func New(cfg Config) (*Engine, error) {
	if cfg.Revision == nil {
		return nil, errors.New("new engine: no revision")
	}
	return &Engine{cfg: cfg}, nil
}

// Activate makes a revision the acting one, with its catalog, atomically and
// without losing counts.
func (e *Engine) Activate(rev *Revision) error { return nil }

// Revision returns the acting revision.
func (e *Engine) Revision() *Revision { return e.cfg.Revision }

// Snapshot returns the newest picture of the live state.
func (e *Engine) Snapshot() *Snapshot { return nil }

// Plan answers what would be done, without doing it (R2.6).
func (e *Engine) Plan(f *Facts) *Plan { return nil }

// Run decides and makes attempts until one succeeds, the caller's own mistake
// is answered, or nothing is left. It fills req.Decision; nil means answered.
// The error is an [*Error]. Call [Engine.Finish] once the caller was answered.
func (e *Engine) Run(ctx context.Context, req *Request, a Attempter) error { return nil }

// Finish settles and records the decision.
func (e *Engine) Finish(req *Request) {}

// Disclosure is what policy tells the caller about a situation.
func (e *Engine) Disclosure(f *Facts, s Situation) Disclosure { return Disclosure{} }

// Tick does the work that time alone causes; with [Engine.Start] it is not needed (R16.1).
func (e *Engine) Tick() {}

// Start does Tick's work in the background until Close.
func (e *Engine) Start() {}

// Close ends the background work and waits for it.
func (e *Engine) Close() {}

// Restore takes over the state of an earlier process. Call it before the first request.
func (e *Engine) Restore(s State) {}

// State returns what must survive a restart.
func (e *Engine) State() State { return State{} }

// Hold puts an operator's hold on circuits, or takes it back (HoldNone).
func (e *Engine) Hold(o Override) error { return nil }

// SetKey takes a provider key out of service by hand, or puts it back.
func (e *Engine) SetKey(provider, key string, usable bool, by string) error { return nil }
