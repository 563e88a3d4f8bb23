package health_test

import (
	"math"
	"testing"

	"github.com/spillway-llm/spillway/core/health"
)

func TestQuantise2(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{
		0: 0, 7: 7, 10: 10, 99: 99, 100: 100, 104: 100, 105: 110, 994: 990, 995: 1000, 1234: 1200, 1250: 1300,
		9949: 9900, 9950: 10_000, 123_456: 120_000, -1: -1, -1234: -1200, -1250: -1300,
		math.MaxInt: 9_200_000_000_000_000_000, math.MinInt: -9_200_000_000_000_000_000,
	} {
		if got := health.Quantise2(n); got != want {
			t.Errorf("%d: got %d, want %d", n, got, want)
		}
	}
	for n := range 100_000 {
		q := health.Quantise2(n)
		if health.Quantise2(q) != q {
			t.Fatalf("%d: %d is not itself rounded", n, q)
		}
		if off := math.Abs(float64(q - n)); off > float64(n)*0.05 {
			t.Fatalf("%d: %d is off by more than 5 %%", n, q)
		}
	}
}
