package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core/simulate"
)

// TestCompare_Repeats holds that the same seed gives the same bytes, ten times
// of ten, on one processor and on two. Not parallel: it sets GOMAXPROCS.
func TestCompare_Repeats(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	repeat := func(s *simulate.Scenario, times int, contenders func() []simulate.Contender) {
		first := ""
		for i := range times {
			runtime.GOMAXPROCS(1 + i%2)
			got := written(t, compare(t, s, simulate.Options{}, contenders()...))
			if first == "" {
				first = got
			}
			if got != first {
				t.Errorf("%s: run %d differs from the first", s.Name, i+1)
			}
		}
	}
	times := 10
	if raced {
		times = 2
	}
	s := parsed(t, stormy)
	repeat(s, times, func() []simulate.Contender { return []simulate.Contender{simulate.Whole("shipped", shipped(t, s))} })
	repeat(s, 10, func() []simulate.Contender { return three(t, s, plain) })
	for _, s := range shippedScenarios(t) {
		if !raced {
			repeat(s, 2, func() []simulate.Contender { return three(t, s, plain) })
		}
	}
}

// shippedScenarios are those that ship, with a tenth of their traffic.
func shippedScenarios(t testing.TB) []*simulate.Scenario {
	t.Helper()
	var all []*simulate.Scenario
	for _, name := range simulate.Names() {
		s, err := simulate.Shipped(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Traffic {
			for j := range s.Traffic[i].Rate {
				s.Traffic[i].Rate[j].PerS /= 10
			}
		}
		all = append(all, s)
	}
	return all
}

func TestCompare_SeedMatters(t *testing.T) {
	t.Parallel()
	s := parsed(t, stormy)
	one := written(t, compare(t, s, simulate.Options{}, simulate.Whole("shipped", plain(t, s))))
	same := written(t, compare(t, s, simulate.Options{Seed: 7}, simulate.Whole("shipped", plain(t, s))))
	other := written(t, compare(t, s, simulate.Options{Seed: 8}, simulate.Whole("shipped", plain(t, s))))
	if one != same || one == other {
		t.Errorf("the scenario's own seed gave another result (%v), or another seed the same (%v)", one != same, one == other)
	}
}

// A contender's row does not depend on who runs beside it.
func TestCompare_RowsStandAlone(t *testing.T) {
	t.Parallel()
	s := parsed(t, stormy)
	together := compare(t, s, simulate.Options{}, three(t, s, plain)...)
	for i, c := range three(t, s, plain) {
		alone := compare(t, s, simulate.Options{}, c)
		if got, want := indented(t, together.Results[i]), indented(t, alone.Results[0]); got != want {
			t.Errorf("%s: beside others\n%s\nalone\n%s", c.Name, got, want)
		}
	}
}

func TestCompare_FiguresAddUp(t *testing.T) {
	t.Parallel()
	s := parsed(t, stormy)
	r := compare(t, s, simulate.Options{}, three(t, s, plain)...)
	for _, x := range r.Results {
		if x.Requests != r.Results[0].Requests || x.Requests < 200 {
			t.Errorf("%s: %d requests; every row must meet the same", x.Name, x.Requests)
		}
		var sum, lost, calls, parts, losses int
		for _, b := range x.Series {
			sum, lost, calls = sum+b.Requests, lost+b.Lost, calls+b.Calls
		}
		for _, p := range x.UseCases {
			parts += p.Answered + p.Refused + p.Failed
		}
		for _, l := range x.Losses {
			losses += l.Count
		}
		all := []int{x.Answered + x.Refused + x.Failed, sum, parts}
		if all[0] != x.Requests || sum != x.Requests || parts != x.Requests || calls != x.Calls {
			t.Errorf("%s: %d requests and %d calls, but %v and %d", x.Name, x.Requests, x.Calls, all, calls)
		}
		if lost != x.Refused+x.Failed || losses != lost || lost == 0 {
			t.Errorf("%s: lost %d, by time %d, by kind %d", x.Name, x.Refused+x.Failed, lost, losses)
		}
		if got, want := fmt.Sprintf("%.3f", x.LossPercent), fmt.Sprintf("%.3f", 100*float64(lost)/float64(x.Requests)); got != want {
			t.Errorf("%s: loss %s %%, want %s", x.Name, got, want)
		}
		if x.P50MS <= 0 || x.P95MS <= x.P50MS || x.FirstContentP50MS >= x.P50MS || !x.CostKnown || x.CostUSD <= 0 {
			t.Errorf("%s: implausible %s", x.Name, indented(t, x))
		}
		if x.Timing != (simulate.Timing{Plans: x.Timing.Plans, Snapshots: x.Timing.Snapshots}) || x.Timing.Plans == 0 {
			t.Errorf("%s: timing without a stopwatch: %+v", x.Name, x.Timing)
		}
	}
}

func TestContenders(t *testing.T) {
	t.Parallel()
	s := parsed(t, changed(t, `"overloaded": 0.1`, `"overloaded": 0.7`))
	rev := plain(t, s)
	for u := range rev.Tables.Budgets {
		for i := range rev.Tables.Budgets[u] {
			rev.Tables.Budgets[u][i].Capacity = 3
		}
	}
	r := compare(t, s, simulate.Options{}, simulate.CircuitOnly(rev), simulate.BudgetOnly(rev), simulate.Whole("shipped", rev))
	circuitOnly, budgetOnly := r.Results[0], r.Results[1]
	if circuitOnly.RetriesDenied != 0 || circuitOnly.Retries == 0 {
		t.Errorf("without budgets: %d retries, %d denied", circuitOnly.Retries, circuitOnly.RetriesDenied)
	}
	if budgetOnly.RetriesDenied == 0 {
		t.Error("a budget of three tokens denied nothing")
	}
	open := func(x simulate.Result) bool {
		return strings.Contains(indented(t, x.Circuits), "#")
	}
	if !open(circuitOnly) || !open(budgetOnly) {
		t.Error("no circuit opened; held ones go on computing")
	}
	if budgetOnly.Calls <= circuitOnly.Calls {
		t.Errorf("%d calls past the circuits, %d with them", budgetOnly.Calls, circuitOnly.Calls)
	}
	if rev.Tables.Budgets[0][0].Capacity != 3 {
		t.Error("a contender changed the revision that it was made of")
	}
}

func TestCompare_Refuses(t *testing.T) {
	t.Parallel()
	s, o := parsed(t, stormy), simulate.Options{}
	foreign := parsed(t, changed(t, `"id": "eu", "region"`, `"id": "eu-west", "region"`))
	seedless := *s
	seedless.Seed = 0
	unknown := parsed(t, changed(t, `"use_case": "batch"`, `"use_case": "night"`))
	for _, c := range []struct {
		name       string
		scenario   *simulate.Scenario
		contenders []simulate.Contender
		want       string
	}{
		{"nobody", s, nil, "there is none"},
		{"no_seed", &seedless, three(t, s, plain), "seed: must not be 0"},
		{"no_revision", s, []simulate.Contender{{Name: "x"}}, `with "x": no revision`},
		{"other_catalog", s, []simulate.Contender{simulate.Whole("x", plain(t, foreign))}, "another catalog"},
		{"use_case", unknown, []simulate.Contender{simulate.Whole("x", plain(t, unknown))}, `traffic[1].use_case: the policies know no "night"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := simulate.Compare(t.Context(), c.scenario, c.contenders, o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := simulate.Compare(ended, s, three(t, s, plain), o); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

// whole is a scenario that ships, in full; it takes seconds.
func whole(t *testing.T, name string) *simulate.Scenario {
	t.Helper()
	if raced || testing.Short() {
		t.Skip("takes minutes under the race detector, which the smaller scenarios go through as well")
	}
	s, err := simulate.Shipped(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCompare_FleetWide529 holds what its text says of the trade: the shipped
// policies are neither in loss nor in calls worse than both halves of them.
func TestCompare_FleetWide529(t *testing.T) {
	t.Parallel()
	s := whole(t, "fleet-wide-529")
	r := compare(t, s, simulate.Options{}, three(t, s, shipped)...)
	circuit, budget, both := r.Results[0], r.Results[1], r.Results[2]
	for _, x := range r.Results {
		t.Logf("%-12s loss %.2f %%, amplification %.3f", x.Name, x.LossPercent, x.Amplification)
	}
	if both.LossPercent > max(circuit.LossPercent, budget.LossPercent) || both.Amplification > max(circuit.Amplification, budget.Amplification) {
		t.Error("shipped is worse than both")
	}
	if circuit.Amplification >= 1 || budget.Amplification <= 1 || budget.LossPercent >= circuit.LossPercent || budget.Refused != 0 {
		t.Error("few calls or few losses: the trade that the text explains is not there")
	}
}

func TestCompare_RegionalOutage(t *testing.T) {
	t.Parallel()
	s := whole(t, "regional-outage")
	x := compare(t, s, simulate.Options{}, simulate.Whole("shipped", shipped(t, s))).Results[0]
	if len(x.Departures) != 1 {
		t.Fatalf("departures %+v", x.Departures)
	}
	d := x.Departures[0]
	t.Logf("left after %d s, availability %.3f %%", d.AfterS, x.AvailabilityPercent)
	if !d.Left || d.AfterS > 30 {
		t.Errorf("traffic had not left the dead region within 30 s: %+v", d)
	}
	if x.AvailabilityPercent < 99.95 {
		t.Errorf("availability %.3f %%", x.AvailabilityPercent)
	}
}
