package limit

import (
	"sync"
	"time"
)

// Use is what a request takes of a rate: estimated before, real after. Negative
// figures count as 0.
type Use struct {
	// Requests is 1 for a request that was sent.
	Requests int64
	Input    int64
	Output   int64
}

// Rate bounds requests and tokens a minute with token buckets (R13.1). Make it
// with [NewRate]. It is safe for concurrent use. Times are monotonic; one that
// goes back counts as standing still.
//
// A bucket that was idle holds a burst beside what it refills: in any minute
// no more than the burst and a minute's allowance is admitted. What a request
// used beyond its estimate is taken afterwards, and later requests wait for it.
type Rate struct {
	mu      sync.Mutex
	buckets [rateRules]bucket
}

// rateRules is how many limits a rate has, in the order of their rules from
// [RuleRequests] on.
const rateRules = 4

// amounts are what is asked of each of them.
type amounts [rateRules]int64

// NewRate returns a rate with full buckets. Figures that [RateSettings.Check]
// refuses are cut to its bounds.
func NewRate(s RateSettings, now time.Duration) *Rate {
	r := &Rate{}
	r.SetSettings(s, now)
	return r
}

// SetSettings swaps the limits while requests run. What was used stays used; a
// limit that is new starts full.
func (r *Rate) SetSettings(s RateSettings, now time.Duration) {
	burst := clamp(s.BurstSeconds, defaultBurstSeconds)
	if burst == 0 {
		burst = defaultBurstSeconds
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, perMinute := range [rateRules]int64{
		s.RequestsPerMinute, s.InputTokensPerMinute, s.OutputTokensPerMinute, s.TokensPerMinute,
	} {
		r.buckets[i].set(perMinute, burst, now, i == 0)
	}
}

// RateHold is what one request has taken of a rate. It is a value; keep it in
// one place and don't copy it. The zero value holds nothing, and its methods do
// nothing. It is not for concurrent use.
type RateHold struct {
	rate  *Rate
	taken amounts
}

// Reserve takes an estimate of all limits or of none. With a refusal the hold
// is empty. Ask for the output cap as output: then no request can use more than
// it reserved, and no burst gets past a limit.
func (r *Rate) Reserve(now time.Duration, u Use) (RateHold, Refusal) {
	a := u.amounts()
	r.mu.Lock()
	defer r.mu.Unlock()
	if no := r.check(now, a); no.Refused() {
		return RateHold{}, no
	}
	return r.take(a), Refusal{}
}

// Settle ends the hold with what was really used: the difference to the
// estimate is given back or taken. A request that was sent is 1 request.
func (h *RateHold) Settle(now time.Duration, real Use) {
	r, taken := h.rate, h.taken
	*h = RateHold{}
	if r == nil {
		return
	}
	a := real.amounts()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.buckets {
		r.buckets[i].pass(now)
		r.buckets[i].move(a[i] - taken[i])
	}
}

// Cancel ends the hold of a request that was never sent: all comes back.
func (h *RateHold) Cancel(now time.Duration) { h.Settle(now, Use{}) }

// RateView is a rate's state at one moment, in requests and tokens. A Cap of 0
// is no limit.
type RateView struct {
	Requests, Input, Output, Tokens Level
}

// Level is how much of one limit is taken.
type Level struct {
	// Used is what the burst lacks, reservations included; it falls as time passes.
	Used int64
	// Cap is the limit per minute.
	Cap int64
}

// View reads the rate without changing it.
func (r *Rate) View(now time.Duration) RateView {
	r.mu.Lock()
	defer r.mu.Unlock()
	var levels [rateRules]Level
	for i, b := range r.buckets {
		b.pass(now)
		levels[i] = Level{Used: b.used(), Cap: b.perMinute}
	}
	return RateView{Requests: levels[0], Input: levels[1], Output: levels[2], Tokens: levels[3]}
}

func (u Use) amounts() amounts {
	in, out := clamp(u.Input, maxTokens), clamp(u.Output, maxTokens)
	return amounts{clamp(u.Requests, maxTokens), in, out, min(in+out, maxTokens)}
}

// check refuses or not, and takes nothing. The caller holds the lock.
func (r *Rate) check(now time.Duration, a amounts) Refusal {
	var no Refusal
	for i := range r.buckets {
		b := &r.buckets[i]
		b.pass(now)
		if n := b.lacks(a[i]); n > 0 {
			no = no.and(b.refusal(a[i], n, RuleRequests+Rule(i)))
		}
	}
	return no
}

// take takes what was checked, and remembers what was really taken: a limit
// that comes into force meanwhile must not be given back what it never gave.
// The caller holds the lock.
func (r *Rate) take(a amounts) RateHold {
	h := RateHold{rate: r}
	for i := range r.buckets {
		h.taken[i] = r.buckets[i].move(a[i])
	}
	return h
}
