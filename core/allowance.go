package core

import (
	"context"
	"time"

	"github.com/spillway-llm/spillway/core/limit"
	"github.com/spillway-llm/spillway/core/price"
)

// unsaidInput stands for the input tokens of a request of unknown size: an
// estimate of 0 would let any number of those past a limit (R23 of the field
// failures). Beside it stands unsaidTokens for a missing output limit.
const unsaidInput = 1000

// allowance is what one request holds of the limits (R13.1): once for itself,
// and once for each attempt.
type allowance struct {
	estimate limit.Use
	request  limit.Reservation
	reserved bool // request holds something
	attempt  limit.Reservation
	// used is what the attempts used. unpriced is the part of it without a price,
	// and untold tells that some of that is not known either.
	used, unpriced limit.Use
	untold         bool
	// priced tells that a spend cap rules out the steps without a price.
	priced bool

	// full are the steps that only their concurrency limit refused. In the second
	// round they are tried again, waiting for a place, one wait a request.
	full           []bool
	second, waited bool
	waiter         limit.Waiter
	ticket         limit.Ticket
	// no is the refusal to tell of if nothing else can be done, blocker the name of
	// the newest.
	no      limit.Refusal
	blocker string
}

// reset readies the allowance of a pooled flight.
func (a *allowance) reset() { *a = allowance{full: a.full[:0]} }

// expected is what a request uses by what it says about itself.
func expected(f *Facts) limit.Use {
	u := limit.Use{Requests: 1, Input: int64(f.InputTokens), Output: int64(f.MaxTokens)}
	if u.Input == 0 {
		u.Input = unsaidInput
	}
	if u.Output == 0 {
		u.Output = unsaidTokens
	}
	return u
}

// reserve takes what the request may need of its key's and its use case's
// limits before anything is sent, or says which one refuses.
func (f *flight) reserve() *Error {
	ofKey, ofUse := f.req.Limits, f.w.rev.Tables.UseCaseLimits[f.uc]
	if e := f.outputCap(limit.ScopeKey, ofKey.MaxOutputTokens); e != nil {
		return e
	}
	if e := f.outputCap(limit.ScopeUseCase, ofUse.MaxOutputTokens); e != nil {
		return e
	}
	a := &f.allowance
	a.estimate = expected(&f.d.Facts)
	use := f.w.useCases[f.uc]
	if len(f.plan.Steps) == 0 || use == nil && !ofKey.Counted() {
		return nil
	}
	now := f.e.clock.Mono()
	key := f.e.accounts.of(limitKey{limit.ScopeKey, f.req.KeyID}, ofKey, now)
	set := limit.Set{
		KeyRate: key.rateUnder(ofKey), KeySpend: key.spendUnder(ofKey),
		UseCaseRate: use.rateUnder(ofUse), UseCaseSpend: use.spendUnder(ofUse),
	}
	ask := limit.Ask{Priority: f.d.Facts.Priority, Use: a.estimate}
	if set.KeySpend != nil || set.UseCaseSpend != nil {
		ask.Cost = f.estimateCost(ofKey.Spend, ofUse.Spend)
	}
	r, no := set.Reserve(limit.Now{Mono: now, Wall: f.d.At}, ask)
	if no.Refused() {
		return f.limited(no)
	}
	a.request, a.reserved = r, true
	return nil
}

// estimateCost is what the request costs at the dearest step that it may take.
// Steps without a price count at the fallback price of every cap that applies.
// Where one has none, they are not taken, and a request that names such a target
// or can take no other has no estimate.
func (f *flight) estimateCost(caps ...limit.SpendSettings) limit.Cost {
	u := f.allowance.estimate
	dearest, priced, bare := int64(0), false, false
	for i := range f.plan.Steps {
		t := &f.w.rev.Catalog.Targets[f.plan.Steps[i].Index]
		cost, ok := t.Price.Cost(price.Usage{Input: u.Input, Output: u.Output, Known: true})
		if !ok {
			cost, ok = fallbackCost(caps, u)
		}
		switch {
		case ok:
			dearest, priced = max(dearest, cost), true
		case t.ID == f.d.Facts.Target:
			return limit.Cost{}
		default:
			bare = true
		}
	}
	f.allowance.priced = bare
	return limit.Cost{Pico: dearest, Known: priced}
}

