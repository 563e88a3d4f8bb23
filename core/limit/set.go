package limit

import "time"

// Now is one reading of both clocks: intervals are measured on the monotonic
// one, days and months on the wall.
type Now struct {
	Mono time.Duration
	Wall time.Time
}

// Ask is what one attempt wants of all its limits.
type Ask struct {
	Priority int
	Use      Use
	Cost     Cost
}

// Set is all that stands between a request and its attempt. Fields that are nil
// limit nothing. Sets are built per request from limits that live longer; a
// limit stands once in a set, and in the same field of every set, because the
// fields' order is the order of locking.
type Set struct {
	// Target bounds the attempts at once.
	Target *Concurrency
	// KeyRate, UseCaseRate, GroupRate and TargetRate bound requests and tokens of
	// the caller's key, the use case, the quota group and the target.
	KeyRate, UseCaseRate, GroupRate, TargetRate *Rate
	// KeySpend and UseCaseSpend cap the money of the caller's key and the use case.
	KeySpend, UseCaseSpend *Spend
}

const (
	setRates  = 4
	setSpends = 2
)

func (s *Set) rates() [setRates]*Rate {
	return [setRates]*Rate{s.KeyRate, s.UseCaseRate, s.GroupRate, s.TargetRate}
}

func (s *Set) spends() [setSpends]*Spend { return [setSpends]*Spend{s.KeySpend, s.UseCaseSpend} }

// rateScope and spendScope name the owner of a set's limit by its position.
func rateScope(i int) Scope {
	return [setRates]Scope{ScopeKey, ScopeUseCase, ScopeGroup, ScopeTarget}[i]
}

func spendScope(i int) Scope { return [setSpends]Scope{ScopeKey, ScopeUseCase}[i] }

// Reservation is what one attempt holds of a set. It is a value, so that
// reserving allocates nothing; keep it in one place and don't copy it. The zero
// value holds nothing, and its methods do nothing. It is not for concurrent use.
type Reservation struct {
	ticket Ticket
	rates  [setRates]RateHold
	spends [setSpends]SpendHold
}

// Reserve takes all that is asked for, or nothing: no other caller sees a part
// of it taken. A refusal tells of the limit that lasts longest, and names
// concurrency only if nothing else refuses, so that a caller who then waits in
// the queue doesn't wait in vain. After a success, end the reservation with
// [Reservation.Settle] or [Reservation.Cancel] on every path, panics included;
// `defer` of a function that cancels is a sound net, because only the first
// ending counts.
func (s *Set) Reserve(now Now, a Ask) (Reservation, Refusal) {
	return s.reserve(now, a, nil)
}

// Adopt is Reserve for a caller that has waited for its ticket at the set's
// Target: the reservation takes the ticket over, and releases it if another
// limit refuses.
func (s *Set) Adopt(now Now, t *Ticket, a Ask) (Reservation, Refusal) {
	r, no := s.reserve(now, a, t)
	if no.Refused() {
		t.Release(now.Mono)
		return Reservation{}, no
	}
	r.ticket, t.of = Ticket{of: t.of}, nil
	return r, Refusal{}
}

// reserve checks everything under all locks before it takes anything.
func (s *Set) reserve(now Now, a Ask, waited *Ticket) (Reservation, Refusal) {
	var r Reservation
	use := a.Use.amounts()
	s.lock()
	defer s.unlock()
	no := s.check(now, a, use, waited != nil)
	if no.Refused() {
		return r, no
	}
	if s.Target != nil && waited == nil {
		r.ticket = s.Target.start(now.Mono)
	}
	for i, rate := range s.rates() {
		if rate != nil {
			r.rates[i] = rate.take(use)
		}
	}
	for i, spend := range s.spends() {
		if spend != nil {
			r.spends[i] = spend.take(now.Wall, a.Cost)
		}
	}
	return r, no
}

// check asks every limit. The caller holds all locks.
func (s *Set) check(now Now, a Ask, use amounts, waited bool) Refusal {
	var no Refusal
	scoped := func(r Refusal, of Scope) {
		if r.Refused() {
			r.Scope = of
			no = no.and(r)
		}
	}
	if s.Target != nil && !waited && s.Target.full() {
		scoped(s.Target.refusal(now.Mono, a.Priority), ScopeTarget)
	}
	for i, rate := range s.rates() {
		if rate != nil {
			scoped(rate.check(now.Mono, use), rateScope(i))
		}
	}
	for i, spend := range s.spends() {
		if spend != nil {
			scoped(spend.check(now.Wall, a.Cost), spendScope(i))
		}
	}
	return no
}

func (s *Set) lock() {
	if s.Target != nil {
		s.Target.mu.Lock()
	}
	for _, r := range s.rates() {
		if r != nil {
			r.mu.Lock()
		}
	}
	for _, sp := range s.spends() {
		if sp != nil {
			sp.mu.Lock()
		}
	}
}

func (s *Set) unlock() {
	for _, sp := range s.spends() {
		if sp != nil {
			sp.mu.Unlock()
		}
	}
	for _, r := range s.rates() {
		if r != nil {
			r.mu.Unlock()
		}
	}
	if s.Target != nil {
		s.Target.mu.Unlock()
	}
}

// Settle ends the reservation with what was really used and what it cost. A
// request that the vendor refused used 1 request, no tokens and a known cost of
// 0. Later endings do nothing.
func (r *Reservation) Settle(now Now, use Use, cost Cost) {
	r.ticket.Release(now.Mono)
	for i := range r.rates {
		r.rates[i].Settle(now.Mono, use)
	}
	for i := range r.spends {
		r.spends[i].Settle(now.Wall, cost)
	}
}

// Cancel ends the reservation of an attempt that was never sent: all comes
// back. Later endings do nothing.
func (r *Reservation) Cancel(now Now) { r.Settle(now, Use{}, Cost{Known: true}) }
