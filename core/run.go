package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/limit"
)

// Run decides and makes attempts until one succeeds, the caller's own mistake
// is answered, or nothing is left. It fills req.Decision; nil means answered.
// The error is an [*Error] that lists what was tried. Call [Engine.Finish] once
// the caller was answered.
func (e *Engine) Run(ctx context.Context, req *Request, a Attempter) error {
	now := e.clock.Mono()
	e.refreshIfDue(now)
	snap := e.snap.Load()
	f := e.flights.Get().(*flight)
	defer e.flights.Put(f)
	f.begin(e, ctx, snap, req, a, now)
	defer f.end()
	uc, ok := snap.world.rev.Tables.UseCaseIndex(req.Facts.UseCase)
	if !ok {
		return f.fail(&Error{
			Op: "run request", Kind: KindInvalidRequest,
			Message: fmt.Sprintf("use case %q is not known", req.Facts.UseCase),
		})
	}
	f.decide(snap, uc)
	err := f.reserve()
	if err == nil {
		err = f.run()
	}
	if err == nil {
		e.affinity.set(req.Affinity, f.d.Target, e.clock.Mono())
		return nil
	}
	return f.fail(err)
}

// Finish settles and records the decision.
func (e *Engine) Finish(req *Request) {
	req.Decision.tally()
	e.recorder.Record(&req.Decision)
}

// begin readies a pooled flight.
func (f *flight) begin(e *Engine, ctx context.Context, snap *Snapshot, req *Request, a Attempter, now time.Duration) {
	f.e, f.ctx, f.w, f.req, f.try, f.start = e, ctx, snap.world, req, a, now
	f.seed = e.requests.Add(1)
	f.committed, f.paid, f.spent, f.seen, f.hops, f.step, f.wait = false, false, false, 0, 0, -1, 0
	f.mistake, f.tooLong, f.window, f.elsewhere = nil, false, 0, elsewhere{}
	f.used = f.used[:0]
	f.allowance.reset()
	d := &req.Decision
	d.Reset()
	wall := e.clock.Wall()
	d.ID, d.At = e.ids.next(wall), wall
	d.KeyID, d.Tenant, d.Wire, d.Path, d.Tags = req.KeyID, req.Tenant, req.Wire, req.Path, req.Tags
	d.Snapshot, d.Revision, d.Catalog = snap, snap.Revision, snap.Catalog.Digest
	d.Facts = req.Facts
	f.d = d
}

// end drops what the flight points to, so that the pool keeps nothing alive.
func (f *flight) end() {
	f.giveBack()
	f.d.Duration = f.elapsed()
	used := f.used[:0]
	f.e, f.ctx, f.w, f.req, f.try, f.d, f.plan, f.mistake = nil, nil, nil, nil, nil, nil, nil, nil
	f.attempt, f.elsewhere = Attempt{}, elsewhere{}
	f.used = used
}

// decide asks the policy for the plan.
func (f *flight) decide(snap *Snapshot, uc int) {
	f.uc = uc
	facts := &f.d.Facts
	if t := f.e.affinity.get(f.req.Affinity); t != "" {
		if _, ok := snap.Catalog.TargetIndex(t); ok {
			facts.AffinityTarget = t
		}
	}
	f.plan, f.d.Memo = f.w.rev.Decider.Decide(snap, facts)
	f.d.Plan, f.d.UseCase = f.plan, uc
	f.d.Level = snap.Levels[uc]
	f.d.Tier = f.w.rev.Tables.Tiers[uc][f.d.Level].Name
	for range f.plan.Steps {
		f.used, f.allowance.full = append(f.used, false), append(f.allowance.full, false)
	}
}

