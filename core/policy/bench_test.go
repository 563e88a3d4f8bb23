//go:build unix

package policy_test

import (
	"math/rand/v2"
	"strconv"
	"syscall"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/policy"
)

// BenchmarkDecide is one routing decision over eight targets that nobody made
// before. Goal: at most 200 µs and 1,200 allocations.
func BenchmarkDecide(b *testing.B) {
	p := shipped(b, policy.Options{})
	s := snapshot(p.Revision.Catalog, p.Revision.Tables.UseCases)
	p.Decider().Prepare(s)
	f := ask()
	b.ReportAllocs()
	b.ResetTimer()
	defer cpu(b)()
	for i := range b.N {
		f.Model = strconv.Itoa(i) // facts that no memo knows
		if plan, memo := p.Decider().Decide(s, &f); memo || plan.Source != core.SourceEvaluated {
			b.Fatalf("source %s, memo %v: %s", plan.Source, memo, plan.PolicyError)
		}
	}
}

// BenchmarkDecideHeld is the same with holds, needs and a forced fallback.
func BenchmarkDecideHeld(b *testing.B) {
	p := shipped(b, policy.Options{})
	s := shaken(rand.New(rand.NewPCG(1, 2)), p.Revision.Catalog, p.Revision.Tables.UseCases, 1)
	p.Decider().Prepare(s)
	f := ask()
	f.Stream, f.ForceFallback, f.Needs.Images = true, true, true
	b.ReportAllocs()
	b.ResetTimer()
	defer cpu(b)()
	for i := range b.N {
		f.Model = strconv.Itoa(i) // facts that no memo knows
		p.Decider().Decide(s, &f)
	}
}

// BenchmarkMemo is a decision that was made before. Goal: at most 0.2 µs and no
// allocation.
func BenchmarkMemo(b *testing.B) {
	p := shipped(b, policy.Options{})
	s := snapshot(p.Revision.Catalog, p.Revision.Tables.UseCases)
	f := ask()
	p.Decider().Decide(s, &f)
	b.ReportAllocs()
	b.ResetTimer()
	defer cpu(b)()
	for range b.N {
		p.Decider().Decide(s, &f)
	}
}

// BenchmarkSnapshot is making one snapshot ready.
func BenchmarkSnapshot(b *testing.B) {
	p := shipped(b, policy.Options{})
	s := snapshot(p.Revision.Catalog, p.Revision.Tables.UseCases)
	b.ReportAllocs()
	for i := range b.N {
		next := &core.Snapshot{
			Epoch: uint64(i), Time: s.Time, Catalog: s.Catalog, UseCases: s.UseCases, Levels: s.Levels, Targets: s.Targets,
		}
		p.Decider().Prepare(next)
	}
}

// BenchmarkBuild is everything that an activation does in the server's process.
func BenchmarkBuild(b *testing.B) {
	b.ReportAllocs()
	for range b.N {
		shipped(b, policy.Options{})
	}
}

// cpu reports the process's processor time per operation, garbage collection
// included: unlike wall time it does not depend on what else the machine does.
func cpu(b *testing.B) (report func()) {
	used := func() float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1000
	}
	start := used()
	return func() { b.ReportMetric((used()-start)/float64(b.N), "cpu-µs/op") }
}
