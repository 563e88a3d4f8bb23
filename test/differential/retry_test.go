package differential_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/spillway-llm/spillway/core/retry"
)

// quarter is what a success gives back, of a token.
const quarter = 4

// awsRetryer is AWS's standard retryer with R5.1's figures, counted in quarters
// of a token: 500 tokens, a retry costs one, a success at the first attempt
// gives back a quarter.
func awsRetryer(quota *ratelimit.TokenRateLimit, edit func(*awsretry.StandardOptions)) *awsretry.Standard {
	return awsretry.NewStandard(func(o *awsretry.StandardOptions) {
		o.RateLimiter, o.RetryCost, o.ThrottlingRetryCost, o.NoRetryIncrement = quota, quarter, quarter, 1
		if edit != nil {
			edit(o)
		}
	})
}

// The retry budget takes, refuses, gives back and stops at its ends like AWS's
// retry quota, as long as every success is one at the first attempt.
func TestBudget_AgainstAWS(t *testing.T) {
	t.Parallel()
	refused := 0
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(20260921, seed))
		capacity := 5 + rng.IntN(496)
		quota := ratelimit.NewTokenRateLimit(uint(capacity * quarter))
		theirs := awsRetryer(quota, nil)
		mine := retry.NewBudget(retry.BudgetSettings{Capacity: float64(capacity), Refund: 1.0 / quarter}, 0)
		var unsent []func(error) error
		for range 3000 {
			switch n := rng.IntN(10); {
			case n < 5:
				release, err := theirs.GetRetryToken(context.Background(), errFailed)
				if got := mine.Take(0); got != (err == nil) {
					t.Fatalf("history %d: ours allows the retry %v, theirs %v", seed, got, err)
				}
				if err != nil {
					refused++
				} else {
					unsent = append(unsent, release)
				}
			case n < 6 && len(unsent) > 0: // the retry is not sent after all
				if err := unsent[0](nil); err != nil {
					t.Fatal(err)
				}
				mine.Return(0)
				unsent = unsent[1:]
			default:
				release, err := theirs.GetAttemptToken(context.Background())
				if err != nil || release(nil) != nil {
					t.Fatal("theirs doesn't take a success")
				}
				mine.Refund(0)
			}
			if got, want := mine.View(0).Tokens, float64(quota.Remaining())/quarter; got != want {
				t.Fatalf("history %d: ours has %v tokens, theirs %v", seed, got, want)
			}
		}
	}
	if refused < 10_000 {
		t.Errorf("only %d retries were refused: too few to say anything", refused)
	}
}

// Both draw from the same interval: [0, min(longest, base·2ⁿ)).
func TestBackoff_AgainstAWS(t *testing.T) {
	t.Parallel()
	const base, longest = time.Second, 60 * time.Second
	theirs := awsRetryer(ratelimit.NewTokenRateLimit(1), func(o *awsretry.StandardOptions) {
		o.BaseDelay, o.MaxBackoff = base, longest
	})
	rng := rand.New(rand.NewPCG(20260921, 1))
	for n := range 12 {
		bound := retry.Exponential(base, longest, n, 1)
		var most [2]time.Duration
		for range 1000 {
			d, err := theirs.RetryDelay(n+1, errFailed)
			if err != nil || d < 0 || d >= bound {
				t.Fatalf("retry %d: theirs waits %v (%v), ours less than %v", n, d, err, bound)
			}
			mine := retry.Exponential(base, longest, n, rng.Float64())
			if mine < 0 || mine >= bound {
				t.Fatalf("retry %d: ours waits %v, of less than %v", n, mine, bound)
			}
			most = [2]time.Duration{max(most[0], d), max(most[1], mine)}
		}
		if most[0] < bound*9/10 || most[1] < bound*9/10 {
			t.Errorf("retry %d: longest waits %v of %v: the intervals are not the same", n, most, bound)
		}
	}
}

// An empty quota is told apart from the failure that wanted the retry, and
// tokens are taken before the wait: both refuse at the moment of asking.
func TestBudget_EmptyAgainstAWS(t *testing.T) {
	t.Parallel()
	theirs := awsRetryer(ratelimit.NewTokenRateLimit(quarter-1), nil)
	_, err := theirs.GetRetryToken(context.Background(), errFailed)
	var empty ratelimit.QuotaExceededError
	if !errors.As(err, &empty) {
		t.Fatalf("theirs: got %v", err)
	}
	mine := retry.NewBudget(retry.BudgetSettings{Capacity: 3.0 / quarter, Refund: 1.0 / quarter}, 0)
	if mine.Take(0) {
		t.Error("ours retries on three quarters of a token")
	}
	mine.Refund(0)
	if mine.Take(0) {
		t.Error("ours holds more than its capacity")
	}
}
