//go:build !race

package policy_test

import (
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/policy"
)

func TestMemoHitCostsNoAllocation(t *testing.T) {
	p := shipped(t, policy.Options{})
	s := snapshot(p.Revision.Catalog, p.Revision.Tables.UseCases)
	f := ask()
	first, memo := p.Decider().Decide(s, &f)
	if memo {
		t.Fatal("the first decision was remembered")
	}
	again := f
	plan, memo := p.Decider().Decide(s, &again)
	if plan != first || !memo || plan.Source != core.SourceEvaluated {
		t.Errorf("plan %p of source %s, memo %v, want the first one %p", plan, plan.Source, memo, first)
	}
	if n := testing.AllocsPerRun(200, func() { p.Decider().Decide(s, &again) }); n != 0 {
		t.Errorf("%v allocations for a remembered decision, want 0", n)
	}
}

func TestDecideAllocations(t *testing.T) {
	p := shipped(t, policy.Options{})
	s := snapshot(p.Revision.Catalog, p.Revision.Tables.UseCases)
	f := ask()
	n := testing.AllocsPerRun(50, func() {
		f.Priority++ // facts that no memo knows
		p.Decider().Decide(s, &f)
	})
	if n > 1200 {
		t.Errorf("%v allocations for an evaluated decision over eight targets, want at most 1200", n)
	}
}
