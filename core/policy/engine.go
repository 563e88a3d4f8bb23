package policy

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/spillway-llm/spillway/core"
)

// engine evaluates the routing of one revision over one catalog. It is safe
// for concurrent use.
type engine struct {
	revision string
	catalog  *core.Catalog
	program  *program
	plan     *query
	hoists   []hoist
	words    *vocabulary
	fixed    fixed
	limits   limits

	mu       sync.Mutex // held while a picture is made
	pictures atomic.Pointer[pictures]
	poisoned atomic.Bool
	running  running
}

// pictures are the newest snapshot and the one before it, which requests that
// began earlier may still hold.
type pictures struct{ current, previous *picture }

// limits bound every evaluation of an engine.
type limits struct {
	steps    int
	deadline time.Duration
	now      func() time.Time
}

func newEngine(revision string, c *core.Catalog, p *program, config *ast.Term, l limits) *engine {
	e := &engine{revision: revision, catalog: c, program: p, words: newVocabulary(c), limits: l}
	entry := ast.MustParseRef("data." + entryRouting)
	e.plan = p.queries[entryRouting]
	hoists, keyed := p.hoists(entry)
	e.hoists = hoists
	if len(keyed) > 0 {
		if warm, err := p.query(entry, keyed...); err == nil {
			warm.rule = e.plan.rule
			e.plan = warm
		}
	}
	e.fixed = e.newFixed(config)
	return e
}

// picture returns the snapshot made ready, and makes it ready if nobody did.
func (e *engine) picture(snap *core.Snapshot) *picture {
	if p := e.pictures.Load().find(snap); p != nil {
		return p
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	have := e.pictures.Load()
	if p := have.find(snap); p != nil {
		return p
	}
	p := e.newPicture(snap)
	next := &pictures{current: p}
	if have != nil {
		next.previous = have.current
		if snap.Epoch < have.current.snap.Epoch {
			next.current, next.previous = have.current, p
		}
	}
	e.pictures.Store(next)
	return p
}

func (ps *pictures) find(snap *core.Snapshot) *picture {
	switch {
	case ps == nil:
		return nil
	case ps.current.snap == snap:
		return ps.current
	case ps.previous != nil && ps.previous.snap == snap:
		return ps.previous
	}
	return nil
}

// Failure is an evaluation that gave no usable plan.
type Failure struct {
	Revision string
	// Code is one of the Code constants; File, Row and Col name the place as far
	// as it is known.
	Code     string
	Message  string
	File     string
	Row, Col int
	Steps    int
	Elapsed  time.Duration
}

// String is the failure as a stable code with its place, for Plan.PolicyError.
func (f *Failure) String() string {
	if f.File == "" {
		return f.Code
	}
	return fmt.Sprintf("%s at %s:%d:%d", f.Code, f.File, f.Row, f.Col)
}

func (e *engine) failure(code, message string, loc *ast.Location, m *meter) *Failure {
	f := &Failure{Revision: e.revision, Code: code, Message: message, Steps: m.steps}
	if loc == nil || loc.File == "" {
		loc = e.plan.rule
	}
	if loc != nil {
		f.File, f.Row, f.Col = loc.File, loc.Row, loc.Col
	}
	if m.deadline > 0 {
		f.Elapsed = m.now().Sub(m.began)
	}
	return f
}

// evaluate asks the policy for a plan.
func (e *engine) evaluate(p *picture, f *core.Facts) (*core.Plan, *Failure) {
	m := e.limits.meter(e.limits.steps)
	e.running.begin(m)
	defer e.running.end(m)
	ev := evaluation{
		data: p.data, input: e.words.facts(f), virtual: newHoistCache(p.shared), meter: m,
		labels: &topdown.EvaluatedRuleTracker{},
	}
	answer, err := e.program.run(e.plan, &ev)
	switch {
	case err != nil:
		return nil, e.failure(evaluationCode(err, m), evaluationMessage(err, m), evaluationPlace(err), m)
	case answer == nil:
		code, message, loc := CodeUndefined, "the plan is undefined for these facts", (*ast.Location)(nil)
		if len(ev.errs) > 0 {
			message, loc = message+": "+ev.errs[0].Code, ev.errs[0].Location
		}
		return nil, e.failure(code, message, loc, m)
	}
	plan, err := decodePlan(answer, e.catalog, e.words)
	if err != nil {
		return nil, e.failure(CodeContract, err.Error(), nil, m)
	}
	plan.Revision, plan.Source, plan.EvalSteps = e.revision, core.SourceEvaluated, m.steps
	plan.Fired = firedLabels(ev.labels)
	for _, b := range ev.errs {
		plan.BuiltinErrors = append(plan.BuiltinErrors, builtinError(&b))
	}
	return plan, nil
}

func evaluationMessage(err error, m *meter) string {
	switch {
	case topdown.IsCancel(err) && m.exhausted():
		return fmt.Sprintf("stopped after %d steps", m.limit)
	case topdown.IsCancel(err):
		return fmt.Sprintf("stopped after %v", m.deadline)
	case errors.Is(err, errPanic):
		return err.Error()
	}
	var e *topdown.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return "evaluation failed"
}

// builtinError is a built-in's error by code and place: its text may quote data.
func builtinError(e *topdown.Error) string {
	if e.Location == nil {
		return e.Code
	}
	return fmt.Sprintf("%s at %s:%d:%d", e.Code, e.Location.File, e.Location.Row, e.Location.Col)
}

func firedLabels(t *topdown.EvaluatedRuleTracker) []string {
	ids := make([]string, 0, len(t.Labels))
	for _, labels := range t.Labels {
		if id, ok := labels["id"].(string); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// running knows the evaluations under way, so that one that can't be stopped is
// noticed while it runs. Only evaluations touch it, never a remembered plan.
type running struct {
	mu     sync.Mutex
	meters []*meter
}

func (r *running) begin(m *meter) {
	r.mu.Lock()
	r.meters = append(r.meters, m)
	r.mu.Unlock()
}

func (r *running) end(m *meter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, x := range r.meters {
		if x == m {
			last := len(r.meters) - 1
			r.meters[i], r.meters[last] = r.meters[last], nil
			r.meters = r.meters[:last]
			return
		}
	}
}

// overdue returns the longest time that an evaluation has been running if that
// is beyond stopping, otherwise 0.
func (r *running) overdue(l limits) time.Duration {
	if l.deadline == 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	most := time.Duration(0)
	for _, m := range r.meters {
		most = max(most, l.now().Sub(m.began))
	}
	if most < poisonAfter*l.deadline {
		return 0
	}
	return most
}
