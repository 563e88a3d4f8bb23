package core

import (
	"context"
	"errors"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/health"
	"github.com/spillway-llm/spillway/core/retry"
)

// flight is the state of one running request. Flights are pooled.
type flight struct {
	e    *Engine
	ctx  context.Context // the caller's
	w    *world
	req  *Request
	try  Attempter
	d    *Decision
	plan *Plan

	start     time.Duration
	seed      uint64 // of this request's random draws
	uc        int
	step      int
	hops      int
	wait      time.Duration // waited since the last attempt
	seen      uint64        // kinds met so far, one bit each
	used      []bool        // per step
	committed bool
	elsewhere elsewhere
	// paid tells that the retry under way took a token, spent that retries were
	// made or refused by their budget.
	paid, spent bool
	// mistake is the caller's own fault, if an attempt found one.
	mistake *Error
	// tooLong tells that a target's window was too small for the prompt; window is
	// its size in tokens.
	tooLong   bool
	window    int
	allowance allowance

	attempt Attempt
	target  int // of the attempt, and its node
	node    int
	begun   time.Duration // of the attempt
	content time.Duration // of its first content, 0 before
	idle    time.Duration
	watched watched
	settled bool
}

func (f *flight) elapsed() time.Duration { return f.e.clock.Mono() - f.start }

// attemptOnce makes one attempt and settles it.
func (f *flight) attemptOnce(s *Step, key int, permit circuit.Permit) *Error {
	w := f.w
	t := &w.rev.Catalog.Targets[s.Index]
	p := &w.rev.Catalog.Providers[w.owner[s.Index]]
	now := f.e.clock.Mono()
	nodes := w.providers[w.owner[s.Index]].nodes
	node := f.pickNode(nodes, now)
	f.attempt = Attempt{
		Number: len(f.d.Attempts) + 1, Step: f.step, Target: t, Provider: p, Node: &p.Nodes[node], Key: &p.Keys[key],
		Decision: f.d, flight: f, permit: permit,
	}
	a := &f.attempt
	a.Situation = f.situation(t.ID)
	a.Disclosure = w.rev.Tables.Disclosure(f.uc, f.d.Facts.Audience, a.Situation, f.d.Facts.Language)
	f.target, f.node = s.Index, node
	f.begun, f.content, f.settled = now, 0, false
	f.idle = time.Duration(s.IdleMS) * time.Millisecond
	f.d.Attempts = append(f.d.Attempts, AttemptRecord{
		Number: a.Number, Step: f.step, Target: t.ID, Node: a.Node.ID, Key: a.Key.ID,
		Start: now - f.start, Wait: f.wait, Probe: permit.Probe(), PriceAsOf: t.Price.AsOf,
	})
	f.wait = 0
	ctx, cancel := context.WithCancelCause(f.ctx)
	defer cancel(nil)
	w.targets[s.Index].window.Begin()
	due, kind := f.firstContentDue(s, now)
	f.e.watch.add(&f.watched, due, kind, cancel)
	// A panicking attempt gives its permit back on the way out (R1.2); it is
	// not turned into an error, because it is a defect of the caller's.
	defer f.abandon()
	err := f.classify(ctx, f.try.Attempt(ctx, a), t.ID)
	f.settle(err)
	return err
}

// longAnswerPerToken is what a whole answer may take for each token asked for
// beyond the first-content limit when it isn't streamed: 40 tokens a second is
// slower than every model of today. Without it a healthy long answer would be
// cut at the limit for its first content (R27, R3.1).
const longAnswerPerToken = 25 * time.Millisecond

// unsaidTokens stands for a missing output limit.
const unsaidTokens = 4096

func (f *flight) firstContentDue(s *Step, now time.Duration) (time.Duration, Kind) {
	limit := time.Duration(s.FirstContentMS) * time.Millisecond
	if !f.d.Facts.Stream {
		n := f.d.Facts.MaxTokens
		if n == 0 {
			n = unsaidTokens
		}
		limit += time.Duration(n) * longAnswerPerToken
	}
	if left := f.left(); left < limit {
		return now + left, KindTimeoutWhole
	}
	return now + limit, KindTimeoutFirstContent
}

