package retry_test

import (
	"math"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/retry"
)

// almostOne is the largest draw.
const almostOne = 1 - 1.0/(1<<53)

func TestExponential(t *testing.T) {
	t.Parallel()
	const base, most = time.Second, time.Minute
	for _, tc := range []struct {
		n    int
		u    float64
		want time.Duration
	}{
		{0, 0, 0}, {0, 0.5, 500 * time.Millisecond}, {1, 0.5, time.Second}, {2, 0.5, 2 * time.Second},
		{3, 0.25, 2 * time.Second}, {5, 0.5, 16 * time.Second}, {6, 0.5, 30 * time.Second},
		{62, 0.5, 30 * time.Second}, {1 << 40, 0.5, 30 * time.Second}, {-4, 0.5, 500 * time.Millisecond},
		{2, -1, 0}, {2, math.NaN(), 0}, {2, 9, 4 * time.Second},
	} {
		if got := retry.Exponential(base, most, tc.n, tc.u); got != tc.want {
			t.Errorf("n %d, u %v: got %v, want %v", tc.n, tc.u, got, tc.want)
		}
	}
	for n := range 70 {
		bound := min(most, base<<min(n, 30))
		if got := retry.Exponential(base, most, n, almostOne); got > bound || got < bound-time.Microsecond {
			t.Errorf("n %d: longest wait %v, want just under %v", n, got, bound)
		}
	}
}

func TestExponential_Extremes(t *testing.T) {
	t.Parallel()
	const forever = time.Duration(math.MaxInt64)
	for name, got := range map[string]time.Duration{
		"no_base":       retry.Exponential(0, time.Minute, 3, 0.5),
		"negative_base": retry.Exponential(-time.Second, time.Minute, 3, 0.5),
		"no_bound":      retry.Exponential(time.Second, 0, 3, 0.5),
		"negative_max":  retry.Exponential(time.Second, -1, 3, 0.5),
	} {
		if got != 0 {
			t.Errorf("%s: got %v, want 0", name, got)
		}
	}
	for n := range 100 {
		for _, u := range []float64{0, 0.5, almostOne, 1} {
			if got := retry.Exponential(time.Second, forever, n, u); got < 0 {
				t.Fatalf("n %d, u %v: overflowed to %v", n, u, got)
			}
		}
	}
	if got := retry.Overloaded(forever, 1); got != forever {
		t.Errorf("overloaded: got %v, want the longest duration", got)
	}
	if got := retry.AfterHint(forever, 1); got != forever {
		t.Errorf("after hint: got %v, want the longest duration", got)
	}
}

func TestConnect(t *testing.T) {
	t.Parallel()
	for n, floor := range []time.Duration{1, 2, 4, 8, 16, 20, 20, 20} {
		floor *= time.Second
		if got := retry.Connect(n, 0); got != floor {
			t.Errorf("n %d: shortest wait %v, want %v", n, got, floor)
		}
		if got := retry.Connect(n, 0.5); got != floor+500*time.Millisecond {
			t.Errorf("n %d: got %v, want half a second over %v", n, got, floor)
		}
	}
	if got := retry.Connect(1000, almostOne); got < 20*time.Second || got > 21*time.Second {
		t.Errorf("got %v, want between 20 s and 21 s", got)
	}
}

func TestSwitchNode(t *testing.T) {
	t.Parallel()
	for n, want := range []int{200, 400, 800, 1600, 3000, 3000} {
		if got := retry.SwitchNode(n); got != time.Duration(want)*time.Millisecond {
			t.Errorf("n %d: got %v, want %d ms", n, got, want)
		}
	}
}

func TestOverloaded(t *testing.T) {
	t.Parallel()
	for u, want := range map[float64]time.Duration{
		0: 2 * time.Second, 0.5: 3 * time.Second, 1: 4 * time.Second, -1: 2 * time.Second, math.NaN(): 2 * time.Second,
	} {
		if got := retry.Overloaded(time.Second, u); got != want {
			t.Errorf("u %v: got %v, want %v", u, got, want)
		}
	}
}

// A hint is a promise of the vendor's: an early retry is refused again.
func TestAfterHint_NeverShorterThanTheHint(t *testing.T) {
	t.Parallel()
	for _, hint := range []time.Duration{0, time.Millisecond, 10 * time.Second, retry.MaxHint} {
		for _, u := range []float64{-1, 0, 0.5, almostOne, 1, 2, math.NaN(), math.Inf(1)} {
			if got := retry.AfterHint(hint, u); got < hint || got > hint+5*time.Second {
				t.Errorf("hint %v, u %v: got %v", hint, u, got)
			}
		}
	}
	if got := retry.AfterHint(10*time.Second, 0.5); got != 12500*time.Millisecond {
		t.Errorf("got %v, want 12.5 s", got)
	}
	if got := retry.AfterHint(-time.Second, 0); got != 0 {
		t.Errorf("negative hint: got %v, want 0", got)
	}
}
