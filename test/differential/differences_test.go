package differential_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/sony/gobreaker/v2"
	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/retry"
)

// Each test shows one row of docs/differences.md: what the other library does,
// and what Spillway does instead.

// bubble is a test in virtual time, with a clock for ours.
func bubble(t *testing.T, f func(t *testing.T, now func() time.Duration)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		f(t, func() time.Duration { return time.Since(start) })
	})
}

// failing makes calls that fail at once.
func failing(c *circuit.Circuit, now time.Duration, n int) {
	for range n {
		p, _, _ := c.Acquire(now)
		p.Done(now, circuit.Failure, "server_error")
	}
}

// opened is one of our circuits that is half-open, and the moment.
func opened(c *circuit.Circuit, now func() time.Duration) time.Duration {
	failing(c, now(), failures)
	time.Sleep(openFor + time.Millisecond)
	return now()
}

func TestDifference_CompletionDecides(t *testing.T) {
	bubble(t, func(t *testing.T, now func() time.Duration) {
		theirs := gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
			Interval: 50 * time.Millisecond, ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= failures },
		})
		mine := circuit.New(circuit.Settings{WindowMS: 1000}, nil)
		for range 60 { // each call takes longer than the window
			done, err := theirs.Allow()
			if err != nil {
				t.Fatal("gobreaker now charges a call to the window in which it ends: drop this row")
			}
			time.Sleep(120 * time.Millisecond)
			done(errFailed)
		}
		late := make([]*circuit.Permit, failures)
		for i := range late {
			p, _, _ := mine.Acquire(now())
			late[i] = &p
		}
		time.Sleep(5 * time.Second)
		for _, p := range late {
			p.Done(now(), circuit.Failure, "timeout_first_content")
		}
		if mine.View(now()).State != circuit.Open {
			t.Error("calls that hang longer than the window never open ours")
		}
	})
}

func TestDifference_LostProbe(t *testing.T) {
	bubble(t, func(t *testing.T, now func() time.Duration) {
		theirs := newGobreaker()
		mine := circuit.New(circuit.Settings{HalfOpenPermits: probes, LeaseMS: 60_000}, nil)
		failing(mine, now(), failures)
		for range failures {
			done, _ := theirs.acquire()
			done(true, true)
		}
		time.Sleep(openFor + time.Millisecond)
		for range probes { // taken, and never reported
			theirs.acquire()
			mine.Acquire(now())
		}
		time.Sleep(24 * time.Hour)
		if _, ok := theirs.acquire(); ok {
			t.Error("gobreaker now gives lost probes back: drop this row")
		}
		if _, _, ok := mine.Acquire(now()); !ok {
			t.Error("ours is half-open for good as well")
		}
	})
}

func TestDifference_StaleResultsVote(t *testing.T) {
	bubble(t, func(t *testing.T, now func() time.Duration) {
		theirs, mine := newFailsafe().cb, ours()
		late := make([]*circuit.Permit, probes)
		for i := range late {
			theirs.TryAcquirePermit()
			p, _, _ := mine.Acquire(now())
			late[i] = &p
		}
		for range failures {
			theirs.TryAcquirePermit()
			theirs.RecordFailure()
		}
		at := opened(mine, now)
		theirs.TryAcquirePermit()
		mine.Acquire(at)
		for _, p := range late { // calls from before the outage end now
			theirs.RecordSuccess()
			p.Done(at, circuit.Success, "")
		}
		if !theirs.IsClosed() {
			t.Error("failsafe-go now drops results of an earlier state: drop this row")
		}
		if got := mine.View(at).State; got != circuit.HalfOpen {
			t.Errorf("ours is %v before its probe answered", got)
		}
	})
}

func TestDifference_CancelledProbe(t *testing.T) {
	bubble(t, func(t *testing.T, now func() time.Duration) {
		theirs := circuitbreaker.NewBuilder[any]().WithFailureThreshold(failures).WithSuccessThreshold(1).WithDelay(openFor).
			HandleIf(func(_ any, err error) bool { return err != nil && !errors.Is(err, context.Canceled) }).Build()
		mine := circuit.New(circuit.Settings{SuccessThreshold: 1}, nil)
		for range failures {
			theirs.TryAcquirePermit()
			theirs.RecordFailure()
		}
		at := opened(mine, now)
		theirs.TryAcquirePermit()
		theirs.RecordError(context.Canceled)
		p, _, _ := mine.Acquire(at)
		p.Done(at, circuit.Neutral, "")
		if !theirs.IsClosed() {
			t.Error("failsafe-go now has an outcome that is no success: drop this row")
		}
		if got := mine.View(at); got.State != circuit.HalfOpen || got.Probes != 0 {
			t.Errorf("ours is %v with %d probes; a cancelled one proves nothing and gives its permit back", got.State, got.Probes)
		}
	})
}

