package circuit_test

import (
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
)

// Not parallel, because allocations are counted for the whole process.
func TestCircuit_AllocatesNothing(t *testing.T) {
	busy := setup(t, nil)
	if n := testing.AllocsPerRun(1000, func() {
		busy.now += time.Millisecond
		p, _, _ := busy.c.Acquire(busy.now)
		p.Done(busy.now, succeed, "")
	}); n != 0 {
		t.Errorf("a call on a closed circuit: %v allocations, want 0", n)
	}
	open := setup(t, nil)
	open.open()
	if n := testing.AllocsPerRun(1000, func() { open.c.Acquire(open.now) }); n != 0 {
		t.Errorf("a refusal: %v allocations, want 0", n)
	}
	if n := testing.AllocsPerRun(1000, func() { open.c.View(open.now) }); n != 0 {
		t.Errorf("a view: %v allocations, want 0", n)
	}
	cycle := setup(t, nil)
	if n := testing.AllocsPerRun(1000, func() {
		for range 5 {
			p, _, _ := cycle.c.Acquire(cycle.now)
			p.Done(cycle.now, fail, "connect")
		}
		cycle.now += time.Hour
		for range 2 {
			p, _, _ := cycle.c.Acquire(cycle.now)
			p.FirstContent(cycle.now)
			p.Done(cycle.now, succeed, "")
		}
	}); n != 0 {
		t.Errorf("open, half-open and closed again: %v allocations, want 0", n)
	}
}

func BenchmarkAcquireDone(b *testing.B) {
	c := circuit.New(circuit.Settings{}, nil)
	b.ReportAllocs()
	var now time.Duration
	for b.Loop() {
		now += time.Millisecond
		p, _, _ := c.Acquire(now)
		p.Done(now, circuit.Success, "")
	}
}

func BenchmarkAcquireDoneRealClock(b *testing.B) {
	c := circuit.New(circuit.Settings{}, nil)
	b.ReportAllocs()
	start := time.Now()
	for b.Loop() {
		p, _, _ := c.Acquire(time.Since(start))
		p.Done(time.Since(start), circuit.Success, "")
	}
}

func BenchmarkAcquireDoneParallel(b *testing.B) {
	c := circuit.New(circuit.Settings{}, nil)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p, _, _ := c.Acquire(time.Second)
			p.Done(time.Second, circuit.Success, "")
		}
	})
}

func BenchmarkRefused(b *testing.B) {
	c := circuit.New(circuit.Settings{}, nil)
	c.Restore(0, 0, time.Minute, "connect", 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok := c.Acquire(time.Second); ok {
			b.Fatal("an open circuit let a call through")
		}
	}
}
