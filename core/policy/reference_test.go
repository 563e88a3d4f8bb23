package policy_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/policy"
)

// reference is the shipped routing policy in Go: R2.1 to R2.5 and R1.7 written
// down a second time, so that neither an edit nor a new OPA changes routing unnoticed.
type reference struct{ snap *core.Snapshot }

type referenced struct {
	index, total, nominal int
	terms                 map[string]int
	reasons               []string
	able                  bool
}

func (r reference) plan(f *core.Facts) (ranked []string, preferred string, rows []referenced) {
	use := r.snap.UseCaseIndex(f.UseCase)
	best := -1
	for i := range r.snap.Targets {
		row := r.row(i, use, f)
		if r.snap.Catalog.Targets[i].Standby() {
			row.nominal -= 500_000
		}
		rows = append(rows, row)
		if row.able && (best < 0 || row.nominal > rows[best].nominal) {
			best = i
		}
	}
	if best >= 0 {
		preferred = r.snap.Catalog.Targets[best].ID
		if f.Drill || f.ForceFallback {
			rows[best].reasons = append(rows[best].reasons, "forced_fallback")
		}
	}
	r.reserve(rows, f)
	order := slices.Clone(rows)
	slices.SortStableFunc(order, func(a, b referenced) int { return cmp.Compare(b.total, a.total) })
	for _, row := range order {
		if len(row.reasons) == 0 {
			ranked = append(ranked, r.snap.Catalog.Targets[row.index].ID)
		}
	}
	return ranked, preferred, rows
}

// reserve keeps standby targets back while another is left.
func (r reference) reserve(rows []referenced, f *core.Facts) {
	standby := func(row referenced) bool { return r.snap.Catalog.Targets[row.index].Standby() }
	if !slices.ContainsFunc(rows, func(row referenced) bool { return len(row.reasons) == 0 && !standby(row) }) {
		return
	}
	for i, row := range rows {
		if standby(row) && r.snap.Catalog.Targets[row.index].ID != f.Target {
			rows[i].reasons = append(row.reasons, "standby")
		}
	}
}

func (r reference) row(i, use int, f *core.Facts) referenced {
	t, l := &r.snap.Catalog.Targets[i], &r.snap.Targets[i]
	row := referenced{index: i, reasons: r.unable(t, f)}
	row.able = len(row.reasons) == 0
	if l.Circuits[use].State == circuit.Open {
		row.reasons = append(row.reasons, "open_circuit")
	}
	if l.CoolingDown {
		row.reasons = append(row.reasons, "cooling_down")
	}
	if !l.Healthy {
		row.reasons = append(row.reasons, "unhealthy")
	}
	wait := l.P95MS
	if f.Stream {
		wait = l.FirstContentP95MS
	}
	prior := map[string]int{"opus": 3000, "sonnet": 1200, "haiku": 500}[t.Family]
	if prior == 0 {
		prior = 1200
	}
	speed := func(ms int) int { return max(0, 25_000-25_000*ms/f.LatencyBudgetMS) }
	row.terms = map[string]int{
		"success": 30 * l.SuccessPermille, "latency": speed(wait), "cost": referenceCost(t, f), "fit": referenceFit(t, f),
		"affinity": 0, "named": 0,
	}
	if f.AffinityTarget == t.ID {
		row.terms["affinity"] = 10_000
	}
	if f.Target == t.ID {
		row.terms["named"] = 1_000_000
	}
	for _, v := range row.terms {
		row.total += v
	}
	row.nominal = row.total - row.terms["success"] - row.terms["latency"] + 30_000 + speed(prior)
	return row
}

func (r reference) unable(t *core.Target, f *core.Facts) []string {
	var why []string
	if f.InputTokens+f.MaxTokens > t.ContextTokens {
		why = append(why, "context_too_small")
	}
	for _, need := range []struct {
		name      string
		want, can bool
	}{
		{"tools", f.Needs.Tools, t.Capabilities.Tools}, {"images", f.Needs.Images, t.Capabilities.Images},
		{"thinking", f.Needs.Thinking, t.Capabilities.Thinking}, {"prefill", f.Needs.Prefill, t.Capabilities.Prefill},
	} {
		if need.want && !need.can {
			why = append(why, "needs_"+need.name)
		}
	}
	return why
}

func referenceCost(t *core.Target, f *core.Facts) int {
	cents := 1_000_000
	if t.Price.Known() {
		cents = int(math.Round(float64(t.Price.Input) / 10_000))
	}
	weight := 15_000
	if f.Quality == core.QualityCost {
		weight = 35_000
	}
	return weight * 100_000 / (100_000 + (f.InputTokens+9)/10*cents)
}

