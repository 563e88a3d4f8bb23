package differential_test

import (
	"testing"
	"time"
)

const (
	rounds     = 7
	perRound   = 50_000
	warmUp     = 1000
	allocsRuns = 2000
)

// measured is what one path costs.
type measured struct {
	nanos  float64
	allocs float64
}

// measure runs the paths in turns, forwards and backwards, so that a busy
// moment of the machine falls on all of them, and takes the best round of each.
func measure(paths []path) []measured {
	out := make([]measured, len(paths))
	for i, p := range paths {
		for range warmUp {
			p.call()
		}
		out[i].allocs = testing.AllocsPerRun(allocsRuns, p.call)
	}
	for round := range rounds {
		for i := range paths {
			if round%2 == 1 {
				i = len(paths) - 1 - i
			}
			start := time.Now()
			for range perRound {
				paths[i].call()
			}
			nanos := float64(time.Since(start)) / perRound
			if out[i].nanos == 0 || nanos < out[i].nanos {
				out[i].nanos = nanos
			}
		}
	}
	return out
}

// report prints the table, each path against the first.
func report(t *testing.T, paths []path, m []measured) {
	t.Helper()
	for i, p := range paths {
		t.Logf("%-64s %7.0f ns %5.1f allocs   first/this: time %.2f", p.name, m[i].nanos, m[i].allocs, m[0].nanos/m[i].nanos)
	}
}

// TestBeside_Circuit prints a call through a closed circuit beside the others,
// in one run. Times are printed and not judged, because a machine's bad moment
// is no defect; allocations are judged.
func TestBeside_Circuit(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for a few seconds")
	}
	paths := circuits()
	m := measure(paths)
	report(t, paths, m)
	if m[0].allocs != 0 {
		t.Errorf("acquire and done: %v allocations, want 0", m[0].allocs)
	}
}

// TestBeside_Composed prints limit, circuit, retry budget and timeout around a
// call beside failsafe-go's executor, and the whole engine.
func TestBeside_Composed(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for a few seconds")
	}
	paths := composed(t)
	m := measure(paths)
	report(t, paths, m)
	t.Logf("goals: time at most 0.50 of failsafe-go's (%.2f), allocations at most 0.20 (%.2f)",
		m[0].nanos/m[1].nanos, m[0].allocs/m[1].allocs)
	if m[0].allocs > m[1].allocs/5 {
		t.Errorf("%v allocations, want at most a fifth of %v", m[0].allocs, m[1].allocs)
	}
}

func BenchmarkCircuit(b *testing.B) { bench(b, circuits()) }

func BenchmarkComposed(b *testing.B) { bench(b, composed(b)) }

func bench(b *testing.B, paths []path) {
	for _, p := range paths {
		b.Run(p.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.call()
			}
		})
	}
}
