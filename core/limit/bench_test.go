package limit_test

import (
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/limit"
)

// Not parallel, because allocations are counted for the whole process.
func TestSet_AllocatesNothing(t *testing.T) {
	w := newWorld()
	a := ask()
	a.Cost = known(1)
	if n := testing.AllocsPerRun(1000, func() {
		w.now.Mono += time.Second
		r, no := w.set.Reserve(w.now, a)
		if no.Refused() {
			t.Fatal(no)
		}
		r.Settle(w.now, a.Use, known(0))
		r.Cancel(w.now)
	}); n != 0 {
		t.Errorf("reserve and settle: %v allocations, want 0", n)
	}
	refused := a
	refused.Cost = known(1001)
	if n := testing.AllocsPerRun(1000, func() { w.set.Reserve(w.now, refused) }); n != 0 {
		t.Errorf("a refusal: %v allocations, want 0", n)
	}
	c := limit.NewConcurrency(limit.ConcurrencySettings{Limit: 1, Queue: 4})
	running, _ := c.Acquire(0, 5)
	waiter := limit.Waiter{Priority: 5, Wake: func() {}}
	if n := testing.AllocsPerRun(1000, func() {
		c.Join(0, &waiter)
		running.Release(0)
		running, _ = c.Claim(0, &waiter)
	}); n != 0 {
		t.Errorf("join, release and claim: %v allocations, want 0", n)
	}
}

func BenchmarkConcurrency(b *testing.B) {
	c := limit.NewConcurrency(limit.ConcurrencySettings{Limit: 40})
	b.ReportAllocs()
	for b.Loop() {
		t, _ := c.Acquire(0, 5)
		t.Release(0)
	}
}

func BenchmarkSet(b *testing.B) {
	w := newWorld()
	a := ask()
	a.Cost = known(1)
	b.ReportAllocs()
	for b.Loop() {
		w.now.Mono += time.Second
		r, _ := w.set.Reserve(w.now, a)
		r.Settle(w.now, a.Use, known(0))
	}
}

func BenchmarkSetParallel(b *testing.B) {
	w := newWorld()
	a := ask()
	a.Cost = known(1)
	a.Use = limit.Use{Requests: 1}
	w.set.KeyRate = limit.NewRate(limit.RateSettings{InputTokensPerMinute: 1}, 0)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r, _ := w.set.Reserve(w.now, a)
			r.Settle(w.now, a.Use, known(0))
		}
	})
}
