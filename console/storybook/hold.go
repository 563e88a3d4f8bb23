package storybook

import (
	"context"
	"slices"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// Hold notes the hold and shows it on the circuits that it reaches.
func (b *Book) Hold(_ context.Context, o core.Override) error {
	b.Lock()
	defer b.Unlock()
	if b.Fail != nil {
		return b.Fail
	}
	o.At = Now()
	b.Overrides = append(b.Overrides, o)
	b.Snap = held(b.Snap, &o)
	return nil
}

// Release notes the release and shows it.
func (b *Book) Release(ctx context.Context, target, useCase, by string) error {
	return b.Hold(ctx, core.Override{Target: target, UseCase: useCase, By: by})
}

// held is a picture with a hold put on it, or taken from it.
func held(s *core.Snapshot, o *core.Override) *core.Snapshot {
	out := &core.Snapshot{
		Epoch: s.Epoch + 1, Time: s.Time, Revision: s.Revision, Catalog: s.Catalog, UseCases: s.UseCases, Levels: s.Levels,
		Targets: slices.Clone(s.Targets), Providers: s.Providers,
	}
	for t := range out.Targets {
		l := &out.Targets[t]
		l.Circuits, l.Overridden = slices.Clone(l.Circuits), false
		for u := range l.Circuits {
			c := &l.Circuits[u]
			if (o.Target == "" || o.Target == s.Catalog.Targets[t].ID) && (o.UseCase == "" || o.UseCase == s.UseCases[u]) {
				hold(c, o)
			}
			l.Overridden = l.Overridden || c.Held != nil
		}
	}
	return out
}

func hold(c *core.CircuitLive, o *core.Override) {
	c.State, c.Held = c.Computed, nil
	if o.Hold != circuit.HoldNone {
		c.Held = o
	}
	switch o.Hold {
	case circuit.HoldOpen:
		c.State, c.Until = circuit.Open, o.Until
	case circuit.HoldClosed, circuit.HoldObserve:
		c.State = circuit.Closed
	case circuit.HoldNone, circuit.HoldEmergency:
	}
}
