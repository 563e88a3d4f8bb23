package limit_test

import (
	"fmt"
	"time"

	"github.com/spillway-llm/spillway/core/limit"
)

// Two attempts run, the third is told when to come back.
func ExampleConcurrency() {
	c := limit.NewConcurrency(limit.ConcurrencySettings{Limit: 2})
	a, _ := c.Acquire(0, 5)
	b, _ := c.Acquire(0, 5)
	defer b.Release(5 * time.Second)
	a.Release(3 * time.Second) // the limit let one go after 3 s
	a, _ = c.Acquire(3*time.Second, 5)
	defer a.Release(5 * time.Second)
	_, refused := c.Acquire(4*time.Second, 5)
	fmt.Println(refused)
	// Output:
	// concurrency: 1 asked, 0 of 2 left, 3 s left
}

// Those who wait are served by priority; a full queue sheds the lowest. Wake is
// typically the cancel function of the context in which the request sleeps.
func ExampleConcurrency_Join() {
	c := limit.NewConcurrency(limit.ConcurrencySettings{Limit: 1, Queue: 1, MaxWaitMS: 2000})
	running, _ := c.Acquire(0, 5)
	batch := limit.Waiter{Priority: 1, Wake: func() { fmt.Println("batch woken") }}
	chat := limit.Waiter{Priority: 7, Wake: func() { fmt.Println("chat woken") }}
	_, _, waits := c.Join(0, &batch)
	fmt.Println("batch waits:", waits, "until", batch.Until())
	_, _, waits = c.Join(0, &chat)
	fmt.Println("chat waits:", waits)
	_, refused := c.Claim(0, &batch)
	fmt.Println("batch shed:", refused.Shed)
	running.Release(time.Second)
	ticket, _ := c.Claim(time.Second, &chat)
	fmt.Println("chat runs:", ticket.Held())
	ticket.Release(2 * time.Second)
	// Output:
	// batch waits: true until 2s
	// batch woken
	// chat waits: true
	// batch shed: true
	// chat woken
	// chat runs: true
}

// What a request didn't use comes back when it is settled.
func ExampleRate() {
	r := limit.NewRate(limit.RateSettings{OutputTokensPerMinute: 1000}, 0)
	first, _ := r.Reserve(0, limit.Use{Requests: 1, Output: 800})
	_, refused := r.Reserve(0, limit.Use{Requests: 1, Output: 500})
	fmt.Println(refused)
	first.Settle(0, limit.Use{Requests: 1, Output: 120})
	_, refused = r.Reserve(0, limit.Use{Requests: 1, Output: 500})
	fmt.Println(refused)
	// Output:
	// output_tokens_per_minute: 500 asked, 200 of 1000 left, 18 s left
	// admitted
}

// A dollar a day: what has no price is not free.
func ExampleSpend() {
	const dollar = 1_000_000_000_000
	s := limit.NewSpend(limit.SpendSettings{DayPico: dollar})
	now := time.Date(2026, 9, 21, 18, 0, 0, 0, time.UTC)
	h, _ := s.Reserve(now, limit.Cost{Pico: dollar / 2, Known: true})
	h.Settle(now, limit.Cost{Pico: dollar * 3 / 5, Known: true})
	_, refused := s.Reserve(now, limit.Cost{Pico: dollar / 2, Known: true})
	fmt.Println(refused)
	_, refused = s.Reserve(now, limit.Cost{Input: 1000})
	fmt.Println(refused)
	_, refused = s.Reserve(now.Add(6*time.Hour), limit.Cost{Pico: dollar / 2, Known: true})
	fmt.Println(refused)
	// Output:
	// spend_per_day: $0.5 asked, $0.4 of $1 left, 21600 s left
	// price_unknown: a spend cap applies and the cost can't be estimated, never possible
	// admitted
}

// All limits at once or none: the refused request leaves nothing behind.
func ExampleSet() {
	set := limit.Set{
		Target:  limit.NewConcurrency(limit.ConcurrencySettings{Limit: 20}),
		KeyRate: limit.NewRate(limit.RateSettings{RequestsPerMinute: 60}, 0),
		KeySpend: limit.NewSpend(limit.SpendSettings{
			DayPico: 10_000_000_000, // a cent
		}),
	}
	now := limit.Now{Wall: time.Date(2026, 9, 21, 18, 0, 0, 0, time.UTC)}
	ask := limit.Ask{Use: limit.Use{Requests: 1}, Cost: limit.Cost{Pico: 6_000_000_000, Known: true}}
	r, _ := set.Reserve(now, ask)
	_, refused := set.Reserve(now, ask)
	fmt.Println(refused)
	fmt.Println(set.Target.View(0).Running, set.KeyRate.View(0).Requests.Used)
	r.Settle(now, ask.Use, limit.Cost{Pico: 1_000_000_000, Known: true})
	_, refused = set.Reserve(now, ask)
	fmt.Println(refused)
	// Output:
	// key spend_per_day: $0.006 asked, $0.004 of $0.01 left, 1 s left
	// 1 1
	// admitted
}