// classify turns an attempt's error into an [*Error] of the right kind. The
// engine's own deadline and the caller's leaving outrank what they caused.
func (f *flight) classify(ctx context.Context, err error, target string) *Error {
	if err == nil {
		return nil
	}
	e := asError(err, "attempt "+target)
	if e.Kind == KindNone {
		e.Kind = KindServerError
	}
	if !caused(e, err) {
		return e
	}
	if k, ok := expired(ctx); ok {
		return &Error{Op: "attempt " + target, Kind: k, Err: err}
	}
	if f.ctx.Err() != nil {
		return &Error{Op: "attempt " + target, Kind: KindCallerGone, Err: err}
	}
	return e
}

// caused reports whether an ended context can be the reason of an error; a
// vendor's own answer that came before cannot.
func caused(e *Error, err error) bool {
	switch e.Kind {
	case KindConnect, KindTimeoutConnect, KindStreamCut, KindBadResponse, KindCallerGone,
		KindTimeoutFirstContent, KindTimeoutIdle, KindTimeoutWhole:
		return true
	}
	var classified *Error
	return e.Status == 0 && (!errors.As(err, &classified) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}

// firstContent marks the commit point (see [Attempt.FirstContent]).
func (f *flight) firstContent(a *Attempt) {
	if f.content != 0 {
		return
	}
	now := f.e.clock.Mono()
	f.committed = true
	f.content = max(now, 1)
	// 0 stands for none, also where time stands still.
	f.d.FirstContent = max(now-f.start, 1)
	f.d.Attempts[len(f.d.Attempts)-1].FirstContent = max(now-f.begun, 1)
	f.d.Target, f.d.Situation = a.Target.ID, a.Situation
	if tr, ok := a.permit.FirstContent(now); ok {
		f.e.transition(f.w, f.w.cells[f.uc][f.target], tr)
		f.e.changed(now)
	}
	f.w.providers[f.w.owner[f.target]].nodes.Served(now, f.node)
	due, kind := f.idleDue(now)
	f.e.watch.renew(&f.watched, due, kind, true)
}

// progress renews the idle limit (see [Attempt.Progress]).
func (f *flight) progress() {
	if f.content == 0 {
		return
	}
	due, kind := f.idleDue(f.e.clock.Mono())
	f.e.watch.renew(&f.watched, due, kind, false)
}

func (f *flight) idleDue(now time.Duration) (time.Duration, Kind) {
	if end := f.start + f.plan.Limits.Total(); end < now+f.idle {
		return end, KindTimeoutWhole
	}
	return now + f.idle, KindTimeoutIdle
}

// settle reports an attempt's result once: to the circuit, the figures, the
// node, the key, the budget and the record.
func (f *flight) settle(err *Error) {
	if f.settled {
		return
	}
	f.settled = true
	e, a, target := f.e, &f.attempt, f.target
	e.watch.remove(&f.watched)
	now := e.clock.Mono()
	kind := KindNone
	if err != nil {
		kind = err.Kind
	}
	c, win := f.w.cells[f.uc][target], f.w.targets[target].window
	outcome := f.outcome(kind, now)
	tr, changed := a.permit.Done(now, outcome, kind.String())
	if changed {
		e.transition(f.w, c, tr)
	}
	win.End()
	f.sample(win, outcome, now)
	switch {
	case kind == KindNone:
		c.budget.Refund(now)
		f.d.Target, f.d.Situation, f.d.Outcome = a.Target.ID, a.Situation, KindNone
	case kind == KindRateLimited:
		changed = e.cool(a, err, now) || changed
	case kind.AccountFault():
		changed = e.retire(f.w, target, a, kind, now) || changed
	}
	f.note(err, now)
	f.settleAttempt(err, now)
	if f.nodeEnded(kind, now) || changed {
		e.changed(now)
	}
}

// abandon settles an attempt that panicked.
func (f *flight) abandon() {
	if !f.settled {
		f.settle(&Error{Op: "attempt", Kind: KindServerError})
	}
}

// sample feeds the figures that routing scores; what says nothing about the
// target leaves them alone.
func (f *flight) sample(win *health.Window, o circuit.Outcome, now time.Duration) {
	if o != circuit.Success && o != circuit.Failure {
		return
	}
	s := health.Sample{OK: o == circuit.Success, Stream: f.d.Facts.Stream, Total: now - f.begun}
	if f.content != 0 {
		s.FirstContent = f.content - f.begun
	}
	win.Record(now, s)
}

// note completes the attempt's record.
func (f *flight) note(err *Error, now time.Duration) {
	a, r := &f.attempt, &f.d.Attempts[len(f.d.Attempts)-1]
	r.Duration = now - f.begun
	r.Status, r.UpstreamID, r.Usage = a.Status, a.UpstreamID, a.Usage
	if err != nil {
		r.Kind, r.Type, r.Code, r.RetryAfter = err.Kind, err.Type, err.Code, err.RetryAfter
		if err.Status != 0 {
			r.Status = err.Status
		}
	} else {
		f.d.Model = a.Model
	}
	r.Cost, r.CostKnown = a.Target.Price.Cost(a.Usage)
	if err != nil && err.Status >= 400 && f.content == 0 {
		r.Cost, r.CostKnown = 0, true // vendors bill no refusal
	}
}

// defaultCooldown is the cooldown of a 429 without a hint (R1.4).
const defaultCooldown = 30 * time.Second

// cool starts the cooldown of a 429's quota group and key.
func (e *Engine) cool(a *Attempt, err *Error, now time.Duration) bool {
	d := err.RetryAfter
	if !err.HintGiven {
		d = defaultCooldown
	}
	if d <= 0 {
		return false
	}
	until, moved := e.cooldowns.extend(cooldownKey{a.Target.QuotaGroup, a.Key.ID}, now+d)
	if moved {
		e.recorder.Record(&Cooldown{
			At: e.clock.Wall(), QuotaGroup: a.Target.QuotaGroup, Key: a.Key.ID, Target: a.Target.ID,
			Until: e.clock.Wall().Add(until - now), Hinted: err.HintGiven,
		})
	}
	return moved
}

// situation is why this target answers and not the preferred one.
func (f *flight) situation(target string) Situation {
	p := f.plan
	switch {
	case len(f.d.Attempts) > 0 && f.d.Attempts[0].Target != target:
		return SituationFallback
	case f.d.Facts.Drill || f.d.Facts.ForceFallback:
		return SituationDrill
	case p.Preferred != "" && target != p.Preferred && f.excluded(p.Preferred):
		return SituationRerouted
	case p.Preferred != "" && target != p.Preferred && f.skipped(p.Preferred):
		return SituationRerouted
	case f.d.Facts.Target != "" && target != f.d.Facts.Target:
		return SituationOverridden
	}
	return SituationNone
}

func (f *flight) excluded(target string) bool {
	for i := range f.plan.Excluded {
		if f.plan.Excluded[i].Target == target {
			return true
		}
	}
	return false
}

func (f *flight) skipped(target string) bool {
	for i := range f.d.Skips {
		if f.d.Skips[i].Target == target {
			return true
		}
	}
	return false
}

// backoff is the wait before the n-th retry of a step; false rules a retry out.
func (f *flight) backoff(s *Step, r Reaction, err *Error, n int) (time.Duration, bool) {
	u := f.e.random.Float64(f.seed, PurposeBackoff, len(f.d.Attempts))
	if err.Kind == KindRateLimited {
		hint := err.RetryAfter
		if !err.HintGiven {
			hint = defaultCooldown
		}
		return retry.AfterHint(hint, u), hint <= r.MaxInlineWait()
	}
	base, most := time.Duration(r.BaseMS)*time.Millisecond, time.Duration(r.MaxMS)*time.Millisecond
	d := time.Duration(0)
	switch r.Schedule {
	case ScheduleConnect:
		d = retry.Connect(n, u)
		if f.switchesNode(s.Index) {
			d = retry.SwitchNode(n)
		}
	case ScheduleOverloaded:
		d = retry.Overloaded(base, u)
	default:
		d = retry.Exponential(base, most, n, u)
	}
	if err.RetryAfter > d {
		// A hint beyond the schedule's own ceiling is for the next step, not for sleeping.
		return retry.AfterHint(err.RetryAfter, u), err.RetryAfter <= most
	}
	return d, true
}
