package limit_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/limit"
)

// callers is a thousand requests at once on one set of limits.
type callers struct {
	set limit.Set
	// estimate is what each reserves; real draws what it then costs.
	estimate int64
	real     func(*rand.Rand) int64

	admitted, refused, shed atomic.Int64
	running, most           atomic.Int64
	spent                   atomic.Int64
}

func (c *callers) run() {
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() { c.call(rand.New(rand.NewPCG(20260921, uint64(i)))) })
	}
	wg.Wait()
}

// call is one request: it waits for its ticket, reserves, runs and ends in one
// of the ways in which requests end.
func (c *callers) call(rng *rand.Rand) {
	now := limit.Now{Wall: noon()}
	woken := make(chan struct{})
	w := limit.Waiter{Priority: rng.IntN(11), Wake: func() { close(woken) }}
	ticket, no, waits := c.set.Target.Join(0, &w)
	if waits {
		if rng.IntN(10) > 0 { // the others give up at once
			<-woken
		}
		ticket, no = c.set.Target.Claim(0, &w)
	}
	if no.Refused() {
		if no.Shed {
			c.shed.Add(1)
		}
		c.refused.Add(1)
		return
	}
	cost := c.real(rng)
	r, no := c.set.Adopt(now, &ticket, limit.Ask{
		Use: limit.Use{Requests: 1, Input: 10, Output: 10}, Cost: known(c.estimate),
	})
	if no.Refused() {
		c.refused.Add(1)
		return
	}
	c.admitted.Add(1)
	defer func() { _ = recover() }()
	defer func() { r.Cancel(now) }()
	running := c.running.Add(1)
	for most := c.most.Load(); running > most && !c.most.CompareAndSwap(most, running); most = c.most.Load() {
	}
	for range 50 { // let others run beside it
		runtime.Gosched()
	}
	c.running.Add(-1)
	switch rng.IntN(4) {
	case 0:
		panic("in the attempt")
	case 1: // cancelled
	default:
		r.Settle(now, limit.Use{Requests: 1, Input: 10, Output: 3}, known(cost))
		c.spent.Add(cost)
	}
}

func TestSet_ThousandCallers(t *testing.T) {
	t.Parallel()
	const estimate, dayCap = 100, 20_000
	for name, tc := range map[string]struct {
		atOnce int
		real   func(*rand.Rand) int64
		beyond int64 // how far the cap may be passed
	}{
		"estimates_are_upper_bounds":          {40, func(r *rand.Rand) int64 { return 1 + r.Int64N(estimate) }, 0},
		"one_at_a_time_with_wrong_estimates":  {1, func(r *rand.Rand) int64 { return 80 + r.Int64N(71) }, 50},
		"twenty_at_once_with_wrong_estimates": {20, func(r *rand.Rand) int64 { return 80 + r.Int64N(71) }, 20 * 50},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := callers{estimate: estimate, real: tc.real, set: limit.Set{
				Target:   limit.NewConcurrency(limit.ConcurrencySettings{Limit: tc.atOnce, Queue: 900}),
				KeyRate:  limit.NewRate(limit.RateSettings{RequestsPerMinute: 100_000, TokensPerMinute: 100_000}, 0),
				KeySpend: limit.NewSpend(limit.SpendSettings{DayPico: dayCap}), UseCaseSpend: limit.NewSpend(limit.SpendSettings{}),
			}}
			c.run()
			if got := c.admitted.Load() + c.refused.Load(); got != 1000 {
				t.Errorf("%d callers had an end, want 1000", got)
			}
			if got := c.most.Load(); got > int64(tc.atOnce) {
				t.Errorf("%d at once, want at most %d", got, tc.atOnce)
			}
			key := c.set.KeySpend.View(noon())
			// Whoever was refused met no more reservations than run at once.
			least := dayCap - int64(tc.atOnce+1)*estimate
			if key.DayPico != c.spent.Load() || key.DayPico > dayCap+tc.beyond || key.DayPico < least {
				t.Errorf("%d spent, counted %d; want %d to %d", c.spent.Load(), key.DayPico, least, dayCap+tc.beyond)
			}
			if v := c.set.Target.View(time.Hour); v.Running != 0 || v.Waiting != 0 {
				t.Errorf("%d still running, %d waiting", v.Running, v.Waiting)
			}
			if key.Reserved != 0 || c.set.UseCaseSpend.View(noon()).Reserved != 0 {
				t.Errorf("%d did not come back", key.Reserved)
			}
			if r := c.set.KeyRate.View(time.Hour); r.Requests.Used != 0 || r.Tokens.Used != 0 {
				t.Errorf("%d tokens never came back", r.Tokens.Used)
			}
			t.Logf("%d admitted, %d refused, %d of them shed, %d at once", c.admitted.Load(), c.refused.Load(), c.shed.Load(), c.most.Load())
		})
	}
}

// Nobody sees a part of another's reservation: as many pass as the scarcest
// limit has room for, though every one that is refused asks others before it.
func TestSet_NoPassingRefusals(t *testing.T) {
	t.Parallel()
	for range 20 {
		set := limit.Set{
			Target:   limit.NewConcurrency(limit.ConcurrencySettings{Limit: 60}),
			KeyRate:  limit.NewRate(limit.RateSettings{RequestsPerMinute: 60}, 0),
			KeySpend: limit.NewSpend(limit.SpendSettings{DayPico: 50}),
		}
		var small, large atomic.Int64
		var wg sync.WaitGroup
		for i := range 200 {
			cost, count := int64(1), &small
			if i%4 != 0 {
				cost, count = 60, &large // never fits, and asks everything else first
			}
			wg.Go(func() {
				if _, no := set.Reserve(limit.Now{Wall: noon()}, limit.Ask{Use: limit.Use{Requests: 1}, Cost: known(cost)}); !no.Refused() {
					count.Add(1)
				}
			})
		}
		wg.Wait()
		if small.Load() != 50 || large.Load() != 0 {
			t.Fatalf("%d small and %d large admitted, want 50 and none", small.Load(), large.Load())
		}
	}
}
