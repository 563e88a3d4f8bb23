package circuit_test

import (
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
)

// slowAfter is a circuit for which calls of more than four seconds are slow, and
// half of them too many, with failures out of reach.
func slowAfter(s *circuit.Settings) {
	s.FailureThreshold, s.ErrorRatePermille, s.MinCalls, s.WindowMS = 100, 1000, 5, 60_000
	s.SlowCallMS, s.SlowRatePermille = 4000, 500
}

// lasting makes one call that takes a while.
func (r *rig) lasting(took time.Duration, o circuit.Outcome) circuit.Transition {
	r.Helper()
	p := r.take()
	r.now += took
	t, _ := p.Done(r.now, o, "server_error")
	return t
}

func TestSlow_OpensByItsOwnRate(t *testing.T) {
	t.Parallel()
	r := setup(t, slowAfter)
	for _, call := range []struct {
		took time.Duration
		o    circuit.Outcome
	}{{5 * time.Second, fail}, {5 * time.Second, succeed}, {100 * time.Millisecond, fail}, {100 * time.Millisecond, succeed}} {
		if tr := r.lasting(call.took, call.o); tr != (circuit.Transition{}) {
			t.Fatalf("%+v before there were enough calls", tr)
		}
	}
	if v := r.c.View(r.now); v.Slow != 2 || v.Failures != 2 || v.Calls != 4 {
		t.Errorf("got %d slow and %d failed of %d, want 2 and 2 of 4", v.Slow, v.Failures, v.Calls)
	}
	got := r.lasting(5*time.Second, succeed)
	want := circuit.Transition{
		From: circuit.Closed, To: circuit.Open, At: r.now, Cause: circuit.CauseSlow,
		Failures: 2, Calls: 5, Slow: 3, Opens: 1, OpenUntil: r.now + 30*time.Second,
	}
	if got != want {
		t.Errorf("got %+v, want %+v: 40 %% failed, 60 %% slow", got, want)
	}
	if v := r.c.View(r.now); v.Slow != 3 || v.Cause != circuit.CauseSlow {
		t.Errorf("got %+v, want what opened it", v)
	}
}

func TestSlow_WhatCounts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit func(*circuit.Settings)
		call func(*rig)
		slow int
	}{
		"off":              {func(s *circuit.Settings) { s.SlowCallMS, s.SlowRatePermille = 0, 0 }, func(r *rig) { r.lasting(time.Hour, succeed) }, 0},
		"exactly_the_time": {nil, func(r *rig) { r.lasting(4*time.Second, succeed) }, 0},
		"just_beyond":      {nil, func(r *rig) { r.lasting(4*time.Second+1, succeed) }, 1},
		"a_slow_failure":   {nil, func(r *rig) { r.lasting(5*time.Second, fail) }, 1},
		"neutral":          {nil, func(r *rig) { r.lasting(time.Minute, neutral) }, 0},
		"callers_mistake":  {nil, func(r *rig) { r.lasting(time.Minute, answer) }, 0},
		"long_stream_that_began_at_once": {nil, func(r *rig) {
			p := r.take()
			r.now += time.Second
			p.FirstContent(r.now)
			p.FirstContent(r.now + time.Minute)
			r.now += 10 * time.Minute
			p.Done(r.now, succeed, "")
		}, 0},
		"stream_that_began_late": {nil, func(r *rig) {
			p := r.take()
			r.now += 5 * time.Second
			p.FirstContent(r.now)
			p.Done(r.now, succeed, "")
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, func(s *circuit.Settings) {
				slowAfter(s)
				if tc.edit != nil {
					tc.edit(s)
				}
			})
			tc.call(r)
			if got := r.c.View(r.now).Slow; got != tc.slow {
				t.Errorf("got %d slow calls, want %d", got, tc.slow)
			}
		})
	}
}

func TestSlow_OffByDefault(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	for range 100 {
		r.lasting(time.Hour, succeed)
	}
	r.state(circuit.Closed)
}

// A probe that answers too slowly shows that nothing has changed.
func TestSlow_Probes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		probe func(*rig) circuit.Transition
		want  circuit.State
		cause string
	}{
		"slow_success_opens": {func(r *rig) circuit.Transition { return r.lasting(5*time.Second, succeed) }, circuit.Open, circuit.CauseSlow},
		"slow_first_content_opens": {func(r *rig) circuit.Transition {
			p := r.take()
			r.now += 5 * time.Second
			tr, _ := p.FirstContent(r.now)
			p.Done(r.now, succeed, "")
			return tr
		}, circuit.Open, circuit.CauseSlow},
		"slow_failure_is_a_failure": {func(r *rig) circuit.Transition { return r.lasting(5*time.Second, fail) }, circuit.Open, "server_error"},
		"slow_refusal_still_works":  {func(r *rig) circuit.Transition { r.lasting(5*time.Second, answer); return r.lasting(0, answer) }, circuit.Closed, circuit.CauseProbes},
		"fast_ones_close": {func(r *rig) circuit.Transition {
			r.lasting(time.Second, succeed)
			return r.lasting(time.Second, succeed)
		}, circuit.Closed, circuit.CauseProbes},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, slowAfter)
			for range 5 {
				r.lasting(5*time.Second, succeed)
			}
			r.state(circuit.Open)
			r.now += 30 * time.Second
			tr := tc.probe(r)
			if tr.From != circuit.HalfOpen || tr.To != tc.want || tr.Cause != tc.cause {
				t.Errorf("got %+v, want %v by %s", tr, tc.want, tc.cause)
			}
			if tc.want == circuit.Open && tc.cause == circuit.CauseSlow && (tr.Slow != 1 || tr.Calls != 1 || tr.Opens != 2) {
				t.Errorf("got %+v, want one slow probe, the second opening", tr)
			}
			r.state(tc.want)
		})
	}
}

// Settings swapped while calls run apply from the next outcome on.
func TestSlow_SetSettings(t *testing.T) {
	t.Parallel()
	r := setup(t, slowAfter)
	for range 4 {
		r.lasting(5*time.Second, succeed)
	}
	s := circuit.DefaultSettings()
	s.MinCalls = 5
	r.c.SetSettings(s)
	r.lasting(5*time.Second, succeed)
	r.state(circuit.Closed)
	slowAfter(&s)
	r.c.SetSettings(s)
	r.state(circuit.Closed)
	if tr := r.lasting(5*time.Second, succeed); tr.To != circuit.Open || tr.Slow != 5 || tr.Calls != 6 {
		t.Errorf("got %+v, want open by 5 of 6: the call judged while slow calls were off was not slow", tr)
	}
}
