package circuit_test

import (
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
)

// halfOpen returns a circuit that has just become half-open.
func halfOpen(t *testing.T, edit func(*circuit.Settings)) *rig {
	t.Helper()
	r := setup(t, edit)
	r.open()
	r.now = 30 * time.Second
	if _, ok := r.c.Advance(r.now); !ok {
		t.Fatal("not half-open in time")
	}
	return r
}

func TestHalfOpen_Permits(t *testing.T) {
	t.Parallel()
	r := halfOpen(t, func(s *circuit.Settings) { s.HalfOpenPermits, s.SuccessThreshold = 4, 10 })
	probes := []*circuit.Permit{r.take(), r.take(), r.take(), r.take()}
	r.refused(0)
	r.refused(0)
	if got := r.c.View(r.now).Probes; got != 4 {
		t.Errorf("got %d probes, want 4", got)
	}
	for _, o := range []circuit.Outcome{neutral, answer, succeed} {
		probes[0].Done(r.now, o, "")
		probes[0] = r.take()
		r.refused(0)
	}
}

func TestHalfOpen_Verdict(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		outcomes []circuit.Outcome
		want     circuit.State
	}{
		"one_success_is_not_enough":     {[]circuit.Outcome{succeed}, circuit.HalfOpen},
		"two_successes_close":           {[]circuit.Outcome{succeed, succeed}, circuit.Closed},
		"callers_mistakes_close":        {[]circuit.Outcome{answer, answer}, circuit.Closed},
		"one_failure_opens":             {[]circuit.Outcome{fail}, circuit.Open},
		"failure_after_success_opens":   {[]circuit.Outcome{succeed, fail}, circuit.Open},
		"neutral_is_no_verdict":         {repeat(20, neutral), circuit.HalfOpen},
		"neutral_between_two_successes": {[]circuit.Outcome{succeed, neutral, neutral, succeed}, circuit.Closed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := halfOpen(t, nil)
			r.call(tc.outcomes...)
			r.state(tc.want)
		})
	}
}

func TestHalfOpen_TransitionsCarryTheProbesVotes(t *testing.T) {
	t.Parallel()
	r := halfOpen(t, nil)
	r.call(succeed)
	got := r.call(fail)
	want := circuit.Transition{
		From: circuit.HalfOpen, To: circuit.Open, At: r.now, Cause: "server_error",
		Failures: 1, Calls: 2, Opens: 2, OpenUntil: 90 * time.Second,
	}
	if got != want {
		t.Errorf("reopened: got %+v, want %+v", got, want)
	}
	r.now = 90 * time.Second
	got = r.call(succeed, succeed)
	want = circuit.Transition{
		From: circuit.HalfOpen, To: circuit.Closed, At: r.now, Cause: circuit.CauseProbes, Calls: 2, Opens: 2,
	}
	if got != want {
		t.Errorf("closed: got %+v, want %+v", got, want)
	}
}

func TestHalfOpen_ClosesWithFreshMetrics(t *testing.T) {
	t.Parallel()
	r := halfOpen(t, nil)
	r.call(succeed, succeed)
	if v := r.c.View(r.now); v.Calls != 0 || v.Failures != 0 || v.Consecutive != 0 || v.Cause != "" {
		t.Errorf("got %+v, want an empty window", v)
	}
	r.call(fail, fail, fail, fail)
	r.state(circuit.Closed)
	r.call(fail)
	r.state(circuit.Open)
}

func TestHalfOpen_LostProbe(t *testing.T) {
	t.Parallel()
	r := halfOpen(t, func(s *circuit.Settings) { s.HalfOpenPermits, s.SuccessThreshold, s.LeaseMS = 1, 1, 10_000 })
	lost := r.take()
	r.now += 10*time.Second - 1
	r.refused(0)
	r.now++
	if got := r.c.View(r.now).Probes; got != 0 {
		t.Errorf("got %d running probes after the lease, want 0", got)
	}
	next := r.take()
	r.refused(0) // exactly one new probe

	if _, moved := lost.FirstContent(r.now); moved {
		t.Error("the lost probe's first content voted")
	}
	if _, moved := lost.Done(r.now, fail, "connect"); moved {
		t.Error("the lost probe's late failure voted")
	}
	r.refused(0) // nor did it give back what is the new probe's
	next.Done(r.now, succeed, "")
	r.state(circuit.Closed)
}

func TestHalfOpen_FirstContentVotes(t *testing.T) {
	t.Parallel()
	t.Run("once", func(t *testing.T) {
		t.Parallel()
		r := halfOpen(t, nil)
		p := r.take()
		for range 3 {
			p.FirstContent(r.now)
		}
		p.Done(r.now, succeed, "")
		r.state(circuit.HalfOpen)
		if v := r.c.View(r.now); v.Calls != 1 || v.Probes != 0 {
			t.Errorf("got %d votes and %d probes, want 1 and 0", v.Calls, v.Probes)
		}
	})
	t.Run("closes_while_streams_run", func(t *testing.T) {
		t.Parallel()
		r := halfOpen(t, nil)
		a, b := r.take(), r.take()
		a.FirstContent(r.now)
		got, moved := b.FirstContent(r.now)
		if !moved || got.To != circuit.Closed {
			t.Fatalf("got %+v, want closed at the second first content", got)
		}
		r.now += time.Second
		a.Done(r.now, succeed, "")
		if v := r.c.View(r.now); v.Calls != 0 {
			t.Errorf("the end of a probe that voted was counted again: %d calls", v.Calls)
		}
		b.Done(r.now, fail, "stream_cut")
		r.state(circuit.Closed)
		if v := r.c.View(r.now); v.Failures != 1 || v.Consecutive != 1 {
			t.Errorf("the cut is not an ordinary failure: %+v", v)
		}
	})
	t.Run("cut_before_the_verdict_opens", func(t *testing.T) {
		t.Parallel()
		r := halfOpen(t, nil)
		p := r.take()
		p.FirstContent(r.now)
		if got, moved := p.Done(r.now, fail, "stream_cut"); !moved || got.To != circuit.Open {
			t.Errorf("got %+v, %v, want open", got, moved)
		}
	})
	t.Run("seat_is_kept_until_the_end", func(t *testing.T) {
		t.Parallel()
		r := halfOpen(t, func(s *circuit.Settings) { s.HalfOpenPermits = 1 })
		p := r.take()
		p.FirstContent(r.now)
		r.refused(0)
		p.Done(r.now, neutral, "")
		r.call(succeed)
		r.state(circuit.Closed)
	})
}

// A probe that voted and is cut after the circuit opened again belongs to a
// time that is over.
func TestHalfOpen_VotedProbeOfAnEarlierPeriod(t *testing.T) {
	t.Parallel()
	r := halfOpen(t, nil)
	p := r.take()
	p.FirstContent(r.now)
	r.call(fail)
	r.now = 90 * time.Second
	r.call(succeed, succeed)
	if _, moved := p.Done(r.now, fail, "stream_cut"); moved {
		t.Error("moved the circuit")
	}
	if v := r.c.View(r.now); v.Calls != 0 {
		t.Errorf("got %d calls counted, want 0", v.Calls)
	}
}

func TestFirstContent_ClosedCircuitIgnoresIt(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	p := r.take()
	p.FirstContent(r.now)
	p.Done(r.now, fail, "stream_cut")
	if v := r.c.View(r.now); v.Calls != 1 || v.Failures != 1 {
		t.Errorf("got %d of %d, want 1 of 1", v.Failures, v.Calls)
	}
}
