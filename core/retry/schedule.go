package retry

import (
	"math"
	"time"
)

// The figures of R4.2 and R4.3.
const (
	connectMost     = 20 * time.Second
	switchBase      = 200 * time.Millisecond
	switchMost      = 3 * time.Second
	hintJitter      = 5 * time.Second
	longestDuration = time.Duration(math.MaxInt64)
)

// Exponential is the wait before the retry that n retries preceded, with full
// jitter: uniform in [0, min(longest, base·2ⁿ)], where u in [0, 1) is the draw
// (R4.2). Full jitter spreads a fleet's retries over the whole interval.
func Exponential(base, longest time.Duration, n int, u float64) time.Duration {
	return share(doubled(base, longest, n), u)
}

// Connect is the wait after the n-th connection failure, counted from 0:
// min(2ⁿ, 20) + u seconds, u in [0, 1) (R4.2). A refused connection costs
// nobody anything, so its floor is short but never 0.
func Connect(n int, u float64) time.Duration {
	return doubled(time.Second, connectMost, n) + share(time.Second, u)
}

// SwitchNode is the wait before another node of the same provider is tried,
// after n earlier switches: min(0.2·2ⁿ, 3) seconds (R4.2).
func SwitchNode(n int) time.Duration { return doubled(switchBase, switchMost, n) }

// Overloaded is the wait after a vendor's "too busy" without a hint:
// base · 2 · (1 + u), u in [0, 1) (R4.4). It has a floor, unlike full jitter,
// because an immediate retry feeds the overload.
func Overloaded(base time.Duration, u float64) time.Duration {
	d := doubled(base, longestDuration, 1)
	return d + min(share(d, u), longestDuration-d)
}

// AfterHint is the wait for a vendor's hint: the hint and up to 5 s on top, u
// in [0, 1) (R4.3). It is never shorter than the hint, and never exactly at a
// reset instant that every other caller was told too.
func AfterHint(hint time.Duration, u float64) time.Duration {
	hint = max(0, hint)
	return hint + min(share(hintJitter, u), longestDuration-hint)
}

// doubled is min(longest, base·2ⁿ) without overflow, and 0 for a base or bound
// below 0.
func doubled(base, longest time.Duration, n int) time.Duration {
	if base <= 0 {
		return 0
	}
	d := min(base, longest)
	for ; n > 0 && d < longest; n-- {
		if d > longest/2 {
			return longest
		}
		d *= 2
	}
	return max(0, d)
}

// share is the part u of a wait. Draws outside of [0, 1] are cut to it, because
// a wait below 0 would be a retry at once.
func share(d time.Duration, u float64) time.Duration {
	switch {
	case u >= 1:
		return d
	case u > 0:
		return time.Duration(float64(d) * u)
	}
	return 0
}
