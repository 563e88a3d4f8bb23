package health_test

import (
	"fmt"
	"time"

	"github.com/spillway-llm/spillway/core/health"
)

// A node that refuses a connection rests, and the others take its share. Then
// it gets one request on trial.
func ExampleRotation() {
	r := health.NewRotation([]int{5, 3, 2})
	fmt.Println(r.Pick(0, 0.1), r.Pick(0, 0.6), r.Pick(0, 0.9))
	r.Failed(0, 0)
	fmt.Println(r.Pick(0, 0.1), r.Pick(0, 0.6), r.Pick(0, 0.9))
	back := r.NextChange(0)
	fmt.Println(back)
	fmt.Println(r.Pick(back, 0.1), r.Pick(back, 0.1), r.View(back, 0).State)
	r.Ended(back+time.Second, 0, health.Call{Begun: back, Answered: true})
	fmt.Println(r.View(back+time.Second, 0).State)
	// Output:
	// 0 1 2
	// 1 2 2
	// 5s
	// 0 1 trial
	// up
}

// The faster of two equal nodes gets the larger share.
func ExampleRotation_SetBalance() {
	r := health.NewRotation([]int{1, 1})
	r.SetBalance(health.BalanceLatency)
	for range 50 {
		r.Ended(0, 0, health.Call{Answered: true, Took: 300 * time.Millisecond})
		r.Ended(0, 1, health.Call{Answered: true, Took: 100 * time.Millisecond})
	}
	counts := make([]int, 2)
	for i := range 100 {
		counts[r.Pick(0, (float64(i)+0.5)/100)]++
	}
	fmt.Println(counts)
	// Output:
	// [25 75]
}

// A good probe gives a resting node one request, and no more.
func ExampleProbes() {
	r := health.NewRotation([]int{1, 1})
	p := health.NewProbes(r, health.DefaultProbes(), 0, nil)
	for range 3 { // by now it rests for 20 s
		r.Failed(r.NextChange(0), 0)
	}
	now := r.NextChange(0) - 19*time.Second
	fmt.Println(r.View(now, 0).State)
	for node := p.Due(now); node >= 0; node = p.Due(now) {
		// GET /models at the node, ended after p.Limit().
		p.Result(now+30*time.Millisecond, node, health.JudgeProbe(200))
	}
	now += time.Second
	fmt.Println(r.View(now, 0).State, r.Pick(now, 0), r.Pick(now, 0), r.Pick(now, 0))
	fmt.Println("next probe in", p.Next()-now)
	// Output:
	// resting
	// trial 0 1 1
	// next probe in 4s
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
