package retry

import (
	"math"
	"sync"
	"time"
)

// Budget is a token bucket that successes refill: it bounds retries by what
// works, so that an outage can't turn every request into several (R5). Make it
// with [NewBudget]. It is safe for concurrent use. Times are monotonic; one
// that goes back counts as standing still.
type Budget struct {
	mu       sync.Mutex
	settings BudgetSettings
	tokens   float64
	newest   time.Duration
	zeroFor  time.Duration // up to newest
}

// BudgetView is a budget's state at one moment.
type BudgetView struct {
	Tokens, Capacity float64
	// ZeroFor is the total time spent without a whole token, when no retry was
	// possible (R5.2).
	ZeroFor time.Duration
}

// NewBudget returns a full budget. Settings that [BudgetSettings.Check] refuses
// are cut to its bounds; a capacity of 0 allows no retry.
func NewBudget(s BudgetSettings, now time.Duration) *Budget {
	s = usable(s)
	return &Budget{settings: s, tokens: s.Capacity, newest: now}
}

// SetSettings swaps the settings while requests run. The tokens stay, as far as
// the new capacity holds them: an activation during an outage must not hand out
// a full budget.
func (b *Budget) SetSettings(s BudgetSettings, now time.Duration) {
	s = usable(s)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass(now)
	b.settings = s
	b.tokens = min(b.tokens, s.Capacity)
}

// Take takes the token of one retry, before it waits. Without a whole token it
// takes nothing and returns false: there is no retry.
func (b *Budget) Take(now time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass(now)
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// Refund gives back what a success is worth, up to the capacity.
func (b *Budget) Refund(now time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass(now)
	b.tokens = min(b.tokens+b.settings.Refund, b.settings.Capacity)
}

// Return gives a taken token back when its retry was not sent after all.
func (b *Budget) Return(now time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass(now)
	b.tokens = min(b.tokens+1, b.settings.Capacity)
}

// Restore sets the tokens that an earlier process left, cut to the capacity.
// What is not a number is ignored.
func (b *Budget) Restore(tokens float64, now time.Duration) {
	if math.IsNaN(tokens) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass(now)
	b.tokens = min(max(0, tokens), b.settings.Capacity)
}

// View reads the budget without changing it.
func (b *Budget) View(now time.Duration) BudgetView {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := BudgetView{Tokens: b.tokens, Capacity: b.settings.Capacity, ZeroFor: b.zeroFor}
	if b.tokens < 1 {
		v.ZeroFor += max(0, now-b.newest)
	}
	return v
}

// pass lets time run up to now, with the tokens as they are.
func (b *Budget) pass(now time.Duration) {
	if now <= b.newest {
		return
	}
	if b.tokens < 1 {
		b.zeroFor += now - b.newest
	}
	b.newest = now
}

// usable cuts settings to the bounds of [BudgetSettings.Check].
func usable(s BudgetSettings) BudgetSettings {
	return BudgetSettings{Capacity: within(s.Capacity, 1e6), Refund: within(s.Refund, 100)}
}

func within(f, most float64) float64 {
	if !(f > 0) { // not a number is no allowance
		return 0
	}
	return min(f, most)
}
