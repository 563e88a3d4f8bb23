package circuit

import "time"

// Permit lets one call through. It is a value so that a call allocates nothing;
// keep it in one place and don't copy it, because a copy's Done would count the
// same call again. The zero value is no permit, on which every method does
// nothing. A permit is not for concurrent use.
type Permit struct {
	circuit    *Circuit
	generation uint64
	at         time.Duration
	content    time.Duration // first content, 0 before
	probe      seat
	opens      int
	hold       Hold
	woke       bool
	voted      bool
	through    bool
}

// Probe reports whether the call is a half-open circuit's probe.
func (p *Permit) Probe() bool { return p.probe.ticket != 0 }

// OnlyHeld reports whether the circuit would have refused the call and only an
// operator's hold let it through. Such a call is no evidence.
func (p *Permit) OnlyHeld() bool { return p.through }

// Transition returns the change to half-open that taking this permit caused.
// Ask before [Permit.Done].
func (p *Permit) Transition() (Transition, bool) {
	if !p.woke {
		return Transition{}, false
	}
	return woken(p.at, p.opens, p.hold), true
}

// FirstContent is the moment at which a stream's first content arrived: a
// probe votes success then, because waiting for a long answer's last byte would
// keep a working target half-open (R1.1), or is slow. Whether an ordinary call
// was slow is judged by it as well. The permit stays taken until [Permit.Done].
// Further calls do nothing.
func (p *Permit) FirstContent(now time.Duration) (Transition, bool) {
	c := p.circuit
	if c == nil || p.content != 0 {
		return Transition{}, false
	}
	p.content = max(now, 1)
	if !p.Probe() {
		return Transition{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now = c.tick(now)
	if p.generation != c.generation || !c.probes.taken(p.probe, now) {
		return Transition{}, false
	}
	p.voted = true
	return c.verdict(p, now)
}

// Done ends the call with its outcome and gives the permit back; cause names a
// failure in transitions, and must not hold anything that a vendor or caller
// wrote. The outcome counts at now, the time of completion, however long ago
// the call began. A permit of an earlier generation, or a probe whose lease ran
// out, doesn't vote (R1.2). Done ends the permit: a second call does nothing,
// so `defer p.Done(now, Neutral, "")` is a sound net under every other path.
func (p *Permit) Done(now time.Duration, o Outcome, cause string) (Transition, bool) {
	c := p.circuit
	if c == nil {
		return Transition{}, false
	}
	held := *p
	*p = Permit{}
	c.mu.Lock()
	defer c.mu.Unlock()
	now = c.tick(now)
	if held.generation != c.generation {
		return c.settleLate(&held, now, o, cause)
	}
	return c.settle(&held, now, o, cause)
}

// settle counts the outcome of a call of the current generation. Calls that an
// operator's hold let past an open or full circuit are no evidence: they take
// none of the probes' permits.
func (c *Circuit) settle(p *Permit, now time.Duration, o Outcome, cause string) (Transition, bool) {
	switch c.state {
	case Closed:
		if o == Success || o == Failure {
			return c.count(outcome{at: now, failed: o == Failure, slow: c.slow(p, now)}, cause)
		}
	case HalfOpen:
		if !c.probes.release(p.probe, now) || o == Neutral {
			break
		}
		if o == Failure {
			return c.open(now, cause, tally{failures: 1, calls: c.votes + 1}), true
		}
		if o == Answered && !p.voted {
			return c.vote(now)
		}
		if !p.voted {
			return c.verdict(p, now)
		}
	case Open:
	}
	return Transition{}, false
}

// verdict takes a probe's success: as a vote, or as proof that the callee is
// still too slow. Else a circuit that slow calls opened would close on two
// slow probes and open again on the next calls.
func (c *Circuit) verdict(p *Permit, now time.Duration) (Transition, bool) {
	if c.slow(p, now) {
		return c.open(now, CauseSlow, tally{slow: 1, calls: c.votes + 1}), true
	}
	return c.vote(now)
}

// slow reports whether a call took longer than a slow one may.
func (c *Circuit) slow(p *Permit, now time.Duration) bool {
	if c.settings.SlowCallMS == 0 {
		return false
	}
	if p.content != 0 {
		now = p.content
	}
	return now-p.at > millis(c.settings.SlowCallMS)
}

// settleLate drops the outcome of a call of an earlier generation, with one
// exception: a probe that voted success at its first content helped to close
// the circuit, so its later cut is an ordinary failure of the closed one (R1.1).
func (c *Circuit) settleLate(p *Permit, now time.Duration, o Outcome, cause string) (Transition, bool) {
	if p.voted && o == Failure && c.state == Closed && p.generation+1 == c.generation {
		return c.count(outcome{at: now, failed: true}, cause)
	}
	return Transition{}, false
}
