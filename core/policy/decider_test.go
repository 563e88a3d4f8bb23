package policy_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/policy"
)

func TestANewSnapshotForgets(t *testing.T) {
	t.Parallel()
	p := shipped(t, policy.Options{})
	c, useCases := p.Revision.Catalog, p.Revision.Tables.UseCases
	f := ask()
	old := snapshot(c, useCases)
	before, _ := p.Decider().Decide(old, &f)
	next := snapshot(c, useCases)
	next.Epoch = 2
	next.Targets[1].Circuits[0].State = circuit.Open
	p.Decider().Prepare(next)
	after, memo := p.Decider().Decide(next, &f)
	if memo || after.Steps[0].Target == before.Steps[0].Target {
		t.Errorf("first step %s, memo %v, want another one than %s", after.Steps[0].Target, memo, before.Steps[0].Target)
	}
	if plan, memo := p.Decider().Decide(old, &f); plan != before || !memo {
		t.Error("a request that began under the old snapshot lost its plan")
	}
	if plan, memo := p.Decider().Decide(next, &f); plan != after || !memo {
		t.Error("a look at the old snapshot dropped the new one's plans")
	}
}

func TestEqualRequestsAreEvaluatedOnce(t *testing.T) {
	t.Parallel()
	p := shipped(t, policy.Options{})
	s := snapshot(p.Revision.Catalog, p.Revision.Tables.UseCases)
	f := ask()
	var plans [16]*core.Plan
	var evaluated atomic.Int32
	var wg sync.WaitGroup
	for i := range plans {
		wg.Go(func() {
			mine := f
			plan, memo := p.Decider().Decide(s, &mine)
			plans[i] = plan
			if !memo {
				evaluated.Add(1)
			}
		})
	}
	wg.Wait()
	for _, plan := range plans {
		if plan != plans[0] {
			t.Fatal("concurrent requests of equal facts got different plans")
		}
	}
	if n := evaluated.Load(); n != 1 {
		t.Errorf("%d evaluations, want 1", n)
	}
}

// A full memo forgets and goes on.
func TestMemoIsBounded(t *testing.T) {
	t.Parallel()
	p, ps := build(t, policy.Options{}, map[string]string{"routing.rego": trivialRouting, "routing_test.rego": ""})
	if ps.Failed() {
		t.Fatal(ps)
	}
	s := snapshot(p.Revision.Catalog, p.Revision.Tables.UseCases)
	f := ask()
	for i := range 10_000 {
		f.InputTokens = i
		if _, memo := p.Decider().Decide(s, &f); memo {
			t.Fatalf("facts %d were never met before", i)
		}
	}
	if _, memo := p.Decider().Decide(s, &f); !memo {
		t.Error("the newest plan was forgotten")
	}
}

// trivialRouting takes all targets as they come, except where a test breaks it.
const trivialRouting = `package spillway.routing

plan := {
	"ranked": ids, "excluded": {}, "scores": {}, "preferred": ids[0], "no_target": "",
	"limits": data.config.routing.limits, "pause_before_vendor_switch_ms": 0,
	"allow_continuation": false, "allow_hedge": false,
} if {
	ids := [id | some id, _ in data.targets]
	true # here
}
`

// broken routes as trivialRouting while the world is healthy, and by the body
// when it is degraded.
func broken(t testing.TB, body string, opts policy.Options) *policy.Policy {
	t.Helper()
	text := strings.Replace(trivialRouting, "true # here", `trouble[data.level[input.request.use_case]]`, 1) +
		"\ntrouble[\"healthy\"] := true\n\ntrouble[\"degraded\"] := true if {\n\t" + body + "\n}\n"
	p, ps := build(t, opts, map[string]string{"routing.rego": text, "routing_test.rego": ""})
	if ps.Failed() {
		t.Fatal(ps)
	}
	return p
}

func degraded(s *core.Snapshot) *core.Snapshot {
	d := &core.Snapshot{
		Epoch: s.Epoch + 1, Time: s.Time, Catalog: s.Catalog, UseCases: s.UseCases, Revision: s.Revision,
		Levels: make([]core.Level, len(s.Levels)), Targets: s.Targets,
	}
	for i := range d.Levels {
		d.Levels[i] = core.Degraded
	}
	return d
}

