package health_test

import (
	"math"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/health"
)

const ms = time.Millisecond

func TestNode_Trial(t *testing.T) {
	t.Parallel()
	// A node failed at 10 s, by a call that began at 5 s, and its rest ended at 15 s.
	setup := func(t *testing.T) *health.Rotation {
		t.Helper()
		r := health.NewRotation([]int{1, 1})
		r.Ended(10*time.Second, 0, health.Call{Begun: 5 * time.Second})
		if got := r.View(10*time.Second, 0); got.State != health.NodeResting || got.RestUntil != 15*time.Second {
			t.Fatalf("got %+v, want a rest until 15 s", got)
		}
		return r
	}
	for name, tc := range map[string]struct {
		act   func(*health.Rotation)
		at    time.Duration
		state health.NodeState
		until time.Duration
	}{
		"rest_is_over": {func(*health.Rotation) {}, 15 * time.Second, health.NodeTrial, 0},
		"answer_to_an_earlier_call": {func(r *health.Rotation) {
			r.Ended(16*time.Second, 0, health.Call{Begun: 9 * time.Second, Answered: true})
		}, 16 * time.Second, health.NodeTrial, 0},
		"answer_to_the_trial": {func(r *health.Rotation) {
			r.Ended(16*time.Second, 0, health.Call{Begun: 15 * time.Second, Answered: true})
		}, 16 * time.Second, health.NodeUp, 0},
		"failure_of_an_earlier_call":   {func(r *health.Rotation) { r.Ended(16*time.Second, 0, health.Call{Begun: 9 * time.Second}) }, 16 * time.Second, health.NodeTrial, 0},
		"failure_of_the_trial":         {func(r *health.Rotation) { r.Ended(16*time.Second, 0, health.Call{Begun: 15 * time.Second}) }, 16 * time.Second, health.NodeResting, 26 * time.Second},
		"failure_side_by_side":         {func(r *health.Rotation) { r.Ended(11*time.Second, 0, health.Call{Begun: 6 * time.Second}) }, 11 * time.Second, health.NodeResting, 15 * time.Second},
		"late_failure_during_the_rest": {func(r *health.Rotation) { r.Ended(12*time.Second, 0, health.Call{Begun: 11 * time.Second}) }, 12 * time.Second, health.NodeResting, 15 * time.Second},
		"sign_of_life_is_no_answer":    {func(r *health.Rotation) { r.Served(16*time.Second, 0) }, 16 * time.Second, health.NodeTrial, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			tc.act(r)
			got := r.View(tc.at, 0)
			if got.State != tc.state || got.RestUntil != tc.until {
				t.Errorf("got %v until %v, want %v until %v", got.State, got.RestUntil, tc.state, tc.until)
			}
		})
	}
}

// A trial whose end nobody reports does not keep its node out for good.
func TestNode_LostTrial(t *testing.T) {
	t.Parallel()
	r := health.NewRotation([]int{1, 1})
	r.Failed(0, 0)
	for _, at := range []time.Duration{5 * time.Second, 15 * time.Second, 25 * time.Second} {
		if got := picks(r, at-ms, 2); got[0] != 0 {
			t.Errorf("at %v: got %v, want none for the node", at-ms, got)
		}
		if got := picks(r, at, 2); got[0] != 1 {
			t.Errorf("at %v: got %v, want one on trial", at, got)
		}
	}
}

// With nothing else, an answer counts whenever its call began.
func TestNode_AnswerWhenAllRest(t *testing.T) {
	t.Parallel()
	r := health.NewRotation([]int{1, 1})
	r.Failed(10*time.Second, 0)
	r.Failed(10*time.Second, 1)
	r.Ended(11*time.Second, 1, health.Call{Begun: time.Second, Answered: true})
	if got := r.View(11*time.Second, 1).State; got != health.NodeUp {
		t.Errorf("got %v, want up", got)
	}
}

func TestRotation_LatencyWeighted(t *testing.T) {
	t.Parallel()
	r := health.NewRotation([]int{5, 3, 2})
	r.SetBalance(health.BalanceLatency)
	if got := picks(r, 0, 3); got[0] != 500 || got[1] != 300 || got[2] != 200 {
		t.Errorf("before any answer: got %v, want the weights", got)
	}
	for i, took := range []time.Duration{100 * ms, 60 * ms, 20 * ms} {
		for range 60 {
			r.Ended(0, i, health.Call{Answered: true, Took: took})
		}
		if got := r.View(0, i).Latency; (got - took).Abs() > ms/100 {
			t.Errorf("node %d: got a latency of %v, want %v", i, got, took)
		}
	}
	// Shares 5·1000/100, 3·1000/60, 2·1000/20 are 50, 50 and 100.
	got := picks(r, 0, 3)
	for i, want := range []int{250, 250, 500} {
		if got[i] < want-1 || got[i] > want+1 {
			t.Errorf("node %d: got %d of 1000, want %d", i, got[i], want)
		}
	}
	r.SetBalance(health.BalanceWeight)
	if got := picks(r, 0, 3); got[0] != 500 {
		t.Errorf("by weight again: got %v", got)
	}
}

func TestNode_LatencyAverage(t *testing.T) {
	t.Parallel()
	r := health.NewRotation([]int{1})
	want := 50.0
	for _, took := range []time.Duration{150 * ms, 10 * ms, 0, 1000 * ms} {
		r.Ended(0, 0, health.Call{Answered: true, Took: took})
		if took > 0 {
			want = 0.7*want + 0.3*float64(took/ms)
		}
		if got := float64(r.View(0, 0).Latency) / float64(ms); math.Abs(got-want) > 1e-5 {
			t.Errorf("after %v: got %v ms, want %v", took, got, want)
		}
	}
	r.Ended(0, 0, health.Call{Took: time.Hour}) // a failure took long: no latency
	if got := float64(r.View(0, 0).Latency) / float64(ms); math.Abs(got-want) > 1e-5 {
		t.Errorf("a failed connection moved the average to %v ms", got)
	}
	for range 100 {
		r.Ended(time.Hour, 0, health.Call{Begun: time.Hour, Answered: true, Took: 1})
	}
	if got := r.View(0, 0).Latency; got != ms {
		t.Errorf("got %v, want the least latency", got)
	}
}

func TestHealthNames(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		health.NodeUp.String(): "up", health.NodeTrial.String(): "trial", health.NodeResting.String(): "resting",
		health.NodeState(9).String(): "unknown", health.BalanceWeight.String(): "weight",
		health.BalanceLatency.String(): "latency", health.ProbeInvalid.String(): "invalid",
		health.ProbeGood.String(): "good", health.ProbeBad.String(): "bad", health.ProbeResult(9).String(): "unknown",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if health.Balance(9).String() != "unknown" {
		t.Error("a balance that is none has a name")
	}
}
