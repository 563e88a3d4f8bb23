package core_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/limit"
)

// throng is a thousand callers of one key at once.
type throng struct {
	rig    *rig
	limits core.CallerLimits
	// output draws what a request really writes; it reserved outputCap tokens.
	output func(*rand.Rand) int64

	running map[string]*atomic.Int64 // by target
	most    map[string]*atomic.Int64

	mu        sync.Mutex
	decisions []core.Decision
	kinds     map[core.Kind]int
}

const (
	mostAtOnce = 10 // at each target

	outputCap = 1000
	inputSaid = 1000
	estimated = inputSaid*3_000_000 + outputCap*15_000_000
)

func newThrong(r *rig, l core.CallerLimits, output func(*rand.Rand) int64) *throng {
	g := &throng{
		rig: r, limits: l, output: output, kinds: map[core.Kind]int{},
		running: map[string]*atomic.Int64{}, most: map[string]*atomic.Int64{},
	}
	for _, l := range r.Loads() {
		g.running[l.Target], g.most[l.Target] = &atomic.Int64{}, &atomic.Int64{}
	}
	return g
}

func (g *throng) run(ctx context.Context, seed uint64) {
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() { g.call(ctx, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	wg.Wait()
}

// call is one request. It ends in one of the ways in which requests end.
func (g *throng) call(ctx context.Context, rng *rand.Rand) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	time.Sleep(time.Duration(rng.IntN(10_000)) * time.Millisecond)
	req := &core.Request{
		KeyID: "k", Limits: g.limits,
		Facts: core.Facts{InputTokens: inputSaid, MaxTokens: outputCap, Priority: 1 + rng.IntN(10)},
	}
	if rng.IntN(10) == 0 { // impatient, often while it waits in a queue
		time.AfterFunc(time.Duration(rng.IntN(3000))*time.Millisecond, cancel)
	}
	defer func() {
		_ = recover()
		g.mu.Lock()
		g.decisions = append(g.decisions, req.Decision)
		g.kinds[req.Decision.Outcome]++
		g.mu.Unlock()
	}()
	fate, take, output := rng.IntN(8), time.Duration(500+rng.IntN(4000))*time.Millisecond, g.output(rng)
	_, _ = core.Do(ctx, g.rig.Engine, req, func(ctx context.Context, a *core.Attempt) (int, error) {
		now := g.running[a.Target.ID].Add(1)
		defer g.running[a.Target.ID].Add(-1)
		for most := g.most[a.Target.ID]; now > most.Load(); now = max(now, most.Swap(now)) {
		}
		select {
		case <-time.After(take):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		switch fate {
		case 0:
			panic("a defect")
		case 1:
			a.FirstContent()
			panic("a defect, and nobody knows what it cost")
		case 2:
			return 0, fails(core.KindOverloaded)
		case 3:
			return 0, fails(core.KindInvalidRequest)
		}
		a.Usage = used(inputSaid, output)
		return 0, nil
	})
}

// spent is what the decisions cost, and what of it is beyond their estimates. A
// target without a price costs the fallback price, which is the others'; what
// nobody knows costs what it reserved.
func (g *throng) spent() (sum, beyond int64) {
	for _, d := range g.decisions {
		cost := int64(0)
		switch {
		case len(d.Attempts) == 0:
		case d.CostKnown:
			cost = d.Cost
		case d.Usage.Known:
			cost = d.Usage.Input*3_000_000 + d.Usage.Output*15_000_000
		default:
			cost = estimated
		}
		sum, beyond = sum+cost, beyond+max(0, cost-estimated)
	}
	return sum, beyond
}

// Whatever a thousand callers do, no limit is passed by more than the estimates
// were wrong, and every reservation comes back.
func TestLimits_ThousandCallers(t *testing.T) {
	for name, c := range map[string]struct {
		output func(*rand.Rand) int64
		dayCap int64
		exact  bool
	}{
		"estimates are upper bounds": {func(r *rand.Rand) int64 { return r.Int64N(outputCap + 1) }, 40 * estimated, true},
		"estimates are wrong":        {func(r *rand.Rand) int64 { return 900 + r.Int64N(400) }, 100 * estimated, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, atOnce(mostAtOnce, 20), func(tb *core.Tables) {
					for i := range tb.Circuits[0] { // limits are what is tested here
						tb.Circuits[0][i].FailureThreshold, tb.Circuits[0][i].MinCalls = 1000, 20
						tb.Circuits[0][i].ErrorRatePermille = 1000
					}
					tb.UseCaseLimits[0].Spend = limit.SpendSettings{
						MonthPico: 10 * c.dayCap, FallbackInputPico: 3_000_000, FallbackOutputPico: 15_000_000,
					}
				})
				g := newThrong(r, core.CallerLimits{
					Rate:  limit.RateSettings{RequestsPerMinute: 100_000, TokensPerMinute: 10_000_000},
					Spend: limit.SpendSettings{DayPico: c.dayCap, FallbackInputPico: 3_000_000, FallbackOutputPico: 15_000_000},
				}, c.output)
				g.run(t.Context(), 20260921)
				check(t, g, c.dayCap, c.exact)
			})
		})
	}
}

func check(t *testing.T, g *throng, dayCap int64, exact bool) {
	t.Helper()
	if len(g.decisions) != 1000 {
		t.Errorf("%d callers had an end, want 1000", len(g.decisions))
	}
	for target, most := range g.most {
		if n := most.Load(); n > mostAtOnce || n < 2 {
			t.Errorf("%s: %d at once, want 2 to %d", target, n, mostAtOnce)
		}
	}
	sum, beyond := g.spent()
	a := g.rig.keyAccount(t)
	if got := a.Spend.DayPico; got != sum || got > dayCap+beyond || exact == (beyond > 0) || got < dayCap/2 {
		t.Errorf("%d spent of %d, %d by the decisions, %d beyond the estimates", got, dayCap, sum, beyond)
	}
	g.rig.idle(t)
	time.Sleep(time.Minute)
	if a = g.rig.keyAccount(t); a.Rate.Requests.Used != 0 || a.Rate.Tokens.Used != 0 {
		t.Errorf("rates never came back: %+v", a.Rate)
	}
	g.rig.Tick()
	for i, l := range g.rig.Snapshot().Targets {
		if l.InFlight != 0 {
			t.Errorf("target %d: %d in flight", i, l.InFlight)
		}
	}
	t.Logf("outcomes %v, spent %d of %d", g.kinds, a.Spend.DayPico, dayCap)
}