func TestFailureChain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, code string }{
		{"undefined", "input.request.nope", policy.CodeUndefined},
		{"divided by zero", "1 / (input.request.priority - 5) == 1", policy.CodeUndefined},
		{"loops", loops, policy.CodeFuel},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var failures []policy.Failure
			p := broken(t, c.body, policy.Options{OnFailure: func(f policy.Failure) { failures = append(failures, f) }})
			healthy := snapshot(p.Revision.Catalog, p.Revision.Tables.UseCases)
			known, other := ask(), ask()
			other.Task = core.TaskSimple
			good, _ := p.Decider().Decide(healthy, &known)
			bad := degraded(healthy)
			plan, _ := p.Decider().Decide(bad, &known)
			check(t, "known facts", plan, core.SourceLastDecision, c.code)
			if plan.Steps[0].Target != good.Steps[0].Target {
				t.Errorf("first step %s, want the last good plan's %s", plan.Steps[0].Target, good.Steps[0].Target)
			}
			plan, _ = p.Decider().Decide(bad, &other)
			check(t, "other facts", plan, core.SourceSafe, c.code)
			if len(failures) != 2 || failures[0].Code != c.code || failures[0].Revision != p.Revision.ID || failures[0].Row == 0 {
				t.Errorf("failures told: %+v, want two of %s with their place", failures, c.code)
			}
			if again, memo := p.Decider().Decide(bad, &other); again != plan || !memo {
				t.Error("a failure that would repeat itself was evaluated again")
			}
		})
	}
}

// loops needs more than 20,000 steps over eight targets and five use cases.
const loops = `count([x |
		some a, _ in data.targets
		some b, _ in data.targets
		some c, _ in data.targets
		some d, _ in data.targets
		some e, _ in data.targets
		x := concat("", [a, b, c, d, e, input.request.task])
	]) > 0`

func check(t *testing.T, what string, plan *core.Plan, source core.Source, code string) {
	t.Helper()
	if plan.Source != source || !strings.HasPrefix(plan.PolicyError, code+" at routing.rego:") || len(plan.Steps) == 0 {
		t.Errorf("%s: source %s, policy error %q, %d steps, want %s after %s with the place", what, plan.Source,
			plan.PolicyError, len(plan.Steps), source, code)
	}
}

func TestLastGoodRevisionServes(t *testing.T) {
	t.Parallel()
	last := shipped(t, policy.Options{})
	p := broken(t, "input.request.nope", policy.Options{Previous: last})
	f := ask()
	plan, _ := p.Decider().Decide(degraded(snapshot(p.Revision.Catalog, p.Revision.Tables.UseCases)), &f)
	check(t, "plan", plan, core.SourceLastRevision, policy.CodeUndefined)
	if plan.Revision != last.Revision.ID {
		t.Errorf("revision %s, want the previous one %s", plan.Revision, last.Revision.ID)
	}
}

func TestContractViolationsAreNotServed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, old, new, want string }{
		{"unknown target", `"ranked": ids`, `"ranked": ["nope"]`, `"nope", which is no target`},
		{"twice", `"ranked": ids`, `"ranked": array.concat(ids, ids)`, "twice"},
		{"left out", `"ranked": ids`, `"ranked": ["opus"]`, "neither ranked nor excluded"},
		{"empty without a reason", `"ranked": ids`, `"ranked": []`, "no_target"},
		{"both", `"excluded": {}`, `"excluded": {"opus": {"x"}}`, "both ranked and excluded"},
		{"unknown exclusion", `"excluded": {}`, `"excluded": {"nope": {"x"}}`, "no target"},
		{"score not a number", `"scores": {}`, `"scores": {"opus": {"x": "y"}}`, "no number"},
		{"preferred unknown", `"preferred": ids[0]`, `"preferred": "nope"`, "preferred"},
		{"out of range", `"pause_before_vendor_switch_ms": 0`, `"pause_before_vendor_switch_ms": -1`, "not in 0..600000"},
		{"half a millisecond", `"pause_before_vendor_switch_ms": 0`, `"pause_before_vendor_switch_ms": 0.5`, "whole number"},
		{"missing field", `"allow_hedge": false,`, ``, `no field "allow_hedge"`},
		{"unknown field", `"allow_hedge": false,`, `"allow_hedge": false, "allow_all": true,`, "unknown field"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var failed policy.Failure
			text := strings.Replace(trivialRouting, c.old, c.new, 1)
			p, ps := build(t, policy.Options{OnFailure: func(f policy.Failure) { failed = f }},
				map[string]string{"routing.rego": text, "routing_test.rego": ""})
			if ps.Failed() {
				t.Fatal(ps)
			}
			f := ask()
			plan, _ := p.Decider().Decide(snapshot(p.Revision.Catalog, p.Revision.Tables.UseCases), &f)
			check(t, "plan", plan, core.SourceSafe, policy.CodeContract)
			if !strings.Contains(failed.Message, c.want) {
				t.Errorf("message %q, want it to say %q", failed.Message, c.want)
			}
		})
	}
}

