package core_test

import (
	"context"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/limit"
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

func BenchmarkRunUnderLimits(b *testing.B) {
	e, req := benchEngine(b)
	req.KeyID, req.Limits = "k", core.CallerLimits{
		Rate:  limit.RateSettings{RequestsPerMinute: 50_000_000},
		Spend: limit.SpendSettings{DayPico: 1_000_000 * price.PicoPerUSD, FallbackOutputPico: 1},
	}
	req.Facts.MaxTokens = 100
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
// attempt's context with its bookkeeping in the parent. Limits that are not
// reached allocate nothing.
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
	plain := testing.AllocsPerRun(500, run)
	if plain > 6 {
		t.Errorf("%v allocations per request, want at most 6", plain)
	}
	req.KeyID, req.Limits = "k", core.CallerLimits{
		Rate:            limit.RateSettings{RequestsPerMinute: 1_000_000, TokensPerMinute: 50_000_000},
		Spend:           limit.SpendSettings{DayPico: 1000 * price.PicoPerUSD, MonthPico: 30_000 * price.PicoPerUSD, FallbackOutputPico: 1},
		MaxOutputTokens: 1000,
	}
	req.Facts.MaxTokens = 100
	run()
	if limited := testing.AllocsPerRun(500, run); limited != plain {
		t.Errorf("%v allocations per request under limits, want %v as without", limited, plain)
	}
}