// fallbackCost is the cost at the dearest of the stated fallback prices, false
// when a cap that applies states none.
func fallbackCost(caps []limit.SpendSettings, u limit.Use) (int64, bool) {
	dearest := int64(0)
	for _, s := range caps {
		if !s.Capped() {
			continue
		}
		cost, ok := s.Fallback(u.Input, u.Output)
		if !ok {
			return 0, false
		}
		dearest = max(dearest, cost)
	}
	return dearest, true
}

// unpriced reports a step that a spend cap rules out.
func (f *flight) unpriced(t *Target) bool {
	if !f.allowance.priced {
		return false
	}
	u := f.allowance.estimate
	_, ok := t.Price.Cost(price.Usage{Input: u.Input, Output: u.Output, Known: true})
	return !ok
}

// enter takes what an attempt needs of its target's limits. A caller who waited
// for a place brings its ticket.
func (f *flight) enter(target int, now time.Duration) limit.Refusal {
	a, g := &f.allowance, &f.w.gates[target]
	set := limit.Set{Target: g.concurrency, TargetRate: g.rate, GroupRate: g.group}
	ask := limit.Ask{Priority: f.d.Facts.Priority, Use: a.estimate}
	var no limit.Refusal
	if a.ticket.Held() {
		a.attempt, no = set.Adopt(limit.Now{Mono: now}, &a.ticket, ask)
	} else {
		a.attempt, no = set.Reserve(limit.Now{Mono: now}, ask)
	}
	if no.Refused() {
		f.noteRefusal(no)
		a.full[f.step] = no.Rule == limit.RuleConcurrency && !a.second
	}
	return no
}

// noteRefusal keeps the refusal that ends first, which is the one to tell of.
func (f *flight) noteRefusal(no limit.Refusal) {
	old := &f.allowance.no
	f.allowance.blocker = limitName(no)
	if !old.Refused() || old.Never || !no.Never && no.RetryAfter < old.RetryAfter {
		*old = no
	}
}

// stays reports that policy lets a request wait at a full target instead of
// taking the next step.
func (f *flight) stays() bool { return f.reaction(KindLimitLocal).Next == NextNone }

// secondRound makes the steps that were full eligible again, once, and reports
// whether there are any.
func (f *flight) secondRound() bool {
	a := &f.allowance
	found := false
	for i := range a.full {
		if a.full[i] && !a.second {
			a.full[i], f.used[i], found = false, false, true
		}
	}
	a.second = a.second || found
	return found
}

// takeStep runs a step once there is a place at its target.
func (f *flight) takeStep(i int) (err *Error, tried bool) {
	if ok, stop := f.place(i); !ok {
		if stop == nil {
			stop = &Error{Op: "step " + f.plan.Steps[i].Target, Kind: KindLimitLocal}
		}
		return stop, false
	}
	err, tried = f.runStep(i)
	if t := &f.allowance.ticket; t.Held() { // the step was not taken after all
		t.Release(f.e.clock.Mono())
	}
	return err, tried
}

// place gets a place at a step's target before the step is taken, by waiting if
// there is none and the request is one that waits; ok is false when it got none.
func (f *flight) place(i int) (ok bool, stop *Error) {
	if !f.allowance.second && !f.stays() {
		return true, nil
	}
	a, c := &f.allowance, f.w.gates[f.plan.Steps[i].Index].concurrency
	var no limit.Refusal
	if a.ticket, no = c.Acquire(f.e.clock.Mono(), f.d.Facts.Priority); !no.Refused() {
		return true, nil
	}
	if !a.waited {
		if a.ticket, no, stop = f.queue(c); stop != nil || !no.Refused() {
			return stop == nil, stop
		}
	}
	no.Scope = limit.ScopeTarget
	f.noteRefusal(no)
	f.skipAgain(i, no)
	return false, nil
}

