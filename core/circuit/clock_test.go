package circuit_test

import (
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
)

// A reading of the clock that arrives late must not age, freeze or reorder the
// window, nor move the end of an open time.
func TestCircuit_TimeGoingBackwards(t *testing.T) {
	t.Parallel()
	t.Run("window_keeps_its_history", func(t *testing.T) {
		t.Parallel()
		r := setup(t, func(s *circuit.Settings) { s.WindowMS = 5000; s.FailureThreshold = 100 })
		r.now = 100 * time.Second
		r.call(repeat(15, succeed)...)
		r.now = 90 * time.Second
		r.call(succeed, fail, succeed)
		if v := r.c.View(r.now); v.Calls != 18 || v.Failures != 1 {
			t.Errorf("got %d of %d, want 1 of 18", v.Failures, v.Calls)
		}
		r.now = 105*time.Second + 1
		if v := r.c.View(r.now); v.Calls != 0 {
			t.Errorf("got %d calls 5 s later, want none", v.Calls)
		}
	})
	t.Run("open_time_is_not_moved", func(t *testing.T) {
		t.Parallel()
		r := setup(t, nil)
		r.now = time.Hour
		r.open()
		r.now = 0
		r.refused(30 * time.Second)
		r.now = time.Hour + 30*time.Second
		r.take()
	})
	t.Run("half_open_is_not_left", func(t *testing.T) {
		t.Parallel()
		r := halfOpen(t, nil)
		r.now = 0
		r.call(succeed, succeed)
		r.state(circuit.Closed)
	})
}

// A view is what the next call would find, without making it.
func TestView_ReadsWithoutChanging(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	r.open()
	v := r.c.View(45 * time.Second)
	if v.State != circuit.HalfOpen || v.Since != 30*time.Second || v.OpenUntil != 0 || v.NextChange != 0 || v.Cause != "server_error" {
		t.Errorf("got %+v, want half-open since 30 s", v)
	}
	if v := r.c.View(0); v.State != circuit.Open || v.NextChange != 30*time.Second {
		t.Errorf("reading ahead changed the circuit: %+v", v)
	}
	r.now = 45 * time.Second
	if tr, ok := r.c.Advance(r.now); !ok || tr.At != r.now {
		t.Errorf("got %+v, want the change still to be reported", tr)
	}
}

func TestView_NextChangeIsTheEarliest(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	if got := r.c.View(0).NextChange; got != 0 {
		t.Errorf("closed: got %v, want none", got)
	}
	r.open()
	r.c.SetHold(circuit.HoldClosed, 0, 20*time.Second)
	if got := r.c.View(0).NextChange; got != 20*time.Second {
		t.Errorf("hold first: got %v", got)
	}
	r.c.SetHold(circuit.HoldClosed, 0, 40*time.Second)
	if got := r.c.View(0).NextChange; got != 30*time.Second {
		t.Errorf("open time first: got %v", got)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		circuit.Closed.String(): "closed", circuit.HalfOpen.String(): "half_open", circuit.Open.String(): "open",
		circuit.State(9).String(): "unknown", circuit.HoldNone.String(): "none",
		circuit.HoldOpen.String(): "forced_open", circuit.HoldClosed.String(): "forced_closed",
		circuit.HoldObserve.String(): "observe", circuit.HoldEmergency.String(): "emergency",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
