package core

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/core/limit"
)

// limitKey names whose limit it is: a caller's key, a use case, a quota group or
// a target.
type limitKey struct {
	scope limit.Scope
	id    string
}

// account is what one caller's key or one use case has used of its limits.
type account struct {
	limitKey
	limits  CallerLimits // guarded by accounts.mu
	rate    *limit.Rate
	spend   *limit.Spend
	sampled limit.Spent   // guarded by accounts.mu
	at      time.Duration // of the last sample; guarded by accounts.mu
}

// accounts keeps the accounts by name, so that neither an activation nor a
// reload forgets what was used. Those of keys come with the keys' first
// requests, whose grants carry the limits.
type accounts struct {
	mu  sync.Mutex
	all map[limitKey]*account
}

// of returns the account under these limits, nil when there is nothing to count.
func (a *accounts) of(k limitKey, l CallerLimits, now time.Duration) *account {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.all[k]
	if !l.Counted() && x == nil {
		return nil
	}
	if x == nil {
		x = a.open(k, now)
	}
	if x.limits != l {
		x.limits = l
		x.rate.SetSettings(l.Rate, now)
		x.spend.SetSettings(l.Spend)
	}
	if !l.Counted() {
		return nil
	}
	return x
}

// open makes an account without limits. The caller holds mu.
func (a *accounts) open(k limitKey, now time.Duration) *account {
	x := &account{
		limitKey: k, at: now - spendEvery,
		rate: limit.NewRate(limit.RateSettings{}, now), spend: limit.NewSpend(limit.SpendSettings{}),
	}
	if a.all == nil {
		a.all = map[limitKey]*account{}
	}
	a.all[k] = x
	return x
}

// rateUnder and spendUnder are what an account has to count under its limits;
// a nil account counts nothing.
func (x *account) rateUnder(l CallerLimits) *limit.Rate {
	if x == nil || !l.Rate.Limited() {
		return nil
	}
	return x.rate
}

func (x *account) spendUnder(l CallerLimits) *limit.Spend {
	if x == nil || !l.Spend.Capped() {
		return nil
	}
	return x.spend
}

// spendEvery is how often an account that moves is recorded. With the tick and
// the store's own delay, a process that is killed forgets at most a second.
const spendEvery = 700 * time.Millisecond

// moved takes a sample of every account whose spending moved since its last
// one; those that were sampled less than the interval ago wait.
func (a *accounts) moved(now time.Duration, wall time.Time, every time.Duration) []*SpendSample {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []*SpendSample
	for _, x := range a.all {
		if now-x.at < every || !x.limits.Spend.Capped() {
			continue
		}
		v := x.spend.View(wall)
		if v.DayPico == x.sampled.DayPico && v.MonthPico == x.sampled.MonthPico {
			continue
		}
		x.sampled, x.at = v.Spent, now
		out = append(out, &SpendSample{
			At: wall, Scope: x.scope, ID: x.id, Spent: v.Spent,
			DayCapPico: v.Settings.DayPico, MonthCapPico: v.Settings.MonthPico,
		})
	}
	slices.SortFunc(out, func(a, b *SpendSample) int { return byName(a.Scope, b.Scope, a.ID, b.ID) })
	return out
}

// sampleSpends records the accounts that moved (R13.1).
func (e *Engine) sampleSpends(now, every time.Duration) {
	for _, s := range e.accounts.moved(now, e.clock.Wall(), every) {
		e.recorder.Record(s)
	}
}

// restore takes over what an earlier process left.
func (a *accounts) restore(list []SpendState, now time.Duration, wall time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range list {
		k := limitKey{s.Scope, s.ID}
		x := a.all[k]
		if x == nil {
			x = a.open(k, now)
		}
		x.spend.Restore(wall, s.Spent)
		x.sampled = x.spend.View(wall).Spent
	}
}

// state is what must survive a restart.
func (a *accounts) state(wall time.Time) []SpendState {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []SpendState
	for _, x := range a.all {
		if v := x.spend.View(wall); v.MonthPico > 0 || v.DayPico > 0 {
			out = append(out, SpendState{Scope: x.scope, ID: x.id, Spent: v.Spent})
		}
	}
	slices.SortFunc(out, func(a, b SpendState) int { return byName(a.Scope, b.Scope, a.ID, b.ID) })
	return out
}

// Account is what a caller's key or a use case has used of its limits.
type Account struct {
	Scope  limit.Scope
	ID     string
	Limits CallerLimits
	Rate   limit.RateView
	Spend  limit.SpendView
}

// Accounts returns the accounts of the use cases that have limits, and of those
// keys whose requests brought some, by scope and id.
func (e *Engine) Accounts() []Account {
	now, wall := e.clock.Mono(), e.clock.Wall()
	a := &e.accounts
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]Account, 0, len(a.all))
	for _, x := range a.all {
		out = append(out, Account{
			Scope: x.scope, ID: x.id, Limits: x.limits, Rate: x.rate.View(now), Spend: x.spend.View(wall),
		})
	}
	slices.SortFunc(out, func(a, b Account) int { return byName(a.Scope, b.Scope, a.ID, b.ID) })
	return out
}

// byName orders accounts, so that what is recorded and shown repeats itself.
func byName(scope, otherScope limit.Scope, id, otherID string) int {
	return cmp.Or(cmp.Compare(scope, otherScope), cmp.Compare(id, otherID))
}
