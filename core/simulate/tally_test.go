package simulate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// quiet is a scenario of a hundred seconds with one dead phase.
func quiet() *Scenario {
	return &Scenario{
		DurationS: 100, Targets: []Target{{ID: "a"}, {ID: "b"}}, Traffic: []Traffic{{UseCase: "assistant"}, {UseCase: "batch"}, {UseCase: "assistant"}},
		Phases: []Phase{{Name: "alive", ToS: 100}, {Name: "dead", FromS: 20, ToS: 60, Dead: true}},
	}
}

// calls are one call a tenth of a second; dead says for each second how many of
// its ten meet the dead phase.
func calls(dead func(second int) int) []call {
	var all []call
	for i := range 1000 {
		c := call{at: time.Duration(i) * 100 * time.Millisecond, dead: -1}
		if i%10 < dead(i/10) {
			c.dead = 1
		}
		all = append(all, c)
	}
	return all
}

func TestTally_Departures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		dead func(second int) int
		want Leaving
	}{
		{"never_went", func(int) int { return 0 }, Leaving{Left: true, AfterS: 1}},
		{"left_at_once", func(s int) int { return map[int]int{20: 1}[s] }, Leaving{Left: true, AfterS: 2}},
		// 50 dead calls of the first five seconds; 5 % of a hundred are left when
		// the window holds half a second of them.
		{"left_after_five_seconds", func(s int) int {
			if s < 25 {
				return 10
			}
			return 0
		}, Leaving{Left: true, AfterS: 15}},
		{"tries_again", func(s int) int {
			if s < 22 || s == 50 {
				return 10
			}
			return 0
		}, Leaving{Left: true, AfterS: 12, LaterCalls: 10, LaterPercent: 3.571}},
		{"never_left", func(int) int { return 1 }, Leaving{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ta := newTally(quiet())
			for _, x := range calls(c.dead) {
				ta.call(x.at, x.dead)
			}
			c.want.Phase = "dead"
			if got := ta.departures(); len(got) != 1 || got[0] != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestTally_Circuits(t *testing.T) {
	t.Parallel()
	ta := newTally(quiet())
	change := func(second float64, useCase, target string, from, to circuit.State, cause string) {
		ta.Record(&core.Transition{At: start().Add(duration(second)), UseCase: useCase, Target: target, From: from, To: to, Cause: cause})
	}
	change(10.5, "batch", "b", circuit.Closed, circuit.Open, "overloaded")
	change(20, "assistant", "a", circuit.Closed, circuit.Open, "connect")
	change(40, "batch", "b", circuit.Open, circuit.HalfOpen, "time")
	change(40.25, "batch", "b", circuit.HalfOpen, circuit.Closed, "probes")
	change(50, "assistant", "a", circuit.Open, circuit.HalfOpen, "time")
	change(150, "assistant", "a", circuit.HalfOpen, circuit.Open, "connect")
	r := ta.result(Contender{Name: "x", Revision: &core.Revision{ID: "r"}})
	want := []Strip{
		{"assistant", "a", strings.Repeat(".", 20) + strings.Repeat("#", 31) + strings.Repeat("o", 48) + "#"},
		{"batch", "b", strings.Repeat(".", 10) + strings.Repeat("#", 31) + strings.Repeat(".", 59)},
	}
	if fmt.Sprint(r.Circuits) != fmt.Sprint(want) {
		t.Errorf("got\n%v\nwant\n%v", r.Circuits, want)
	}
	if len(r.Timeline) != 6 || r.Timeline[3] != (Change{40.25, "batch", "b", "half_open", "closed", "probes"}) {
		t.Errorf("timeline %+v", r.Timeline)
	}
}

func TestTally_Decisions(t *testing.T) {
	t.Parallel()
	ta := newTally(quiet())
	at := func(second float64) time.Time { return start().Add(duration(second)) }
	tries := func(steps ...int) []core.AttemptRecord {
		var all []core.AttemptRecord
		for _, s := range steps {
			all = append(all, core.AttemptRecord{Step: s})
		}
		return all
	}
	for _, d := range []core.Decision{
		{At: at(1), Facts: core.Facts{UseCase: "assistant"}, Attempts: tries(0), Duration: 2 * time.Second, FirstContent: time.Second, Cost: 2e12, CostKnown: true},
		{At: at(1), Facts: core.Facts{UseCase: "batch"}, Attempts: tries(0, 0, 0, 1), Outcome: core.KindOverloaded, Cost: 1e12, CostKnown: true},
		{At: at(99), Facts: core.Facts{UseCase: "batch"}, Outcome: core.KindNoTarget, Skips: []core.Skip{{Kind: core.KindOpenCircuit}}},
		{At: at(100), Facts: core.Facts{UseCase: "batch"}, Attempts: tries(0), Outcome: core.KindOverloaded, CostKnown: true, Skips: []core.Skip{{Kind: core.KindBudgetEmpty}}},
	} {
		ta.Record(&d)
	}
	r := ta.result(Contender{Revision: &core.Revision{}})
	if r.Requests != 4 || r.Answered != 1 || r.Failed != 2 || r.Refused != 1 || r.LossPercent != 75 || r.AvailabilityPercent != 25 {
		t.Errorf("requests: %+v", r)
	}
	if r.Calls != 6 || r.Amplification != 1.5 || r.Retries != 2 || r.RetriesDenied != 1 {
		t.Errorf("calls %d, %v a request, %d retries, %d denied", r.Calls, r.Amplification, r.Retries, r.RetriesDenied)
	}
	if r.CostUSD != 3 || !r.CostKnown || r.P50MS != 2000 || r.P95MS != 2000 || r.FirstContentP50MS != 1000 {
		t.Errorf("cost %v %v, p50 %v, p95 %v, first %v", r.CostUSD, r.CostKnown, r.P50MS, r.P95MS, r.FirstContentP50MS)
	}
	if fmt.Sprint(r.UseCases) != "[{assistant 1 1 0 0} {batch 3 0 1 2}]" || fmt.Sprint(r.Losses) != "[{overloaded 2} {no_target 1}]" {
		t.Errorf("use cases %v, losses %v", r.UseCases, r.Losses)
	}
	if r.Series[1] != (Bucket{2, 1, 5}) || r.Series[99] != (Bucket{2, 2, 1}) {
		t.Errorf("series %v", r.Series)
	}
	ta.Record(&core.Decision{At: at(5), Facts: core.Facts{UseCase: "assistant"}, Attempts: tries(0)})
	if r := ta.result(Contender{Revision: &core.Revision{}}); r.CostKnown {
		t.Error("one cost that is not known leaves the sum known")
	}
}

func TestTally_Empty(t *testing.T) {
	t.Parallel()
	r := newTally(quiet()).result(Contender{Revision: &core.Revision{}})
	if r.Requests != 0 || r.LossPercent != 0 || r.Amplification != 0 || r.P95MS != 0 || len(r.Circuits) != 0 || r.Losses == nil {
		t.Errorf("nothing happened: %+v", r)
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(i+1)*time.Millisecond)
	}
	for _, c := range []struct {
		sorted []time.Duration
		p      int
		want   float64
	}{
		{hundred, 50, 50}, {hundred, 95, 95}, {hundred[:1], 95, 1}, {hundred[:19], 95, 19}, {hundred[:20], 95, 19}, {nil, 50, 0},
	} {
		if got := percentile(c.sorted, c.p); got != c.want {
			t.Errorf("percentile %d of %d: got %v, want %v", c.p, len(c.sorted), got, c.want)
		}
	}
}
