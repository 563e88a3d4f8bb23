package health_test

import (
	"fmt"
	"time"

	"github.com/spillway-llm/spillway/core/health"
)

// A node that refuses a connection rests, and the others take its share.
func ExampleRotation() {
	r := health.NewRotation([]int{5, 3, 2})
	fmt.Println(r.Pick(0, 0.1), r.Pick(0, 0.6), r.Pick(0, 0.9))
	r.Failed(0, 0)
	fmt.Println(r.Pick(0, 0.1), r.Pick(0, 0.6), r.Pick(0, 0.9))
	fmt.Println(r.NextChange(0))
	// Output:
	// 0 1 2
	// 1 2 2
	// 5s
}

// Streams are judged by their first content, and nothing is known of a target
// before its first call but its prior.
func ExampleWindow() {
	w := health.NewWindow(health.Prior{P95: 1200 * time.Millisecond})
	fmt.Println(w.Figures(0).P95)
	w.Record(time.Second, health.Sample{
		OK: true, Stream: true, FirstContent: 350 * time.Millisecond, Total: 9 * time.Second,
	})
	w.Record(2*time.Second, health.Sample{})
	f := w.Figures(3 * time.Second)
	fmt.Println(f.SuccessPermille, f.FirstContentP95, f.P95, f.RequestsPerMinute)
	// Output:
	// 1.2s
	// 900 350ms 9s 2
}
