package circuit_test

import (
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
)

func TestHold_ForcedOpen(t *testing.T) {
	t.Parallel()
	t.Run("refuses_until_it_expires", func(t *testing.T) {
		t.Parallel()
		r := setup(t, nil)
		r.c.SetHold(circuit.HoldOpen, 0, time.Minute)
		r.refused(time.Minute)
		v := r.c.View(r.now)
		if v.State != circuit.Open || v.Computed != circuit.Closed || v.Hold != circuit.HoldOpen || v.NextChange != time.Minute {
			t.Errorf("got %+v, want effective open over computed closed until 1 min", v)
		}
		r.now = time.Minute
		if v := r.c.View(r.now); v.State != circuit.Closed || v.Hold != circuit.HoldNone || v.NextChange != 0 {
			t.Errorf("expired: got %+v", v)
		}
		r.take()
	})
	t.Run("without_end_stays", func(t *testing.T) {
		t.Parallel()
		r := setup(t, nil)
		r.c.SetHold(circuit.HoldOpen, 0, 0)
		r.now = 1000 * time.Hour
		r.refused(0)
		r.c.SetHold(circuit.HoldNone, r.now, 0)
		r.take()
	})
	t.Run("outlasts_the_open_time", func(t *testing.T) {
		t.Parallel()
		r := setup(t, nil)
		r.open()
		r.c.SetHold(circuit.HoldOpen, 0, 10*time.Second)
		r.refused(30 * time.Second)
		r.c.SetHold(circuit.HoldOpen, 0, 2*time.Minute)
		r.now = time.Minute
		if tr, ok := r.c.Advance(r.now); !ok || tr.To != circuit.HalfOpen {
			t.Errorf("the computed state stood still: %+v", tr)
		}
		r.refused(time.Minute)
		r.state(circuit.Open)
	})
	t.Run("running_calls_still_count", func(t *testing.T) {
		t.Parallel()
		r := setup(t, nil)
		var running []*circuit.Permit
		for range 5 {
			running = append(running, r.take())
		}
		r.c.SetHold(circuit.HoldOpen, 0, 0)
		for _, p := range running {
			p.Done(r.now, fail, "connect")
		}
		if got := r.c.View(r.now).Computed; got != circuit.Open {
			t.Errorf("computed %v, want open", got)
		}
	})
}

func TestHold_ForcedClosed(t *testing.T) {
	t.Parallel()
	t.Run("admits_while_it_computes", func(t *testing.T) {
		t.Parallel()
		r := setup(t, nil)
		r.c.SetHold(circuit.HoldClosed, 0, 0)
		r.call(repeat(5, fail)...)
		v := r.c.View(r.now)
		if v.State != circuit.Closed || v.Computed != circuit.Open || v.OpenUntil != 30*time.Second {
			t.Fatalf("got %+v, want effective closed over computed open", v)
		}
		r.call(repeat(20, fail)...) // let through, and no evidence
		r.c.SetHold(circuit.HoldNone, r.now, 0)
		r.refused(30 * time.Second)
	})
	t.Run("computed_state_recovers", func(t *testing.T) {
		t.Parallel()
		r := setup(t, nil)
		r.c.SetHold(circuit.HoldClosed, 0, 0)
		r.call(repeat(5, fail)...)
		r.now = 30 * time.Second
		r.call(succeed, succeed)
		if got := r.c.View(r.now).Computed; got != circuit.Closed {
			t.Errorf("computed %v, want closed", got)
		}
	})
	t.Run("only_probes_vote", func(t *testing.T) {
		t.Parallel()
		r := halfOpen(t, func(s *circuit.Settings) { s.HalfOpenPermits = 1 })
		r.c.SetHold(circuit.HoldClosed, r.now, 0)
		probe, beside := r.take(), r.take()
		if !probe.Probe() || beside.Probe() {
			t.Fatalf("probes %v and %v, want the first only", probe.Probe(), beside.Probe())
		}
		beside.Done(r.now, fail, "connect")
		if v := r.c.View(r.now); v.Computed != circuit.HalfOpen || v.Probes != 1 {
			t.Errorf("got %+v, want half-open with its probe", v)
		}
	})
}

func TestHold_Observe(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	r.c.SetHold(circuit.HoldObserve, 0, 0)
	tr := r.call(repeat(5, fail)...)
	if tr.To != circuit.Open || tr.Hold != circuit.HoldObserve || tr.Effective() != circuit.Closed {
		t.Fatalf("got %+v, want the opening reported as what would have been", tr)
	}
	p := r.take()
	if !p.OnlyHeld() {
		t.Error("a call that the circuit would have refused looks like any other")
	}
	p.Done(r.now, fail, "connect")
	v := r.c.View(r.now)
	if v.State != circuit.Closed || v.Computed != circuit.Open || v.Hold != circuit.HoldObserve || v.LetThrough != 1 {
		t.Errorf("got %+v, want effective closed over computed open, one call let through", v)
	}
	r.now = 30 * time.Second
	woke := r.take()
	if tr, ok := woke.Transition(); !ok || tr.Hold != circuit.HoldObserve || tr.Effective() != circuit.Closed || woke.OnlyHeld() {
		t.Errorf("got %+v, want the probe's change reported", tr)
	}
	woke.Done(r.now, succeed, "")
	if tr := r.call(succeed); tr.To != circuit.Closed || tr.Hold != circuit.HoldObserve {
		t.Errorf("got %+v, want the recovery reported", tr)
	}
	r.call(repeat(5, fail)...)
	r.c.SetHold(circuit.HoldNone, r.now, 0)
	r.refused(60 * time.Second)
	if v := r.c.View(r.now); v.LetThrough != 0 || v.State != circuit.Open {
		t.Errorf("got %+v, want the computed state in force", v)
	}
}

