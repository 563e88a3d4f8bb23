package policy_test

import (
	"slices"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/policy"
)

// withStandby is the shipped policy over a catalog in which targets are kept in
// reserve.
func withStandby(t *testing.T, ids ...string) *policy.Policy {
	t.Helper()
	c := catalog(t)
	for _, id := range ids {
		i, _ := c.TargetIndex(id)
		c.Targets[i].Labels = map[string]string{"standby": "yes", "team": "core"}
	}
	p, problems := policy.Build(files(nil), c, policy.Options{Deadline: -1})
	if problems.Failed() {
		t.Fatal(problems)
	}
	return p
}

func TestStandby_EqualsTheReference(t *testing.T) {
	t.Parallel()
	equalsReference(t, withStandby(t, "opus", "luna", "sonnet-eu"))
}

func TestStandby_DefaultTables(t *testing.T) {
	t.Parallel()
	p := withStandby(t, "sol")
	defaultsEqual(t, p)
	for u, useCase := range p.Revision.Tables.UseCases {
		s := p.Revision.Tables.Circuits[u][3]
		if s.FailureThreshold != 10 || s.WindowMS != 60_000 || s.MinCalls != 20 || s.OpenForMS != 60_000 {
			t.Errorf("%s: the standby's circuit is %+v", useCase.ID, s)
		}
	}
	if s := p.Revision.Tables.Circuits[0][0]; s.FailureThreshold != 7 || s.OpenForMS != 30_000 {
		t.Errorf("another's circuit is %+v", s)
	}
}

// The compiled-in plan keeps the reserve as the policy does.
func TestStandby_SafePlan(t *testing.T) {
	t.Parallel()
	p := withStandby(t, "opus", "sol")
	open := func(s *core.Snapshot, ids ...string) *core.Snapshot {
		for _, id := range ids {
			i, _ := s.Catalog.TargetIndex(id)
			s.Targets[i].Circuits[0].State = circuit.Open
		}
		return s
	}
	others := []string{"sonnet", "haiku", "luna", "terra", "opus-eu", "sonnet-eu"}
	for name, tc := range map[string]struct {
		open      []string
		target    string
		preferred string
		want      []string
	}{
		"in_reserve":       {nil, "", "sonnet", others},
		"one_other_left":   {others[1:], "", "sonnet", others[:1]},
		"no_other_left":    {others, "", "sonnet", []string{"opus", "sol"}},
		"one_is_out_too":   {append([]string{"opus"}, others...), "", "sonnet", []string{"sol"}},
		"named":            {nil, "sol", "sol", append([]string{"sol"}, others...)},
		"another_is_named": {nil, "haiku", "haiku", []string{"haiku", "sonnet", "luna", "terra", "opus-eu", "sonnet-eu"}},
	} {
		f := ask()
		f.Target = tc.target
		snap := open(snapshot(p.Revision.Catalog, p.Revision.Tables.UseCases), tc.open...)
		plan := core.SafePlan(snap, &f, "")
		var got []string
		for _, s := range plan.Steps {
			got = append(got, s.Target)
		}
		if !slices.Equal(got, tc.want) || plan.Preferred != tc.preferred || len(got)+len(plan.Excluded) != 8 {
			t.Errorf("%s: steps %v, preferred %q, want %v, %q", name, got, plan.Preferred, tc.want, tc.preferred)
		}
		ranked, _ := p.Decider().Decide(snap, &f)
		if byPolicy := len(ranked.Steps); byPolicy != len(tc.want) {
			t.Errorf("%s: the policy ranks %d targets, want %d", name, byPolicy, len(tc.want))
		}
	}
}
