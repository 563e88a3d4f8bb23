package circuit

import "time"

// View is a circuit's state at one moment, for snapshots and people. All times
// are monotonic, 0 means none.
type View struct {
	// State is the effective state, with the operator's hold.
	State State
	// Computed is the state without the hold. An open circuit whose time is up
	// reads as half-open, though nobody called yet.
	Computed State
	Hold     Hold
	// HoldUntil is the hold's expiry.
	HoldUntil time.Duration
	// LetThrough counts the calls that only the hold let through: without it the
	// circuit would have refused them.
	LetThrough int
	// Since is the time of the last change of the computed state.
	Since time.Duration
	// OpenUntil is when an open circuit lets a probe through.
	OpenUntil time.Duration
	// Failures and Calls are the evidence: of the window while closed, aged by
	// this reading; of the opening while open; the probes' votes while half-open.
	Failures, Calls int
	// Slow counts the slow ones among the calls.
	Slow int
	// Consecutive is the failures in a row inside the window.
	Consecutive int
	// Opens counts the openings in a row, as far as they still lengthen the next.
	Opens int
	// Cause is the failure that opened it, "" while closed.
	Cause string
	// Probes counts the running probes.
	Probes int
	// NextChange is when time alone changes State or Computed.
	NextChange time.Duration
}

// View reads the circuit without changing it.
func (c *Circuit) View(now time.Duration) View {
	c.mu.Lock()
	defer c.mu.Unlock()
	now = max(now, c.newest)
	v := View{Computed: c.state, Since: c.since, Opens: c.opensAt(now), Cause: c.cause}
	if c.state == Open && now >= c.until {
		v.Computed, v.Since = HalfOpen, c.until
	}
	switch v.Computed {
	case Closed:
		t := c.outcomes.since(now - millis(c.settings.WindowMS))
		v.Failures, v.Calls, v.Slow, v.Consecutive = t.failures, t.calls, t.slow, t.inARow
	case Open:
		v.Failures, v.Calls, v.Slow = c.evidence.failures, c.evidence.calls, c.evidence.slow
		v.OpenUntil, v.NextChange = c.until, c.until
	case HalfOpen:
		v.Calls, v.Probes = c.votes, c.probes.running(now)
	}
	c.viewHold(&v, now)
	return v
}

// viewHold adds the operator's hold, unless it has expired.
func (c *Circuit) viewHold(v *View, now time.Duration) {
	v.State = v.Computed
	if c.hold == HoldNone || c.holdUntil != 0 && now >= c.holdUntil {
		return
	}
	v.Hold, v.HoldUntil, v.LetThrough = c.hold, c.holdUntil, c.letThrough
	if c.holdUntil != 0 && (v.NextChange == 0 || c.holdUntil < v.NextChange) {
		v.NextChange = c.holdUntil
	}
	v.State = c.hold.effective(v.Computed)
}