func TestDifference_ReadsAge(t *testing.T) {
	bubble(t, func(t *testing.T, now func() time.Duration) {
		theirs := circuitbreaker.NewBuilder[any]().WithFailureThresholdPeriod(100, time.Minute).Build()
		mine := circuit.New(circuit.Settings{FailureThreshold: 100, MinCalls: 20}, nil)
		for range failures {
			theirs.RecordFailure()
		}
		failing(mine, now(), failures)
		time.Sleep(time.Hour)
		if theirs.Metrics().Failures() == 0 {
			t.Error("failsafe-go's readings now age: drop this row")
		}
		if got := mine.View(now()).Failures; got != 0 {
			t.Errorf("ours shows %d failures of an hour ago", got)
		}
	})
}

func TestDifference_RateNeedsCalls(t *testing.T) {
	bubble(t, func(t *testing.T, now func() time.Duration) {
		theirs := circuitbreaker.NewBuilder[any]().WithFailureThresholdRatio(3, 10).Build()
		mine := circuit.New(circuit.Settings{ErrorRatePermille: 300, MinCalls: 10}, nil)
		for range 3 {
			theirs.RecordFailure()
		}
		failing(mine, now(), 3)
		if !theirs.IsOpen() {
			t.Error("failsafe-go's count ratio now waits for its calls: drop this row")
		}
		if mine.View(now()).State != circuit.Closed {
			t.Error("ours opens on three calls")
		}
	})
}

func TestDifference_RateIsNotRounded(t *testing.T) {
	bubble(t, func(t *testing.T, _ func() time.Duration) {
		theirs := circuitbreaker.NewBuilder[any]().WithFailureRateThreshold(0.5, 200, time.Minute).Build()
		for i := range 200 {
			if i < 101 {
				theirs.RecordSuccess()
			} else {
				theirs.RecordFailure()
			}
		}
		if !theirs.IsOpen() {
			t.Error("failsafe-go no longer opens a breaker of 50 % at 49.5 %: drop this row")
		}
		// Ours compares whole numbers: TestCircuit_OpensOnErrorRate, compares_whole_numbers.
	})
}

func TestDifference_SuccessCanOpen(t *testing.T) {
	bubble(t, func(t *testing.T, now func() time.Duration) {
		theirs := gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.Requests >= 5 && c.TotalFailures*2 >= c.Requests },
		})
		mine := circuit.New(circuit.Settings{FailureThreshold: 100, MinCalls: 5}, nil)
		for _, failed := range []bool{true, true, true, false, false} {
			done, _ := theirs.Allow()
			p, _, _ := mine.Acquire(now())
			if failed {
				done(errFailed)
				p.Done(now(), circuit.Failure, "server_error")
			} else {
				done(nil)
				p.Done(now(), circuit.Success, "")
			}
		}
		if theirs.State() == gobreaker.StateOpen {
			t.Error("gobreaker now judges after a success too: drop this row")
		}
		if mine.View(now()).State != circuit.Open {
			t.Error("ours stays closed at 60 % of five calls")
		}
	})
}

func TestDifference_EndOfTheOpenTime(t *testing.T) {
	bubble(t, func(t *testing.T, now func() time.Duration) {
		theirs, mine := newGobreaker(), ours()
		for range failures {
			done, _ := theirs.acquire()
			done(true, true)
		}
		failing(mine, now(), failures)
		time.Sleep(openFor)
		if theirs.state() != circuit.Open {
			t.Error("gobreaker is now half-open at the very moment: drop this row")
		}
		if got := mine.View(now()).State; got != circuit.HalfOpen {
			t.Errorf("ours is %v when its time is up", got)
		}
	})
}

// A thousand operations, one after another, all failing, two retries each: what
// bounds the retries at once does not bound their share.
func TestDifference_RetryBudget(t *testing.T) {
	t.Parallel()
	calls := 0
	policy := retrypolicy.NewBuilder[any]().WithMaxRetries(2).WithBudget(budget.New()).Build()
	for range 1000 {
		_ = failsafe.With[any](policy).Run(func() error { calls++; return errFailed })
	}
	if calls != 3000 {
		t.Errorf("failsafe-go made %d calls, not 3000: change this row", calls)
	}
	mine, budget := 0, retry.NewBudget(retry.DefaultBudget(), 0)
	for range 1000 {
		mine++
		for range 2 {
			if budget.Take(0) {
				mine++
			}
		}
	}
	if mine != 1500 {
		t.Errorf("ours made %d calls, want 1500: the budget's 500 retries", mine)
	}
}

func TestDifference_RefundOfARetry(t *testing.T) {
	t.Parallel()
	quota := ratelimit.NewTokenRateLimit(10 * quarter)
	theirs := awsRetryer(quota, nil)
	mine := retry.NewBudget(retry.BudgetSettings{Capacity: 10, Refund: 1.0 / quarter}, 0)
	for range 8 { // every operation needs one retry, and that one succeeds
		release, err := theirs.GetRetryToken(context.Background(), errFailed)
		if err != nil {
			t.Fatal(err)
		}
		if err := release(nil); err != nil {
			t.Fatal(err)
		}
		mine.Take(0)
		mine.Refund(0)
	}
	if got := quota.Remaining(); got != 10*quarter {
		t.Errorf("AWS has %d of %d left, no longer all: change this row", got, 10*quarter)
	}
	if got := mine.View(0).Tokens; got != 4 {
		t.Errorf("ours has %v tokens left, want 4 of 10", got)
	}
}
