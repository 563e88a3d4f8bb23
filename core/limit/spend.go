package limit

import (
	"math"
	"math/bits"
	"sync"
	"time"
)

// Cost is the money of one request: estimated before, real after. The zero
// value is unknown.
type Cost struct {
	// Pico is the cost in picodollars (10⁻¹² USD); it means nothing unless Known.
	Pico int64
	// Known is false without a price or without figures. Unknown is never 0 (R13.2).
	Known bool
	// Input and Output are the tokens, for a stated fallback price; 0 when unknown.
	Input, Output int64
}

// Spend caps the money of one caller's key or one use case per UTC day and UTC
// calendar month (R13.1). Make it with [NewSpend]. It is safe for concurrent
// use.
//
// What is reserved counts until it is settled, whatever day that is; what was
// spent counts in the day and month in which it was settled. When estimates are
// upper bounds, a cap is never passed; else by no more than what the requests
// that ran side by side cost beyond their estimates.
type Spend struct {
	mu         sync.Mutex
	settings   SpendSettings
	day, month span
	reserved   int64
	unpriced   int64
	typical    float64 // nanoseconds that a reservation lasts
}

// NewSpend returns an account on which nothing was spent. Figures that
// [SpendSettings.Check] refuses are cut to its bounds.
func NewSpend(s SpendSettings) *Spend {
	sp := &Spend{typical: float64(time.Second)}
	sp.SetSettings(s)
	return sp
}

// SetSettings swaps the caps. What was spent stays spent.
func (s *Spend) SetSettings(to SpendSettings) {
	to = SpendSettings{
		DayPico: clamp(to.DayPico, maxCapPico), MonthPico: clamp(to.MonthPico, maxCapPico),
		FallbackInputPico:  clamp(to.FallbackInputPico, maxPricePico),
		FallbackOutputPico: clamp(to.FallbackOutputPico, maxPricePico),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings = to
}

// SpendHold is what one request has reserved of an account. It is a value; keep
// it in one place and don't copy it. The zero value holds nothing, and its
// methods do nothing. It is not for concurrent use.
type SpendHold struct {
	spend    *Spend
	reserved int64
	since    int64 // wall nanoseconds
}

// Reserve sets an estimate aside, or refuses. An estimate without a price is
// taken at the stated fallback price, and without one refused as far as a cap
// applies. What is known to cost nothing passes always.
func (s *Spend) Reserve(wall time.Time, estimate Cost) (SpendHold, Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if no := s.check(wall, estimate); no.Refused() {
		return SpendHold{}, no
	}
	return s.take(wall, estimate), Refusal{}
}

// Settle ends the hold with the real cost. A cost that stayed unknown counts as
// the fallback price of its tokens, and without those as what was reserved:
// a vendor that reports no usage must not work for free (R25, R51).
func (h *SpendHold) Settle(wall time.Time, real Cost) {
	s, held := h.spend, *h
	*h = SpendHold{}
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(wall)
	cost, known := s.price(real)
	if !known {
		cost = held.reserved
	}
	if !real.Known {
		s.unpriced++
	}
	s.release(held, wall)
	s.day.spent = add(s.day.spent, cost)
	s.month.spent = add(s.month.spent, cost)
}

// Cancel ends the hold of a request that cost nothing: all comes back.
func (h *SpendHold) Cancel(wall time.Time) { h.Settle(wall, Cost{Known: true}) }

// Spent is what an account has spent, for a store and for people.
type Spent struct {
	// Day and Month are the starts of the UTC day and month that the amounts
	// belong to.
	Day, Month time.Time
	// DayPico and MonthPico are the settled amounts.
	DayPico, MonthPico int64
}

// Restore takes over what an earlier process left: each amount that belongs to
// the present day or month. Older ones are over. Reservations of a process that
// is gone are not restored, which gives them back.
func (s *Spend) Restore(wall time.Time, from Spent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(wall)
	if from.Day.Unix() == s.day.start {
		s.day.spent = max(0, from.DayPico)
	}
	if from.Month.Unix() == s.month.start {
		s.month.spent = max(0, from.MonthPico)
	}
}

// SpendView is an account's state at one moment. Amounts are picodollars.
type SpendView struct {
	Spent
	Settings SpendSettings
	// Reserved is set aside for running requests, beside what was spent.
	Reserved int64
	// Unpriced counts the settled requests whose cost was unknown.
	Unpriced int64
}

// View reads the account. Its Spent is the snapshot for [Spend.Restore].
func (s *Spend) View(wall time.Time) SpendView {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(wall)
	return SpendView{
		Spent: Spent{
			Day: time.Unix(s.day.start, 0).UTC(), Month: time.Unix(s.month.start, 0).UTC(),
			DayPico: s.day.spent, MonthPico: s.month.spent,
		},
		Settings: s.settings, Reserved: s.reserved, Unpriced: s.unpriced,
	}
}

func (s *Spend) pass(wall time.Time) {
	now := wall.Unix()
	s.day.advance(now, day)
	s.month.advance(now, month)
}

// price is the cost, if need be at the fallback price.
func (s *Spend) price(c Cost) (int64, bool) {
	if c.Known {
		return max(0, c.Pico), true
	}
	return s.settings.Fallback(c.Input, c.Output)
}

// check refuses or not, and takes nothing. The caller holds the lock.
func (s *Spend) check(wall time.Time, estimate Cost) Refusal {
	s.pass(wall)
	if !s.settings.Capped() {
		return Refusal{}
	}
	cost, known := s.price(estimate)
	if !known {
		return Refusal{Rule: RulePriceUnknown, Never: true}
	}
	if cost == 0 {
		return Refusal{}
	}
	no := s.lacks(&s.day, s.settings.DayPico, cost, RuleSpendDay, wall)
	return no.and(s.lacks(&s.month, s.settings.MonthPico, cost, RuleSpendMonth, wall))
}

// lacks says what stands in the way of a cost in one span.
func (s *Spend) lacks(p *span, most, cost int64, rule Rule, wall time.Time) Refusal {
	if most == 0 || add(add(p.spent, s.reserved), cost) <= most {
		return Refusal{}
	}
	r := Refusal{Rule: rule, Asked: cost, Left: max(0, most-add(p.spent, s.reserved)), Cap: most, Never: cost > most}
	switch {
	case r.Never:
	case add(p.spent, cost) <= most:
		// Only reservations are in the way, and they may come back lower.
		r.RetryAfter = time.Duration(s.typical)
	default:
		r.RetryAfter = time.Unix(p.end, 0).Sub(wall)
	}
	return r
}

// take reserves what was checked. The caller holds the lock.
func (s *Spend) take(wall time.Time, estimate Cost) SpendHold {
	cost, _ := s.price(estimate)
	before := s.reserved
	s.reserved = add(before, cost)
	return SpendHold{spend: s, reserved: s.reserved - before, since: wall.UnixNano()}
}

// release takes a reservation back, and learns how long such ones last.
func (s *Spend) release(h SpendHold, wall time.Time) {
	s.reserved -= h.reserved
	lasted := clamp(wall.UnixNano()-h.since, int64(maxRetryAfter))
	s.typical += 0.2 * (float64(max(lasted, int64(time.Second))) - s.typical)
}

// add adds amounts that are not negative, up to what can be counted.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// times multiplies tokens by a price, up to what can be counted.
func times(tokens, pico int64) int64 {
	if tokens <= 0 || pico <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(tokens), uint64(pico))
	if high != 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(low)
}