func TestHold_Emergency(t *testing.T) {
	t.Parallel()
	emergency := func(t *testing.T, edit func(*circuit.Settings)) *rig {
		r := setup(t, edit)
		r.c.SetHold(circuit.HoldEmergency, 0, time.Hour)
		return r
	}
	for name, tc := range map[string]struct {
		edit     func(*circuit.Settings)
		outcomes []circuit.Outcome
		want     circuit.State
	}{
		"nineteen_in_a_row":          {nil, repeat(19, fail), circuit.Closed},
		"twenty_in_a_row":            {nil, repeat(20, fail), circuit.Open},
		"seventeen_of_twenty":        {nil, append(repeat(3, succeed), repeat(17, fail)...), circuit.Closed},
		"eighteen_of_twenty":         {nil, append(repeat(2, succeed), repeat(18, fail)...), circuit.Open},
		"own_thresholds_were_higher": {func(s *circuit.Settings) { s.ErrorRatePermille = 950 }, append(repeat(2, succeed), repeat(18, fail)...), circuit.Closed},
		"a_few_slow_calls":           {slowAfter, repeat(19, succeed), circuit.Closed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := emergency(t, tc.edit)
			for _, o := range tc.outcomes {
				r.lasting(0, o)
			}
			v := r.c.View(r.now)
			if v.State != tc.want || v.Computed != tc.want || v.Hold != circuit.HoldEmergency {
				t.Errorf("got %+v, want %v in force and computed", v, tc.want)
			}
		})
	}
	t.Run("until_it_expires", func(t *testing.T) {
		t.Parallel()
		r := emergency(t, nil)
		r.now = time.Hour - time.Second
		r.call(repeat(15, fail)...)
		if v := r.c.View(r.now); v.State != circuit.Closed || v.NextChange != time.Hour {
			t.Fatalf("got %+v, want closed, and the expiry as the next change", v)
		}
		r.now = time.Hour
		r.state(circuit.Closed) // its own thresholds apply from the next outcome on
		if tr := r.call(fail); tr.To != circuit.Open || tr.Hold != circuit.HoldNone || tr.Failures != 16 {
			t.Errorf("got %+v, want open by what was counted meanwhile", tr)
		}
	})
	t.Run("does_not_close_an_open_circuit", func(t *testing.T) {
		t.Parallel()
		r := setup(t, nil)
		r.open()
		r.c.SetHold(circuit.HoldEmergency, 0, time.Hour)
		r.refused(30 * time.Second)
		r.now = 30 * time.Second
		if tr := r.call(fail); tr.To != circuit.Open || tr.Hold != circuit.HoldEmergency || tr.Effective() != circuit.Open {
			t.Errorf("got %+v, want one failed probe to open it, as ever", tr)
		}
	})
	t.Run("slow_calls_too", func(t *testing.T) {
		t.Parallel()
		r := emergency(t, slowAfter)
		for range 17 {
			r.lasting(5*time.Second, succeed)
		}
		r.state(circuit.Closed)
	})
}

// The state in force over each computed one.
func TestTransition_Effective(t *testing.T) {
	t.Parallel()
	for hold, want := range map[circuit.Hold]circuit.State{
		circuit.HoldNone: circuit.HalfOpen, circuit.HoldOpen: circuit.Open, circuit.HoldClosed: circuit.Closed,
		circuit.HoldObserve: circuit.Closed, circuit.HoldEmergency: circuit.HalfOpen,
	} {
		if got := (circuit.Transition{To: circuit.HalfOpen, Hold: hold}).Effective(); got != want {
			t.Errorf("%v: got %v, want %v", hold, got, want)
		}
	}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		since, until time.Duration
		opens        int
		want         time.Duration
	}{
		"still_open":          {-20 * time.Second, 40 * time.Second, 2, 40 * time.Second},
		"time_is_up":          {-90 * time.Second, -30 * time.Second, 1, 0},
		"wall_clock_set_back": {time.Hour, time.Hour + 30*time.Second, 1, 5 * time.Minute},
		"no_opens":            {0, 10 * time.Second, 0, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, nil)
			r.c.Restore(0, tc.since, tc.until, "overloaded", tc.opens)
			v := r.c.View(0)
			if v.Cause != "overloaded" || v.Opens < 1 || v.Since > 0 {
				t.Errorf("got %+v", v)
			}
			if tc.want == 0 {
				r.take()
				return
			}
			r.refused(tc.want)
			if v.State != circuit.Open || v.OpenUntil != tc.want || v.NextChange != tc.want {
				t.Errorf("got %+v, want open until %v", v, tc.want)
			}
		})
	}
}

func TestRestore_GrowthGoesOn(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	before := r.take()
	r.c.Restore(0, -time.Minute, time.Second, "overloaded", 3)
	r.c.SetSettings(circuit.DefaultSettings())
	r.refused(time.Second)
	before.Done(r.now, succeed, "") // of an earlier generation
	r.now = time.Second
	if got := r.call(fail); got.Opens != 4 || got.OpenUntil-r.now != 240*time.Second {
		t.Errorf("got %+v, want the fourth opening for 240 s", got)
	}
}

func TestHold_AlreadyOver(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	r.now = time.Hour
	r.c.SetHold(circuit.HoldOpen, r.now, time.Minute)
	r.take()
}