// run walks the plan.
func (f *flight) run() *Error {
	var last *Error
	next := NextAny
	for {
		i := f.choose(next)
		if i < 0 && f.secondRound() {
			i = f.choose(next)
		}
		if i < 0 {
			return f.exhausted(last)
		}
		f.used[i] = true
		err, tried := f.takeStep(i)
		if err == nil {
			return nil
		}
		if err.Kind == KindCallerGone || f.committed || (!tried && err.Kind == KindTimeoutWhole) {
			return err
		}
		if !tried && err.Kind == KindLimitLocal && f.stays() {
			return f.exhausted(last)
		}
		if !tried {
			continue // a skipped step is no hop (R1.6)
		}
		last = err
		if f.noteMistake(i, err) {
			return f.exhausted(last)
		}
		r := f.reaction(err.Kind)
		next = r.Next
		f.seen |= 1 << err.Kind
		if next == NextNone || f.hops >= f.plan.Limits.MaxHops || len(f.d.Attempts) >= f.plan.Limits.MaxAttempts {
			return f.exhausted(last)
		}
		if stop := f.pause(r, next); stop != nil {
			return stop
		}
		f.hops++
	}
}

// choose returns the next step of the plan that the reaction allows, -1 for none.
func (f *flight) choose(next Next) int {
	vendor := ""
	if l := f.d.Last(); l != nil {
		if i, ok := f.w.rev.Catalog.TargetIndex(l.Target); ok {
			vendor = f.w.rev.Catalog.Targets[i].Vendor
		}
	}
	first := -1
	for i := range f.plan.Steps {
		if f.used[i] || f.tooSmall(i) {
			continue
		}
		same := f.w.rev.Catalog.Targets[f.plan.Steps[i].Index].Vendor == vendor
		if next == NextAny || vendor == "" || same == (next == NextSameVendor) {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	if next == NextSameVendor {
		return -1
	}
	return first
}

// pause waits before another step, if policy says so.
func (f *flight) pause(r Reaction, next Next) *Error {
	i := f.choose(next)
	if i < 0 {
		return nil // nothing is left to wait for
	}
	d := r.Pause()
	if f.vendorChanges(i) {
		d += time.Duration(f.plan.PauseBeforeVendorSwitchMS) * time.Millisecond
	}
	if d == 0 {
		return nil
	}
	if d >= f.left() {
		return f.timeUp()
	}
	f.wait += d
	if err := f.e.clock.Sleep(f.ctx, d); err != nil {
		return f.callerGone(err)
	}
	return nil
}

func (f *flight) vendorChanges(i int) bool {
	l, ok := f.w.rev.Catalog.TargetIndex(f.d.Last().Target)
	return ok && f.w.rev.Catalog.Targets[l].Vendor != f.w.rev.Catalog.Targets[f.plan.Steps[i].Index].Vendor
}

// reaction is what policy says about a failure of this request.
func (f *flight) reaction(k Kind) Reaction {
	return f.w.rev.Tables.Reaction(f.uc, k, f.seen&(1<<k) != 0, f.committed)
}

// minUseful is the time without which a step isn't started (R3.1): a connection
// and a first byte take about that long.
const minUseful = 100 * time.Millisecond

// runStep makes the attempts of one step. tried is false when it was skipped.
func (f *flight) runStep(i int) (err *Error, tried bool) {
	s := &f.plan.Steps[i]
	f.step = i
	t := &f.w.rev.Catalog.Targets[s.Index]
	if f.left() < minUseful {
		return f.timeUp(), false
	}
	if f.unpriced(t) {
		f.allowance.blocker = limit.RulePriceUnknown.String()
		return f.refused(t.ID, KindLimitLocal, 0, nil)
	}
	if err := f.try.Prepare(t); err != nil {
		e := asError(err, "prepare "+t.ID)
		f.skip(t.ID, e.Kind, e.detail(), 0)
		return e, e.Kind != KindNotPortable
	}
	for n := 0; ; n++ {
		key, permit, why, wait := f.admit(s.Index)
		if why != KindNone {
			if f.paid { // the retry that was paid for is not sent
				f.w.cells[f.uc][s.Index].budget.Return(f.e.clock.Mono())
			}
			return f.refused(t.ID, why, wait, err)
		}
		err = f.attemptOnce(s, key, permit)
		tried = true
		if err == nil || err.Kind == KindCallerGone || f.committed {
			return err, true
		}
		again, stop := f.again(s, err, n)
		if stop != nil {
			return stop, true
		}
		if !again {
			return err, true
		}
	}
}

// admit finds a key and asks the circuit for a permit, or says what stands in
// the way and for how long. Asking may half-open the circuit.
func (f *flight) admit(target int) (key int, permit circuit.Permit, why Kind, wait time.Duration) {
	c, now := f.w.cells[f.uc][target], f.e.clock.Mono()
	key, why, wait = f.e.keyFor(f.w, target, f.keyDraw(), now)
	if key < 0 {
		return key, permit, why, wait
	}
	permit, wait, ok := c.circuit.Acquire(now)
	if tr, woke := permit.Transition(); woke {
		f.e.transition(f.w, c, tr)
		f.e.changed(now)
	}
	if !ok {
		return key, permit, KindOpenCircuit, wait
	}
	if no := f.enter(target, now); no.Refused() {
		permit.Done(now, circuit.Neutral, "")
		return key, permit, KindLimitLocal, no.RetryAfter
	}
	return key, permit, KindNone, 0
}

// refused notes a step that may not be tried now. After attempts at the same
// step their failure stays the reason, but its hint is of the past.
func (f *flight) refused(target string, why Kind, wait time.Duration, earlier *Error) (*Error, bool) {
	detail := ""
	if why == KindLimitLocal {
		detail = f.allowance.blocker
	}
	f.skip(target, why, detail, wait)
	if earlier != nil {
		e := *earlier
		e.RetryAfter, e.HintGiven = wait, wait > 0
		return &e, true
	}
	return &Error{Op: "step " + target, Kind: why, RetryAfter: wait, HintGiven: wait > 0}, false
}

func (f *flight) skip(target string, k Kind, detail string, wait time.Duration) {
	f.d.Skips = append(f.d.Skips, Skip{Step: f.step, Target: target, Kind: k, Detail: detail, Wait: wait})
}

// again decides whether the same target is tried once more, and waits for it.
// The retry budget's token is taken before the sleep, so that a crowd of
// sleeping retries is already paid for (R5.1).
func (f *flight) again(s *Step, err *Error, n int) (bool, *Error) {
	f.paid = false
	wait, ok := f.beforeRetry(s, err, n)
	if !ok || wait+minUseful > f.left() || len(f.d.Attempts) >= f.plan.Limits.MaxAttempts {
		return false, nil
	}
	c := f.w.cells[f.uc][s.Index]
	now := f.e.clock.Mono()
	f.spent = true
	if !c.budget.Take(now) {
		f.skip(c.target, KindBudgetEmpty, "no retry: the retry budget is empty", 0)
		return false, nil
	}
	f.paid = true
	f.seen |= 1 << err.Kind
	f.wait += wait
	if e := f.e.clock.Sleep(f.ctx, wait); e != nil {
		c.budget.Return(f.e.clock.Mono())
		return false, f.callerGone(e)
	}
	return true, nil
}

// beforeRetry is the wait before the same target is tried again; false rules
// that out. What one key's account refused, another key may be given at once.
func (f *flight) beforeRetry(s *Step, err *Error, n int) (time.Duration, bool) {
	if f.otherKey(s.Index, err.Kind) {
		return 0, true
	}
	r := f.reaction(err.Kind)
	if f.req.RetryOf > 0 { // the caller retries already (R4.5)
		return 0, false
	}
	if err.NoRetry || n >= r.Retries {
		return 0, false
	}
	return f.backoff(s, r, err, n)
}

// timeUp is the end of the request's whole time.
func (f *flight) timeUp() *Error {
	return &Error{Op: "run request", Kind: KindTimeoutWhole, Tried: f.tried()}
}

// callerGone is the end of a request whose caller left while it waited.
func (f *flight) callerGone(err error) *Error {
	return &Error{Op: "run request", Kind: KindCallerGone, Err: err}
}

// left is what remains of the request's whole time.
func (f *flight) left() time.Duration { return f.plan.Limits.Total() - f.elapsed() }

// fail notes the outcome of a request that nobody answered.
func (f *flight) fail(err *Error) *Error {
	f.d.Outcome = err.Kind
	return err
}

// exhausted is the error of a request with nothing left to try: the last
// failure, with the whole story and the soonest time at which a repetition can help.
func (f *flight) exhausted(last *Error) *Error {
	out := &Error{Op: "run request", Kind: KindNoTarget}
	switch {
	case f.mistake != nil:
		*out = *f.mistake
	case last != nil:
		*out = *last
	case f.allowance.no.Refused():
		out = f.limited(f.allowance.no)
	default:
		f.untried(out)
	}
	if last == nil || len(f.d.Attempts) > 1 || len(f.d.Skips) > 0 {
		out.Tried = f.tried()
	}
	if out.Kind.CallerFault() {
		return out
	}
	out.Spent = f.spent || len(f.d.Attempts) > 1
	if w := f.soonest(); w > 0 && (!out.HintGiven || w < out.RetryAfter) {
		out.RetryAfter, out.HintGiven = w, true
	}
	return out
}

// soonest is the shortest wait named by a skipped or excluded target.
func (f *flight) soonest() time.Duration {
	least := time.Duration(0)
	note := func(d time.Duration) {
		if d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	for _, s := range f.d.Skips {
		note(s.Wait)
	}
	now := f.e.clock.Wall()
	for _, x := range f.plan.Excluded {
		if i, ok := f.w.rev.Catalog.TargetIndex(x.Target); ok && f.w.rev.Tables.Served[f.uc][i] {
			l := &f.d.Snapshot.Targets[i]
			note(l.CooldownUntil.Sub(now))
			if l.Circuits[f.uc].State == circuit.Open {
				note(l.Circuits[f.uc].Until.Sub(now))
			}
		}
	}
	return least
}

// tried tells the whole story of a request: exclusions, skips and attempts.
func (f *flight) tried() []string {
	var out []string
	now := f.e.clock.Wall()
	for _, x := range f.plan.Excluded {
		if i, ok := f.w.rev.Catalog.TargetIndex(x.Target); ok {
			out = append(out, x.Target+": "+f.whyExcluded(i, x.Reasons, now))
		}
	}
	for _, s := range f.d.Skips {
		line := s.Target + ": " + s.Kind.String()
		if s.Detail != "" {
			line += " (" + s.Detail + ")"
		}
		out = append(out, line+leftText(s.Wait))
	}
	for i := range f.d.Attempts {
		a := &f.d.Attempts[i]
		line := a.Target + ": " + a.Kind.String()
		if a.Status != 0 {
			line += fmt.Sprintf(" (%d)", a.Status)
		}
		out = append(out, line)
	}
	return out
}

func (f *flight) whyExcluded(i int, reasons []string, now time.Time) string {
	s := ""
	for n, r := range reasons {
		if n > 0 {
			s += ", "
		}
		s += r
	}
	l := &f.d.Snapshot.Targets[i]
	if c := l.Circuits[f.uc]; c.State == circuit.Open {
		return s + leftText(c.Until.Sub(now))
	}
	return s + leftText(l.CooldownUntil.Sub(now))
}

// leftText says how long a refusal lasts, rounded up to a second (R1.6).
func leftText(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return fmt.Sprintf(", %d s left", (d+time.Second-1)/time.Second)
}

// asError makes any error an [*Error].
func asError(err error, op string) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Op: op, Kind: KindOf(err), Err: err}
}

// detail names what stands in the way, for the record: a JSON path or a field,
// never content.
func (e *Error) detail() string {
	if e.Code != "" {
		return e.Code
	}
	return e.Type
}
