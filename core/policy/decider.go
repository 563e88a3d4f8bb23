package policy

import (
	"sync"

	"github.com/spillway-llm/spillway/core"
)

// Decider decides by the routing policy of one revision, and when that fails by
// what came before it: the last good plan of the same facts, the last good
// revision, the safe plan. It is safe for concurrent use.
type Decider struct {
	engine    *engine
	previous  *engine // nil: none over the same catalog
	recent    recent
	onFailure func(Failure)
}

var _ core.Decider = (*Decider)(nil)

// Prepare readies a snapshot, and takes a revision out of service whose
// evaluation can't be stopped.
func (d *Decider) Prepare(snap *core.Snapshot) {
	d.watch()
	d.engine.picture(snap)
}

// Decide returns the plan of the facts in the snapshot; memo reports that it
// was decided before. A remembered plan costs no allocation.
func (d *Decider) Decide(snap *core.Snapshot, facts *core.Facts) (plan *core.Plan, memo bool) {
	p := d.engine.picture(snap)
	plan, entry, fresh := p.memo.get(facts)
	if plan != nil {
		return plan, true
	}
	if !fresh {
		if plan = p.memo.wait(entry); plan != nil {
			return plan, true
		}
		d.watch()
		return d.fallBack(snap, facts, &Failure{Revision: d.engine.revision, Code: CodeDeadline, Message: "no answer in time"}), false
	}
	plan, keep := d.decide(p, facts)
	p.memo.fill(entry, plan, keep)
	return plan, false
}

// decide makes a plan and reports whether it is one to remember: what went
// wrong for lack of time may go right the next time.
func (d *Decider) decide(p *picture, facts *core.Facts) (plan *core.Plan, keep bool) {
	d.watch()
	if d.engine.poisoned.Load() {
		f := &Failure{Revision: d.engine.revision, Code: CodePoisoned, Message: "the revision was taken out of service"}
		return d.fallBack(p.snap, facts, f), true
	}
	plan, failure := d.engine.evaluate(p, facts)
	if failure == nil {
		d.recent.put(facts, plan)
		return plan, true
	}
	if failure.Elapsed > poisonAfter*d.engine.limits.deadline && d.engine.limits.deadline > 0 {
		d.poison(*failure)
	}
	if d.onFailure != nil {
		d.onFailure(*failure)
	}
	return d.fallBack(p.snap, facts, failure), failure.Code != CodeDeadline
}

// fallBack is the chain behind the acting revision.
func (d *Decider) fallBack(snap *core.Snapshot, facts *core.Facts, why *Failure) *core.Plan {
	if last := d.recent.get(facts); last != nil {
		return derived(last, core.SourceLastDecision, why)
	}
	if d.previous != nil && !d.previous.poisoned.Load() {
		if plan, failure := d.previous.evaluate(d.previous.picture(snap), facts); failure == nil {
			return derived(plan, core.SourceLastRevision, why)
		}
	}
	return core.SafePlan(snap, facts, why.String())
}

// watch poisons a revision one of whose evaluations is beyond stopping.
func (d *Decider) watch() {
	if late := d.engine.running.overdue(d.engine.limits); late > 0 {
		d.poison(Failure{Revision: d.engine.revision, Elapsed: late})
	}
}

func (d *Decider) poison(f Failure) {
	if d.engine.poisoned.Swap(true) || d.onFailure == nil {
		return
	}
	f.Code, f.Message = CodePoisoned, "an evaluation could not be stopped"
	d.onFailure(f)
}

// Poisoned reports whether the watchdog took the revision out of service.
func (d *Decider) Poisoned() bool { return d.engine.poisoned.Load() }

// derived is a plan under another source: plans are immutable and shared.
func derived(p *core.Plan, source core.Source, why *Failure) *core.Plan {
	return &core.Plan{
		Revision: p.Revision, Source: source, Steps: p.Steps, Excluded: p.Excluded, Scores: p.Scores,
		Preferred: p.Preferred, NoTarget: p.NoTarget, Limits: p.Limits,
		PauseBeforeVendorSwitchMS: p.PauseBeforeVendorSwitchMS, AllowContinuation: p.AllowContinuation,
		AllowHedge: p.AllowHedge, Fired: p.Fired, PolicyError: why.String(), BuiltinErrors: p.BuiltinErrors,
		EvalSteps: p.EvalSteps,
	}
}

// recentPlans bounds each of the two generations of good plans that are kept.
const recentPlans = 512

// recent keeps the last good plan of the facts met lately, across snapshots. It
// is safe for concurrent use.
type recent struct {
	mu       sync.Mutex
	new, old map[core.Facts]*core.Plan
}

func (r *recent) put(f *core.Facts, p *core.Plan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.new == nil || len(r.new) >= recentPlans {
		r.new, r.old = make(map[core.Facts]*core.Plan), r.new
	}
	r.new[*f] = p
}

func (r *recent) get(f *core.Facts) *core.Plan {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.new[*f]; p != nil {
		return p
	}
	return r.old[*f]
}
