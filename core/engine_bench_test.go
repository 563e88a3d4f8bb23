package core_test

import (
	"context"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
)

// instant answers at once, without output: a benchmark's would pass the shipped
// limit of output tokens a minute within milliseconds.
type instant struct{}

func (instant) Prepare(*core.Target) error { return nil }

func (instant) Attempt(_ context.Context, a *core.Attempt) error {
	a.Usage = price.Usage{Input: 10, Known: true}
	a.FirstContent()
	return nil
}

// planned remembers one plan, as a policy's memo does.
type planned struct{ plan *core.Plan }

func (p *planned) Decide(snap *core.Snapshot, f *core.Facts) (*core.Plan, bool) {
	if p.plan == nil {
		p.plan = core.SafePlan(snap, f, "")
	}
	return p.plan, true
}

func (p *planned) Prepare(*core.Snapshot) {}

func benchEngine(t testing.TB) (*core.Engine, *core.Request) {
	rev := core.DefaultRevision(catalog(t))
	rev.Decider = &planned{}
	e, err := core.New(core.Config{Revision: rev, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e, &core.Request{Facts: core.Facts{UseCase: "assistant", Audience: core.AudiencePaid, Language: "en"}, Affinity: 3}
}

func BenchmarkRun(b *testing.B) {
	e, req := benchEngine(b)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Run(ctx, req, instant{}); err != nil {
			b.Fatal(err)
		}
		e.Finish(req)
	}
}

// What one request allocates in the engine: the decision's id, and the
// attempt's context with its bookkeeping in the parent.
func TestRun_Allocations(t *testing.T) {
	e, req := benchEngine(t)
	ctx := t.Context()
	run := func() {
		if err := e.Run(ctx, req, instant{}); err != nil {
			t.Fatal(err)
		}
		e.Finish(req)
	}
	run()
	if got := testing.AllocsPerRun(500, run); got > 6 {
		t.Errorf("%v allocations per request, want at most 6", got)
	}
}
