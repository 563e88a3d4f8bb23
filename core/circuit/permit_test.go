package circuit_test

import (
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
)

func TestPermit_LateResultsDoNotVote(t *testing.T) {
	t.Parallel()
	t.Run("closed_call_ends_in_half_open", func(t *testing.T) {
		t.Parallel()
		r := setup(t, nil)
		var late []*circuit.Permit
		for range 8 {
			late = append(late, r.take())
		}
		r.open()
		r.now = 30 * time.Second
		probe := r.take()
		for i, p := range late {
			o := succeed
			if i%2 == 0 {
				o = fail
			}
			if tr, moved := p.Done(r.now, o, "server_error"); moved {
				t.Fatalf("late result %d moved the circuit: %+v", i, tr)
			}
		}
		if v := r.c.View(r.now); v.Computed != circuit.HalfOpen || v.Probes != 1 || v.Calls != 0 {
			t.Fatalf("got %+v, want half-open with one probe and no vote", v)
		}
		probe.Done(r.now, succeed, "")
		r.call(succeed)
		r.state(circuit.Closed)
	})
	t.Run("probe_ends_after_the_verdict", func(t *testing.T) {
		t.Parallel()
		r := halfOpen(t, nil)
		slow := r.take()
		r.call(succeed, succeed)
		slow.Done(r.now, fail, "server_error")
		if v := r.c.View(r.now); v.Computed != circuit.Closed || v.Calls != 0 {
			t.Errorf("got %+v, want closed without counts", v)
		}
	})
	t.Run("open_circuit_counts_nothing", func(t *testing.T) {
		t.Parallel()
		r := setup(t, nil)
		p := r.take()
		r.open()
		before := r.c.View(r.now)
		p.Done(r.now, succeed, "")
		if after := r.c.View(r.now); after != before {
			t.Errorf("got %+v, want %+v", after, before)
		}
	})
}

func TestPermit_DoneTwice(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	for range 4 {
		p := r.take()
		for range 5 {
			p.Done(r.now, fail, "connect")
		}
	}
	r.state(circuit.Closed)
	if v := r.c.View(r.now); v.Failures != 4 {
		t.Errorf("got %d failures, want 4", v.Failures)
	}
	h := halfOpen(t, func(s *circuit.Settings) { s.HalfOpenPermits = 2 })
	p, _ := h.take(), h.take()
	p.Done(h.now, neutral, "")
	p.Done(h.now, neutral, "")
	h.take()
	h.refused(0) // the second Done gave nothing back
}

func TestPermit_ZeroDoesNothing(t *testing.T) {
	t.Parallel()
	var p circuit.Permit
	if _, ok := p.Done(0, fail, "connect"); ok {
		t.Error("Done moved something")
	}
	if _, ok := p.FirstContent(0); ok {
		t.Error("FirstContent moved something")
	}
	if _, ok := p.Transition(); ok || p.Probe() {
		t.Error("the zero permit is a probe")
	}
}

func TestPermit_PanicGivesItBack(t *testing.T) {
	t.Parallel()
	r := halfOpen(t, func(s *circuit.Settings) { s.HalfOpenPermits = 1 })
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		p := r.take()
		defer p.Done(r.now, circuit.Neutral, "")
		panic("in the callee")
	}()
	r.call(succeed, succeed)
	r.state(circuit.Closed)
}

func TestPermit_CancelInHalfOpen(t *testing.T) {
	t.Parallel()
	r := halfOpen(t, func(s *circuit.Settings) { s.HalfOpenPermits = 1 })
	for range 10 {
		r.take().Done(r.now, neutral, "")
	}
	r.state(circuit.HalfOpen)
	if v := r.c.View(r.now); v.Calls != 0 {
		t.Errorf("%d cancelled probes voted", v.Calls)
	}
}

// A call that takes longer than the window counts when it ends: charged to its
// start, a target whose every call hangs would never open.
func TestPermit_CallLongerThanTheWindow(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	var slow []*circuit.Permit
	for range 5 {
		slow = append(slow, r.take())
		r.now += time.Second
	}
	r.now = 10 * time.Minute
	for _, p := range slow {
		r.now += time.Second
		p.Done(r.now, fail, "timeout_first_content")
	}
	r.state(circuit.Open)
	if v := r.c.View(r.now); v.Cause != "timeout_first_content" || v.Failures != 5 {
		t.Errorf("got %+v, want 5 timeouts as the cause", v)
	}
}
