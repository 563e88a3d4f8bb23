package retry_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/spillway-llm/spillway/core/retry"
)

// A budget of two tokens allows two retries; four successes earn a third.
func ExampleBudget() {
	b := retry.NewBudget(retry.BudgetSettings{Capacity: 2, Refund: 0.25}, 0)
	fmt.Println(b.Take(0), b.Take(0), b.Take(0))
	for range 4 {
		b.Refund(time.Second)
	}
	fmt.Println(b.Take(2 * time.Second))
	fmt.Println(b.View(2 * time.Second).ZeroFor)
	// Output:
	// true true false
	// true
	// 1s
}

// A vendor's hint wins over backoff, and is only ever lengthened.
func ExampleParseHint() {
	h := http.Header{}
	h.Set("Retry-After", "20")
	hint := retry.ParseHint(h, time.Now())
	fmt.Println(hint.Delay, hint.Given)
	fmt.Println(retry.AfterHint(hint.Delay, 0.5))

	h.Set("Retry-After", "whenever you like")
	fmt.Println(retry.ParseHint(h, time.Now()).Given)
	// Output:
	// 20s true
	// 22.5s
	// false
}

// Full jitter spreads a fleet over the whole interval; an overloaded vendor and a
// refused connection have schedules of their own.
func ExampleExponential() {
	for n := range 4 {
		fmt.Println(retry.Exponential(time.Second, 5*time.Second, n, 0.5))
	}
	fmt.Println(retry.Overloaded(time.Second, 0.5), retry.Connect(0, 0.5), retry.SwitchNode(0))
	// Output:
	// 500ms
	// 1s
	// 2s
	// 2.5s
	// 3s 1.5s 200ms
}
