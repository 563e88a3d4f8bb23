package core

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
)

// MaxHold is the longest time for which a circuit may be held: a hold that
// nobody remembers is the next outage (R1.8).
const MaxHold = 24 * time.Hour

// ByTime is who ends a hold that nobody released.
const ByTime = "time"

// ErrHold marks a hold that was refused. Nothing was changed.
var ErrHold = errors.New("unusable hold")

// held is one hold, or a gap that a release left in wider ones: its Hold is
// HoldNone.
type held struct {
	*Override
	end time.Duration // monotonic: the wall clock may be set
}

// holds are what operators put on circuits, oldest first. The newest one that
// covers a circuit acts on it; when it ends, the one below acts again, so that
// an emergency preset for all doesn't forget a target's maintenance.
type holds []held

// over is what acts on a circuit, nil for nothing.
func (h holds) over(target, useCase string) *held {
	for i := range slices.Backward(h) {
		if !h[i].covers(target, useCase) {
			continue
		}
		if h[i].Hold == circuit.HoldNone {
			return nil
		}
		return &h[i]
	}
	return nil
}

// covers reports whether a hold reaches a circuit.
func (o *Override) covers(target, useCase string) bool {
	return (o.Target == "" || o.Target == target) && (o.UseCase == "" || o.UseCase == useCase)
}

// overlaps reports whether any circuit can be covered by both.
func (o *Override) overlaps(x *Override) bool {
	return (o.Target == "" || x.Target == "" || o.Target == x.Target) &&
		(o.UseCase == "" || x.UseCase == "" || o.UseCase == x.UseCase)
}

// put adds a hold on top, in place of an earlier one of the same reach.
func (h *holds) put(o *Override, end time.Duration) {
	*h = append(slices.DeleteFunc(*h, func(x held) bool {
		return x.Target == o.Target && x.UseCase == o.UseCase
	}), held{o, end})
}

// release ends what lies inside the reach of o, and leaves a gap in what goes
// beyond it. It returns what is to be recorded, nothing when nothing was held.
func (h *holds) release(o Override) (events []*Override) {
	*h = slices.DeleteFunc(*h, func(x held) bool {
		if !o.covers(x.Target, x.UseCase) {
			return false
		}
		if x.Hold != circuit.HoldNone {
			e := o
			e.Target, e.UseCase = x.Target, x.UseCase
			events = append(events, &e)
		}
		return true
	})
	gap := held{Override: &o}
	for _, x := range *h {
		if x.Hold != circuit.HoldNone && o.overlaps(x.Override) && x.end > gap.end {
			o.Until, gap.end = x.Until, x.end
		}
	}
	if gap.end != 0 {
		*h = append(*h, gap)
		events = slices.DeleteFunc(events, func(e *Override) bool { return e.Target == o.Target && e.UseCase == o.UseCase })
		events = append(events, &o)
	}
	return events
}

// expire forgets what is over and returns the holds among it.
func (h *holds) expire(now time.Duration) (over []held) {
	*h = slices.DeleteFunc(*h, func(x held) bool {
		if x.end > now {
			return false
		}
		if x.Hold != circuit.HoldNone {
			over = append(over, x)
		}
		return true
	})
	return over
}

// Hold puts an operator's hold on circuits (R1.8): those of one target and use
// case, of all a target's use cases, or of all of a use case's targets, which
// the empty name says. [circuit.HoldNone] ends the holds that lie inside and
// spares these circuits from wider ones. A hold needs a reason and ends by
// itself, within [MaxHold]; its end is recorded too. Any refusal is an
// [ErrHold]. A [Recorder] that is told of a hold must not call Hold back.
func (e *Engine) Hold(o Override) error {
	wall, now := e.clock.Wall(), e.clock.Mono()
	if err := o.check(e.Revision(), wall); err != nil {
		return fmt.Errorf("hold circuit: %w: %w", ErrHold, err)
	}
	e.changeHolds(&o, wall, now)
	e.changed(now)
	return nil
}

