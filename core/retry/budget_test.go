package retry_test

import (
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/retry"
	"pgregory.net/rapid"
)

func budget(capacity, refund float64) *retry.Budget {
	return retry.NewBudget(retry.BudgetSettings{Capacity: capacity, Refund: refund}, 0)
}

func TestBudget_TakesWholeTokens(t *testing.T) {
	t.Parallel()
	b := budget(2, 0.25)
	for i, want := range []bool{true, true, false, false} {
		if got := b.Take(0); got != want {
			t.Errorf("take %d: got %v, want %v", i, got, want)
		}
	}
	for range 3 {
		b.Refund(0)
	}
	if b.Take(0) {
		t.Error("0.75 tokens bought a retry")
	}
	b.Refund(0)
	if !b.Take(0) || b.Take(0) {
		t.Error("four successes are worth one retry and no more")
	}
}

func TestBudget_StartsFullAndStaysWithin(t *testing.T) {
	t.Parallel()
	b := retry.NewBudget(retry.DefaultBudget(), 0)
	for range 100 {
		b.Refund(0)
		b.Return(0)
	}
	if got := b.View(0); got.Tokens != 500 || got.Capacity != 500 || got.ZeroFor != 0 {
		t.Errorf("got %+v, want 500 of 500", got)
	}
}

// Failing operations one after another can't multiply: a budget bounds the sum
// of retries, and not only how many run at a time.
func TestBudget_ThousandFailuresInARow(t *testing.T) {
	t.Parallel()
	b := budget(200, 0.1)
	calls := 0
	for range 1000 {
		calls++
		for n := 0; n < 2 && b.Take(0); n++ {
			calls++
		}
	}
	if calls != 1200 {
		t.Errorf("got %d calls, want 1000 and the 200 that the budget holds", calls)
	}
}

func TestBudget_ReturnIsNoRefund(t *testing.T) {
	t.Parallel()
	b := budget(10, 0.1)
	b.Take(0)
	b.Return(0)
	if got := b.View(0).Tokens; got != 10 {
		t.Errorf("got %v tokens, want the one back: 10", got)
	}
}

func TestBudget_ZeroFor(t *testing.T) {
	t.Parallel()
	b := budget(1, 0.5)
	b.Take(10 * time.Second)
	for _, step := range []struct {
		at   time.Duration
		act  func(time.Duration)
		want time.Duration
	}{
		{15 * time.Second, nil, 5 * time.Second},
		{15 * time.Second, b.Refund, 5 * time.Second},
		{20 * time.Second, nil, 10 * time.Second},
		{21 * time.Second, b.Refund, 11 * time.Second}, // whole again
		{60 * time.Second, nil, 11 * time.Second},
		{60 * time.Second, func(now time.Duration) { b.Take(now) }, 11 * time.Second},
		{62 * time.Second, func(now time.Duration) { b.Take(now) }, 13 * time.Second}, // refused
		{61 * time.Second, b.Refund, 13 * time.Second},                                // late reading
		{63 * time.Second, func(now time.Duration) { b.Restore(1, now) }, 14 * time.Second},
		{99 * time.Second, nil, 14 * time.Second},
	} {
		if step.act != nil {
			step.act(step.at)
		}
		if got := b.View(step.at).ZeroFor; got != step.want {
			t.Errorf("at %v: got %v at zero, want %v", step.at, got, step.want)
		}
	}
}

func TestBudget_SetSettings(t *testing.T) {
	t.Parallel()
	b := budget(500, 0.25)
	for range 300 {
		b.Take(0)
	}
	for _, tc := range []struct{ capacity, want float64 }{{600, 200}, {100, 100}, {500, 100}, {0, 0}} {
		b.SetSettings(retry.BudgetSettings{Capacity: tc.capacity, Refund: 0.5}, 0)
		if got := b.View(0); got.Tokens != tc.want || got.Capacity != tc.capacity {
			t.Errorf("capacity %v: got %+v, want %v tokens", tc.capacity, got, tc.want)
		}
	}
	if b.Refund(0); b.Take(0) {
		t.Error("a budget without capacity allowed a retry")
	}
	b.SetSettings(retry.BudgetSettings{Capacity: 10, Refund: 0.5}, 0)
	b.Refund(0)
	if got := b.View(0).Tokens; got != 0.5 {
		t.Errorf("got %v tokens, want the new refund: 0.5", got)
	}
}

func TestBudget_Restore(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ tokens, want float64 }{
		{3.5, 3.5}, {-1, 0}, {11, 10}, {math.Inf(1), 10}, {math.NaN(), 10},
	} {
		b := budget(10, 0.25)
		b.Restore(tc.tokens, 0)
		if got := b.View(0).Tokens; got != tc.want {
			t.Errorf("restore %v: got %v, want %v", tc.tokens, got, tc.want)
		}
	}
}

func TestBudgetSettings_Check(t *testing.T) {
	t.Parallel()
	if err := retry.DefaultBudget().Check(); err != nil {
		t.Errorf("the default: %v", err)
	}
	for _, s := range []retry.BudgetSettings{
		{Capacity: -1}, {Capacity: 2e6}, {Capacity: math.NaN()}, {Capacity: 1, Refund: -0.1},
		{Capacity: 1, Refund: math.NaN()}, {Capacity: 1, Refund: math.Inf(1)},
	} {
		if err := s.Check(); !errors.Is(err, retry.ErrSettings) {
			t.Errorf("%+v: got %v, want ErrSettings", s, err)
		}
		b := retry.NewBudget(s, 0)
		b.Take(0)
		b.Refund(0)
		if v := b.View(0); !(v.Tokens >= 0 && v.Tokens <= v.Capacity) {
			t.Errorf("%+v: unusable settings gave %+v", s, v)
		}
	}
}

func TestBudget_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.Float64Range(0, 50).Draw(t, "capacity")
		refund := rapid.Float64Range(0, 2).Draw(t, "refund")
		b := budget(capacity, refund)
		var now time.Duration
		taken, successes := 0, 0
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(-5, 50).Draw(t, "ms")) * time.Millisecond
			if rapid.Bool().Draw(t, "success") {
				b.Refund(now)
				successes++
			} else if b.Take(now) {
				taken++
			}
			v := b.View(now)
			if v.Tokens < 0 || v.Tokens > v.Capacity || v.ZeroFor < 0 {
				t.Fatalf("out of bounds: %+v", v)
			}
		}
		if most := capacity + float64(successes)*refund; float64(taken) > most+1e-6 {
			t.Fatalf("%d retries from at most %v tokens", taken, most)
		}
	})
}

func TestBudget_Concurrently(t *testing.T) {
	t.Parallel()
	b := budget(100, 0)
	var wg sync.WaitGroup
	granted := make([]int, 8)
	for i := range granted {
		wg.Go(func() {
			for range 50 {
				if b.Take(0) {
					granted[i]++
				}
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range granted {
		sum += n
	}
	if sum != 100 {
		t.Errorf("%d retries from 100 tokens", sum)
	}
}

// Not parallel, because allocations are counted for the whole process.
func TestBudget_AllocatesNothing(t *testing.T) {
	b := retry.NewBudget(retry.DefaultBudget(), 0)
	if n := testing.AllocsPerRun(1000, func() {
		b.Take(0)
		b.Refund(0)
		b.View(0)
	}); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}
