package circuit

import (
	"sync"
	"time"
)

// rateOutcomes is how many of the newest outcomes the error rate looks at (R1.1).
const rateOutcomes = 20

// The causes of transitions that no failure brought about.
const (
	// CauseTime is an open circuit whose time was up.
	CauseTime = "time"
	// CauseProbes is a half-open circuit whose probes succeeded.
	CauseProbes = "probes"
	// CauseSlow is a circuit that too many slow calls opened.
	CauseSlow = "slow_calls"
)

// Transition is a change of the computed state (R1.6). The zero value is no
// change.
type Transition struct {
	From, To State
	// At is the monotonic time of the change.
	At time.Duration
	// Cause is what [Permit.Done] was told of the failure that opened the
	// circuit, [CauseSlow], [CauseTime] or [CauseProbes].
	Cause string
	// Failures and Calls are the evidence: the window's counts when a closed
	// circuit opens, the probes' votes when a half-open one changes, 0 for time.
	Failures, Calls int
	// Slow counts the slow ones among the calls, however they ended.
	Slow int
	// Opens counts the openings in a row, this one included.
	Opens int
	// OpenUntil is when an opened circuit lets a probe through, else 0.
	OpenUntil time.Duration
	// Hold is the operator's hold in force at the time: under one that forces the
	// state or only observes, the change is what the circuit would have done.
	Hold Hold
}

// Effective is the state in force after the change, the hold included.
func (t Transition) Effective() State { return t.Hold.effective(t.To) }

// Circuit is the three-state breaker of one target for one use case (R1). Make
// it with [New]. It is safe for concurrent use. It reads no clock: callers pass
// the monotonic time since any fixed start, and a time before the newest one
// seen counts as the newest, so that callers who read their clocks in another
// order than they arrive can't shuffle the window.
type Circuit struct {
	mu       sync.Mutex
	settings Settings
	jitter   func() float64

	state State
	// generation grows with every change of state; a permit of an earlier one
	// doesn't vote, because its call began under other circumstances (R1.2).
	generation   uint64
	newest       time.Duration
	since, until time.Duration
	stretch      float64 // the jitter drawn at the last opening
	opens        int
	cause        string // of the last opening
	// evidence is what the last opening rests on.
	evidence tally

	outcomes  ring
	lastCause string // of the newest counted failure

	votes  int
	probes probes

	hold      Hold
	holdUntil time.Duration
	// letThrough counts the calls that only the hold let through.
	letThrough int
}

// New returns a closed circuit. jitter returns a number in [0, 1) that
// stretches each open time by up to a tenth, so that a fleet does not probe in
// step; it is called under the circuit's lock and must not call back. A nil
// jitter stretches nothing. Figures that are zero or out of range are replaced
// as [Settings.WithDefaults] says.
func New(s Settings, jitter func() float64) *Circuit {
	return &Circuit{jitter: jitter, settings: s.WithDefaults(), stretch: 1}
}

// SetSettings swaps the settings while calls run (R1.5). Counts and state
// stay; new thresholds apply from the next outcome on. A running open time may
// become shorter but never longer, because its end was already announced.
func (c *Circuit) SetSettings(s Settings) {
	s = s.WithDefaults()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settings = s
	if c.state == Open {
		c.until = min(c.until, c.since+c.openFor())
	}
}

// Acquire asks to make a call. With ok, the caller must end the permit with
// [Permit.Done] on every path, panics included. Without, wait is the time until
// a probe is possible: 0 when that depends on running probes or on an operator.
// An open circuit whose time is up turns half-open here, which
// [Permit.Transition] then reports.
func (c *Circuit) Acquire(now time.Duration) (p Permit, wait time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now = c.tick(now)
	if c.hold == HoldOpen {
		return Permit{}, c.holdWait(now), false
	}
	woke := c.wake(now)
	p = Permit{circuit: c, generation: c.generation, at: now, woke: woke, opens: c.opens, hold: c.hold}
	switch c.state {
	case Closed:
		return p, 0, true
	case Open:
		wait = c.until - now
	case HalfOpen:
		if p.probe, ok = c.probes.lease(now, now+millis(c.settings.LeaseMS), c.settings.HalfOpenPermits); ok {
			return p, 0, true
		}
	}
	if !c.hold.passes() {
		return Permit{}, wait, false
	}
	c.letThrough++
	p.through = true
	return p, 0, true
}

// Advance does what time alone causes: an open circuit whose time is up turns
// half-open, without waiting for a call to find out. It reports that change.
func (c *Circuit) Advance(now time.Duration) (Transition, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now = c.tick(now)
	if !c.wake(now) {
		return Transition{}, false
	}
	return woken(now, c.opens, c.hold), true
}

// SetHold puts an operator's hold beside the computed state, or takes it back
// with [HoldNone] (R1.8). until is monotonic; 0 holds without an end.
func (c *Circuit) SetHold(h Hold, now, until time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hold, c.holdUntil, c.letThrough = h, until, 0
	c.tick(now)
}