// changeHolds puts or releases a hold and records it.
func (e *Engine) changeHolds(o *Override, wall time.Time, now time.Duration) {
	e.holding.Lock()
	defer e.holding.Unlock()
	o.At = e.clock.Wall()
	if ahead := e.heldAt.Sub(o.At); ahead >= 0 && ahead < time.Second {
		o.At = e.heldAt.Add(time.Microsecond) // a restart tells by it which hold lies on top
	}
	e.heldAt = o.At
	events := []*Override{o}
	e.mu.Lock()
	if o.Hold == circuit.HoldNone {
		o.Until = time.Time{}
		events = e.holds.release(*o)
	} else {
		e.holds.put(o, now+o.Until.Sub(wall))
	}
	e.applyHolds(now)
	e.mu.Unlock()
	for _, ev := range events {
		e.recorder.Record(ev)
	}
}

// check reports what is missing or wrong in a hold.
func (o *Override) check(rev *Revision, wall time.Time) error {
	switch {
	case o.Hold != circuit.HoldNone && !slices.Contains(circuit.Holds(), o.Hold):
		return fmt.Errorf("there is no hold number %d", o.Hold)
	case o.By == "":
		return errors.New("say who holds it")
	case o.Target == "" && o.UseCase == "":
		return errors.New("name a target, a use case, or both")
	case !o.reaches(rev):
		return fmt.Errorf("no use case %q with target %q", o.UseCase, o.Target)
	case o.Hold == circuit.HoldNone:
		return nil
	case o.Reason == "":
		return errors.New("a reason is required")
	case !o.Until.After(wall):
		return errors.New("the expiry must lie ahead")
	case o.Until.Sub(wall) > MaxHold:
		return fmt.Errorf("the expiry may be %v ahead at most", MaxHold)
	}
	return nil
}

// reaches reports whether any use case is served by any target that o covers.
func (o *Override) reaches(rev *Revision) bool {
	for u, useCase := range rev.Tables.UseCases {
		for t, served := range rev.Tables.Served[u] {
			if served && o.covers(rev.Catalog.Targets[t].ID, useCase.ID) {
				return true
			}
		}
	}
	return false
}

// applyHolds puts on every circuit what acts on it. The caller holds mu.
func (e *Engine) applyHolds(now time.Duration) {
	for _, c := range e.live.cells {
		var o *Override
		var end time.Duration
		hold := circuit.HoldNone
		if h := e.holds.over(c.target, c.useCase); h != nil {
			o, end, hold = h.Override, h.end, h.Hold
		}
		if c.held.Swap(o) != o {
			c.circuit.SetHold(hold, now, end)
		}
	}
}

// endHolds ends holds whose time is over, records it, and reports whether there
// were any. While a hold is being put it leaves that to the next look: the
// circuits know the end themselves.
func (e *Engine) endHolds(now time.Duration) bool {
	if !e.holding.TryLock() {
		return false
	}
	defer e.holding.Unlock()
	e.mu.Lock()
	over := e.holds.expire(now)
	if len(over) > 0 {
		e.applyHolds(now)
	}
	e.mu.Unlock()
	for _, h := range over {
		e.recorder.Record(h.ended(e.clock.Wall().Add(h.end - now)))
	}
	return len(over) > 0
}

// ended is the record of a hold's own end.
func (o *Override) ended(at time.Time) *Override {
	return &Override{At: at, Target: o.Target, UseCase: o.UseCase, Hold: circuit.HoldNone, By: ByTime, Reason: o.Reason}
}

// restoreHolds takes over an earlier process's holds, without recording them a
// second time. What ended while no process ran is recorded now.
func (e *Engine) restoreHolds(list []Override, wall time.Time, now time.Duration) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Override) int { return cmp.Compare(a.At.UnixNano(), b.At.UnixNano()) })
	var over []*Override
	e.mu.Lock()
	for i := range list {
		o := &list[i]
		switch left := o.Until.Sub(wall); {
		case left > 0:
			e.holds.put(o, now+min(left, MaxHold))
		case o.Hold != circuit.HoldNone:
			over = append(over, o.ended(o.Until))
		}
	}
	e.applyHolds(now)
	e.mu.Unlock()
	for _, ev := range over {
		e.recorder.Record(ev)
	}
}

// heldState is what a restart must not forget.
func (e *Engine) heldState(now time.Duration) []Override {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []Override
	for _, h := range e.holds {
		if h.end > now {
			out = append(out, *h.Override)
		}
	}
	return out
}