func referenceFit(t *core.Target, f *core.Facts) int {
	fit := map[string]map[core.Task]int{
		"opus":   {core.TaskSimple: 500, core.TaskComplex: 1000, core.TaskCreative: 1000, core.TaskCode: 900},
		"sonnet": {core.TaskSimple: 800, core.TaskComplex: 800, core.TaskCreative: 700, core.TaskCode: 1000},
		"haiku":  {core.TaskSimple: 1000, core.TaskComplex: 400, core.TaskCreative: 300, core.TaskCode: 600},
	}[t.Family]
	if fit == nil {
		return 30 * 500
	}
	return 30 * fit[f.Task]
}

// A change of OPA, of the policy or of the engine's tricks must not change one
// of 400 random decisions.
func TestShippedRoutingEqualsTheReference(t *testing.T) {
	t.Parallel()
	equalsReference(t, shipped(t, policy.Options{}))
}

func equalsReference(t *testing.T, p *policy.Policy) {
	t.Helper()
	c := p.Revision.Catalog
	r := rand.New(rand.NewPCG(20261130, 1))
	empty := 0
	for i := range 400 {
		snap := shaken(r, c, p.Revision.Tables.UseCases, uint64(i/10+1))
		f := asked(r, c)
		ranked, preferred, rows := reference{snap}.plan(&f)
		plan, _ := p.Decider().Decide(snap, &f)
		if plan.Source != core.SourceEvaluated || plan.PolicyError != "" || len(plan.BuiltinErrors) > 0 {
			t.Fatalf("request %d: source %s, %s, %v", i, plan.Source, plan.PolicyError, plan.BuiltinErrors)
		}
		compare(t, i, plan, ranked, preferred, rows)
		if len(ranked) == 0 {
			empty++
		}
	}
	if empty == 0 || empty > 200 {
		t.Errorf("%d of 400 requests have no target: the requests are not what they should be", empty)
	}
}

func compare(t *testing.T, request int, plan *core.Plan, ranked []string, preferred string, rows []referenced) {
	t.Helper()
	name := "request " + strconv.Itoa(request)
	var got []string
	for _, s := range plan.Steps {
		got = append(got, s.Target)
	}
	if !slices.Equal(got, ranked) || plan.Preferred != preferred {
		t.Fatalf("%s: ranked %v, preferred %q, want %v, %q", name, got, plan.Preferred, ranked, preferred)
	}
	excluded := 0
	for _, row := range rows {
		if len(row.reasons) == 0 {
			continue
		}
		slices.Sort(row.reasons)
		if e := plan.Excluded[excluded]; !slices.Equal(e.Reasons, row.reasons) {
			t.Fatalf("%s: %s is excluded for %v, want %v", name, e.Target, e.Reasons, row.reasons)
		}
		excluded++
	}
	for i, s := range plan.Scores {
		terms := map[string]int{}
		for _, term := range s.Terms {
			terms[term.Name] = int(term.Value)
		}
		want := rows[plan.Steps[i].Index]
		if !reflect.DeepEqual(terms, want.terms) || int(s.Total) != want.total {
			t.Fatalf("%s: score of %s is %v, want %v", name, s.Target, terms, want.terms)
		}
	}
	if len(plan.Scores) != len(plan.Steps) {
		t.Fatalf("%s: %d scores of %d steps", name, len(plan.Scores), len(plan.Steps))
	}
}

func TestScoreOfTheSource(t *testing.T) {
	t.Parallel()
	p := shipped(t, policy.Options{})
	f := ask()
	plan, _ := p.Decider().Decide(snapshot(p.Revision.Catalog, p.Revision.Tables.UseCases), &f)
	if plan.Steps[0].Target != "sonnet" || plan.Scores[0].Total != 88_375 {
		t.Errorf("%s has %d, want sonnet with 88375", plan.Steps[0].Target, plan.Scores[0].Total)
	}
	if plan.Steps[0].FirstContentMS != 30_000 || plan.Steps[1].FirstContentMS != 15_000 || plan.Steps[1].IdleMS != 30_000 {
		t.Errorf("steps %+v, want 30 s, then 15 s to first content, and 30 s of silence", plan.Steps[:2])
	}
	if plan.Limits != core.DefaultLimits() {
		t.Errorf("limits %+v, want the default ones", plan.Limits)
	}
	if !slices.Contains(plan.Fired, "routing.scored") || plan.EvalSteps == 0 {
		t.Errorf("fired %v in %d steps, want the labels of the rules and their steps", plan.Fired, plan.EvalSteps)
	}
}