// With a clock that jumps at every look an evaluation is late at its second look.
func TestWallClockStopsAnEvaluation(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	var jump atomic.Bool
	p, ps := build(t, policy.Options{Now: func() time.Time {
		if jump.Load() {
			now.Add(int64(60 * time.Millisecond))
		}
		return time.Unix(0, now.Load())
	}}, nil)
	if ps.Failed() {
		t.Fatal(ps)
	}
	s := snapshot(p.Revision.Catalog, p.Revision.Tables.UseCases)
	p.Decider().Prepare(s)
	jump.Store(true)
	f := ask()
	plan, _ := p.Decider().Decide(s, &f)
	check(t, "plan", plan, core.SourceSafe, policy.CodeDeadline)
	jump.Store(false)
	if plan, memo := p.Decider().Decide(s, &f); memo || plan.Source != core.SourceEvaluated {
		t.Errorf("source %s, memo %v: a late evaluation must be tried again", plan.Source, memo)
	}
}

func TestAnEvaluationBeyondStoppingPoisonsTheRevision(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	var jump atomic.Bool
	var told []string
	p, ps := build(t, policy.Options{
		Now: func() time.Time {
			if jump.Load() {
				now.Add(int64(time.Second))
			}
			return time.Unix(0, now.Load())
		},
		OnFailure: func(f policy.Failure) { told = append(told, f.Code) },
	}, nil)
	if ps.Failed() {
		t.Fatal(ps)
	}
	s := snapshot(p.Revision.Catalog, p.Revision.Tables.UseCases)
	p.Decider().Prepare(s)
	jump.Store(true)
	f := ask()
	p.Decider().Decide(s, &f)
	jump.Store(false)
	if !p.Decider().Poisoned() || len(told) == 0 || told[0] != policy.CodePoisoned {
		t.Fatalf("poisoned %v, told %v, want the revision out of service", p.Decider().Poisoned(), told)
	}
	f.Priority++
	plan, _ := p.Decider().Decide(s, &f)
	if plan.Source != core.SourceSafe || plan.PolicyError != policy.CodePoisoned {
		t.Errorf("source %s after %q, want the safe plan of a poisoned revision", plan.Source, plan.PolicyError)
	}
}

// Requests, snapshots and slow evaluations beside each other, for the race detector.
func TestConcurrentSnapshots(t *testing.T) {
	t.Parallel()
	p := shipped(t, policy.Options{Deadline: -1})
	c, useCases := p.Revision.Catalog, p.Revision.Tables.UseCases
	var current atomic.Pointer[core.Snapshot]
	current.Store(snapshot(c, useCases))
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			f := ask()
			for i := range 60 {
				f.InputTokens = 100 * (i%20 + w)
				s := current.Load()
				plan, _ := p.Decider().Decide(s, &f)
				if plan.Source != core.SourceEvaluated || len(plan.Steps)+len(plan.Excluded) != len(c.Targets) {
					t.Errorf("source %s, %d steps", plan.Source, len(plan.Steps))
					return
				}
			}
		})
	}
	for epoch := range 30 {
		next := snapshot(c, useCases)
		next.Epoch = uint64(epoch + 2)
		next.Targets[epoch%8].Circuits[0].State = circuit.Open
		p.Decider().Prepare(next)
		current.Store(next)
	}
	wg.Wait()
}
