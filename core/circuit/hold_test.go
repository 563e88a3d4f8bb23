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