// queue waits for a place at a full target, as long as the request and the
// queue allow and nobody of a higher priority needs the place in the queue.
func (f *flight) queue(c *limit.Concurrency) (limit.Ticket, limit.Refusal, *Error) {
	ctx, wake := context.WithCancel(f.ctx)
	defer wake()
	begun, w := f.e.clock.Mono(), &f.allowance.waiter
	w.Priority, w.Patience, w.Wake = f.d.Facts.Priority, max(f.left()-minUseful, 1), wake
	ticket, no, waits := c.Join(begun, w)
	if !waits {
		return ticket, no, nil
	}
	f.allowance.waited = true
	// It ends early by being woken; what came of the wait says the queue.
	_ = f.e.clock.Sleep(ctx, w.Until()-begun)
	now := f.e.clock.Mono()
	f.wait += now - begun
	ticket, no = c.Claim(now, w)
	if err := f.ctx.Err(); err != nil {
		ticket.Release(now)
		return limit.Ticket{}, no, f.callerGone(err)
	}
	return ticket, no, nil
}

// skipAgain notes why a step is skipped, in the place of its earlier skip.
func (f *flight) skipAgain(i int, no limit.Refusal) {
	t := f.plan.Steps[i].Target
	for n := range f.d.Skips {
		if s := &f.d.Skips[n]; s.Step == i && s.Kind == KindLimitLocal {
			s.Wait = no.RetryAfter
			return
		}
	}
	f.step = i
	f.skip(t, KindLimitLocal, limitName(no), no.RetryAfter)
}

// settleAttempt gives back what the attempt did not use of its target's limits,
// and adds what it used to the request's.
func (f *flight) settleAttempt(err *Error, now time.Duration) {
	a, facts := &f.allowance, &f.d.Facts
	usage := &f.attempt.Usage
	use := limit.Use{Requests: 1, Input: usage.Prompt(), Output: usage.Output}
	told := usage.Known || usage.Estimated
	switch {
	case err != nil && f.content == 0 && !told:
		use = unanswered(err, facts)
	case !told:
		// A vendor's own limits are guarded by what the request said; a caller's by
		// the whole estimate, or leaving the output limit out would be a way past them.
		use.Input, use.Output = int64(facts.InputTokens), int64(facts.MaxTokens)
	}
	a.attempt.Settle(limit.Now{Mono: now}, use, limit.Cost{Known: true})
	if !told && (err == nil || f.content != 0) {
		use, a.untold = a.estimate, true
	}
	a.used.Input, a.used.Output = a.used.Input+use.Input, a.used.Output+use.Output
	if !f.attempt.Target.Price.Known() {
		a.unpriced.Input, a.unpriced.Output = a.unpriced.Input+use.Input, a.unpriced.Output+use.Output
	}
}

// unanswered is what an attempt without an answer used of its target's limits.
func unanswered(err *Error, facts *Facts) limit.Use {
	switch {
	case err.Kind == KindConnect || err.Kind == KindTimeoutConnect:
		return limit.Use{} // nothing was sent
	case err.Status >= 400:
		return limit.Use{Requests: 1} // vendors count no tokens of what they refuse
	}
	return limit.Use{Requests: 1, Input: int64(facts.InputTokens)}
}

// giveBack ends all that the request still holds, on every way out of it.
func (f *flight) giveBack() {
	a := &f.allowance
	now := limit.Now{Mono: f.e.clock.Mono()}
	a.ticket.Release(now.Mono)
	a.attempt.Cancel(now)
	if !a.reserved {
		return
	}
	now.Wall = f.e.clock.Wall()
	if len(f.d.Attempts) == 0 {
		a.request.Cancel(now)
		return
	}
	f.d.tally()
	cost := limit.Cost{Pico: f.d.Cost, Known: f.d.CostKnown}
	if !cost.Known && !a.untold {
		cost = limit.Cost{Input: a.unpriced.Input, Output: a.unpriced.Output}
	}
	a.used.Requests = 1
	a.request.Settle(now, a.used, cost)
}