// Restore opens the circuit as an earlier process left it: open since since and
// until until, both on this process's monotonic time. A wait that is longer
// than the longest open time is cut to it, because the wall clock may have been
// set between the two processes.
func (c *Circuit) Restore(now, since, until time.Duration, cause string, opens int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now = c.tick(now)
	c.enter(Open, min(since, now))
	c.until = min(until, now+millis(c.settings.OpenForMaxMS))
	c.cause, c.opens, c.stretch = cause, max(1, opens), 1
	c.evidence = tally{}
}

// tick returns the newest time seen, now included, and ends an expired hold.
func (c *Circuit) tick(now time.Duration) time.Duration {
	c.newest = max(c.newest, now)
	if c.hold != HoldNone && c.holdUntil != 0 && c.newest >= c.holdUntil {
		c.hold, c.holdUntil, c.letThrough = HoldNone, 0, 0
	}
	return c.newest
}

// holdWait is the time until an operator's hold and the open time are over.
func (c *Circuit) holdWait(now time.Duration) time.Duration {
	if c.holdUntil == 0 {
		return 0
	}
	if c.state == Open {
		return max(c.holdUntil, c.until) - now
	}
	return c.holdUntil - now
}

// wake turns an open circuit whose time is up half-open.
func (c *Circuit) wake(now time.Duration) bool {
	if c.state != Open || now < c.until {
		return false
	}
	c.enter(HalfOpen, now)
	return true
}

func woken(at time.Duration, opens int, h Hold) Transition {
	return Transition{From: Open, To: HalfOpen, At: at, Cause: CauseTime, Opens: opens, Hold: h}
}

// count takes an outcome into the window of a closed circuit and judges it. A
// success can open the circuit too: it may be the call that makes the rate
// defined, or a slow one.
func (c *Circuit) count(o outcome, cause string) (Transition, bool) {
	c.outcomes.push(o)
	if o.failed {
		c.lastCause = cause
	}
	s := c.inForce()
	t := c.outcomes.since(o.at - millis(s.WindowMS))
	defined := t.calls >= s.MinCalls
	switch {
	case t.inARow >= s.FailureThreshold || defined && t.failures*1000 >= s.ErrorRatePermille*t.calls:
		return c.open(o.at, c.lastCause, t), true
	case s.SlowCallMS > 0 && defined && t.slow*1000 >= s.SlowRatePermille*t.calls:
		return c.open(o.at, CauseSlow, t), true
	}
	return Transition{}, false
}

// inForce are the settings with the thresholds that an operator's hold raised.
func (c *Circuit) inForce() Settings {
	s := c.settings
	if c.hold == HoldEmergency {
		s.FailureThreshold = max(s.FailureThreshold, EmergencyFailures)
		s.ErrorRatePermille = max(s.ErrorRatePermille, EmergencyRatePermille)
		s.SlowRatePermille = max(s.SlowRatePermille, EmergencyRatePermille)
		s.MinCalls = rateOutcomes
	}
	return s
}

// vote takes a probe's success.
func (c *Circuit) vote(now time.Duration) (Transition, bool) {
	c.votes++
	if c.votes < c.settings.SuccessThreshold {
		return Transition{}, false
	}
	t := Transition{From: HalfOpen, To: Closed, At: now, Cause: CauseProbes, Calls: c.votes, Opens: c.opens, Hold: c.hold}
	c.enter(Closed, now)
	c.outcomes, c.cause = ring{}, ""
	return t, true
}

// open opens the circuit on evidence. Growth of the open time starts again
// after a closed period that outlasted the window.
func (c *Circuit) open(now time.Duration, cause string, t tally) Transition {
	from := c.state
	c.opens = c.opensAt(now) + 1
	c.cause, c.evidence = cause, t
	c.stretch = 1
	if c.jitter != nil {
		c.stretch += 0.1 * min(1, max(0, c.jitter()))
	}
	c.enter(Open, now)
	c.until = now + c.openFor()
	return Transition{
		From: from, To: Open, At: now, Cause: cause, Failures: t.failures, Calls: t.calls, Slow: t.slow,
		Opens: c.opens, OpenUntil: c.until, Hold: c.hold,
	}
}

// opensAt is the number of openings in a row that still counts at now.
func (c *Circuit) opensAt(now time.Duration) int {
	if c.state == Closed && now-c.since > millis(c.settings.WindowMS) {
		return 0
	}
	return c.opens
}

// openFor is the open time of the current opening, jitter included.
func (c *Circuit) openFor() time.Duration {
	d, longest := millis(c.settings.OpenForMS), millis(c.settings.OpenForMaxMS)
	for i := 1; i < c.opens && d < longest; i++ {
		d *= 2
	}
	return time.Duration(float64(min(d, longest)) * c.stretch)
}

// enter starts a new generation, to which no running call belongs.
func (c *Circuit) enter(s State, at time.Duration) {
	c.state, c.since = s, at
	c.generation++
	c.votes = 0
	c.probes = probes{}
}
