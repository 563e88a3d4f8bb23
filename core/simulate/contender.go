package simulate

import (
	"errors"
	"slices"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/retry"
)

// Contender is a set of policies to compare with others.
type Contender struct {
	// Name heads its row.
	Name string
	// Note says in a sentence what it is.
	Note string
	// Revision is built over the scenario's catalog, and for virtual time: without
	// a deadline in real time. Contenders of one comparison run side by side, so
	// each needs a Decider of its own; one that they shared would meet their
	// snapshots in turns and could answer one with what it learnt from another.
	Revision *core.Revision
	// HoldCircuits lets every call past the circuits, by an operator's hold.
	HoldCircuits bool
}

// CircuitOnly is a revision without its retry budgets: each one holds as many
// tokens as settings allow (1,000,000) and gets 100 back for a success, so that
// no retry is ever denied. All else is the revision's own.
func CircuitOnly(rev *core.Revision) Contender {
	t := *rev.Tables
	t.Budgets = make([][]retry.BudgetSettings, len(rev.Tables.Budgets))
	for u := range t.Budgets {
		for range rev.Tables.Budgets[u] {
			t.Budgets[u] = append(t.Budgets[u], retry.BudgetSettings{Capacity: 1e6, Refund: 100})
		}
	}
	return Contender{
		Name: "circuit only", Note: "the policies without retry budgets: no retry is denied",
		Revision: &core.Revision{ID: rev.ID, Catalog: rev.Catalog, Tables: &t, Decider: rev.Decider},
	}
}

// BudgetOnly is a revision without its circuits: they go on computing, but an
// operator's hold lets every call past them. All else is the revision's own.
func BudgetOnly(rev *core.Revision) Contender {
	return Contender{
		Name: "budget only", Note: "the policies without circuits: no call is refused by one", Revision: rev, HoldCircuits: true,
	}
}

// Whole is a revision as it is.
func Whole(name string, rev *core.Revision) Contender {
	return Contender{Name: name, Note: "the policies as they are", Revision: rev}
}

// revision is the contender's, with its evaluations counted. The tables are a
// copy, because the engine completes those that it is given.
func (c Contender) revision(s *Scenario, clock *Clock, real func() time.Duration) (*core.Revision, *stopwatch, error) {
	if c.Revision == nil {
		return nil, nil, errors.New("no revision")
	}
	catalog, err := s.Catalog()
	if err != nil {
		return nil, nil, err
	}
	if c.Revision.Catalog.Digest != catalog.Digest {
		return nil, nil, errors.New("the policies are built over another catalog than the scenario's")
	}
	tables := *c.Revision.Tables
	tables.UseCases = slices.Clone(tables.UseCases)
	w := &stopwatch{decider: c.Revision.Decider, clock: clock, real: real}
	return &core.Revision{ID: c.Revision.ID, Catalog: c.Revision.Catalog, Tables: &tables, Decider: w}, w, nil
}

// stopwatch measures the real time that a decider takes.
type stopwatch struct {
	decider          core.Decider
	clock            *Clock
	real             func() time.Duration
	spent            time.Duration
	plans, snapshots int
}

var _ core.Decider = (*stopwatch)(nil)

func (w *stopwatch) read() time.Duration {
	if w.real == nil {
		return 0
	}
	return w.real()
}

// Decide passes on and measures.
func (w *stopwatch) Decide(snap *core.Snapshot, facts *core.Facts) (*core.Plan, bool) {
	begun := w.read()
	var plan *core.Plan
	var memo bool
	w.clock.Aside(func() { plan, memo = w.decider.Decide(snap, facts) })
	w.spent += w.read() - begun
	if !memo {
		w.plans++
	}
	return plan, memo
}

// Prepare passes on and measures.
func (w *stopwatch) Prepare(snap *core.Snapshot) {
	begun := w.read()
	w.clock.Aside(func() { w.decider.Prepare(snap) })
	w.spent += w.read() - begun
	w.snapshots++
}
