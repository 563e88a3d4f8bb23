package simulate_test

import (
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/simulate"
)

// BenchmarkCompare is 60,000 requests under the shipped policies. It reports the
// share of the time that goes into policy.
func BenchmarkCompare(b *testing.B) {
	s, err := simulate.Shipped("brown-out")
	if err != nil {
		b.Fatal(err)
	}
	begun := time.Now()
	o := simulate.Options{Stopwatch: func() time.Duration { return time.Since(begun) }}
	requests, percent := 0, 0.0
	for b.Loop() {
		r := compare(b, s, o, simulate.Whole("shipped", shipped(b, s))).Results[0]
		requests, percent = r.Requests, r.Timing.PolicyPercent()
	}
	b.ReportMetric(float64(requests), "requests")
	b.ReportMetric(percent, "%policy")
}

// BenchmarkClock is one sleep of one of a hundred tasks whose contexts can end.
func BenchmarkClock(b *testing.B) {
	clock := simulate.NewClock(time.Time{})
	n := 0
	for i := range 100 {
		clock.Go(func() {
			for clock.Sleep(b.Context(), time.Duration(i+1)*time.Millisecond) == nil {
				n++
			}
		})
	}
	for b.Loop() {
		want := n + 1
		clock.Run(func() bool { return n == want })
	}
	clock.Stop()
}
