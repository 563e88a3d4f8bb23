package policy

import (
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// canaries decides synthetic requests over synthetic pictures of the world, and
// returns what failed: an evaluation that does not end, two answers for one
// request, a plan against the contract.
func canaries(p *Policy) Problems {
	e := p.decider.engine
	type spot struct {
		code, file string
		row        int
	}
	seen := map[spot]bool{}
	var ps Problems
	for _, snap := range canarySnapshots(p.Revision) {
		picture := e.newPicture(snap)
		for _, f := range canaryFacts(p.Revision) {
			_, failure := e.evaluate(picture, &f)
			if failure == nil {
				continue
			}
			if failure.Code == CodeFuel || failure.Code == CodeDeadline {
				loc := e.program.hottest(e.plan, &evaluation{data: picture.data, input: e.words.facts(&f), virtual: newHoistCache(picture.shared)}, e.limits)
				failure.File, failure.Row, failure.Col = loc.File, loc.Row, loc.Col
			}
			at := spot{failure.Code, failure.File, failure.Row}
			if seen[at] {
				continue
			}
			seen[at] = true
			ps = append(ps, Problem{
				File: failure.File, Row: max(1, failure.Row), Col: max(1, failure.Col), Code: failure.Code, Severity: SeverityError,
				Message: "a request of " + f.UseCase + " (" + string(f.Task) + ", " + string(f.Quality) + "): " + failure.Message,
			})
			// One evaluation that does not end says it: the next ones would take as long.
			if len(ps) >= maxTableProblems || failure.Code == CodeDeadline || failure.Code == CodeFuel {
				return ps
			}
		}
	}
	return ps
}

// canarySnapshots are a healthy world, one with every second target held, and
// one where nothing is left.
func canarySnapshots(r *core.Revision) []*core.Snapshot {
	return []*core.Snapshot{
		canarySnapshot(r, core.Healthy, func(int) bool { return false }),
		canarySnapshot(r, core.Degraded, func(i int) bool { return i%2 == 0 }),
		canarySnapshot(r, core.Unhealthy, func(int) bool { return true }),
	}
}

func canarySnapshot(r *core.Revision, level core.Level, held func(target int) bool) *core.Snapshot {
	s := &core.Snapshot{Epoch: uint64(level + 1), Time: time.Unix(1_800_000_000, 0), Revision: r.ID, Catalog: r.Catalog}
	for _, u := range r.Tables.UseCases {
		s.UseCases, s.Levels = append(s.UseCases, u.ID), append(s.Levels, level)
	}
	for i := range r.Catalog.Targets {
		s.Targets = append(s.Targets, canaryLive(len(s.UseCases), i, level, held(i)))
	}
	return s
}

func canaryLive(useCases, target int, level core.Level, held bool) core.Live {
	l := core.Live{
		SuccessPermille: 1000, P95MS: 1200, FirstContentP95MS: 700, Healthy: !held, CoolingDown: held && target%4 == 0,
		Circuits: make([]core.CircuitLive, useCases),
	}
	if level > core.Healthy {
		l.SuccessPermille, l.P95MS, l.InFlight, l.RequestsPerMinute = 430, 61_000, 40, 900
	}
	for u := range l.Circuits {
		l.Circuits[u].BudgetPermille = 1000 - 500*int(level)
		if held {
			l.Circuits[u].State = circuit.Open
		}
	}
	return l
}

// canaryRounds is how often each task and quality of a use case is met.
const canaryRounds = 2

// canaryFacts are requests that differ in every fact that a policy may read.
func canaryFacts(r *core.Revision) []core.Facts {
	var out []core.Facts
	tasks, qualities := core.Tasks(), core.Qualities()
	for _, u := range r.Tables.UseCases {
		for n := range canaryRounds * len(tasks) * len(qualities) {
			// Steps without a common divisor, so that no two facts move together.
			out = append(out, canaryFact(r.Catalog, u.ID, tasks[n%len(tasks)], qualities[n/len(tasks)%len(qualities)], n+n/len(tasks)))
		}
	}
	return out
}

func canaryFact(c *core.Catalog, useCase string, task core.Task, quality core.Quality, n int) core.Facts {
	f := core.Facts{
		UseCase: useCase, Task: task, Priority: n % 11, Audience: core.Audiences()[n%3], Quality: quality,
		LatencyBudgetMS: []int{core.DefaultLatencyBudgetMS, 1, 120_000}[n%3], InputTokens: []int{2000, 0, 180_000, 2_000_000}[n%4],
		MaxTokens: []int{1000, 0}[n%2], Stream: n%2 == 0, Language: core.Languages()[n%2], TenantClass: "paid",
	}
	if n%5 == 0 {
		t := &c.Targets[n%len(c.Targets)]
		f.Model, f.Target, f.AffinityTarget = t.Model, t.ID, t.ID
	}
	if n%7 == 0 {
		f.Drill, f.ForceFallback = n%2 == 0, n%2 == 1
		f.Needs = core.Needs{Tools: true, Images: true, Documents: true, JSONSchema: true, Thinking: true, Prefill: true}
	}
	return f
}
