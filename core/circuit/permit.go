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
	probe      seat
	opens      int
	woke       bool
	voted      bool
}

// Probe reports whether the call is a half-open circuit's probe.
func (p *Permit) Probe() bool { return p.probe.ticket != 0 }

// Transition returns the change to half-open that taking this permit caused.
// Ask before [Permit.Done].
func (p *Permit) Transition() (Transition, bool) {
	if !p.woke {
		return Transition{}, false
	}
	return woken(p.at, p.opens), true
}

// FirstContent is the moment at which a stream's first content arrived: a
// probe votes success then, because waiting for a long answer's last byte would
// keep a working target half-open (R1.1). The permit stays taken until
// [Permit.Done]. Further calls, and calls for ordinary permits, do nothing.
func (p *Permit) FirstContent(now time.Duration) (Transition, bool) {
	c := p.circuit
	if c == nil || p.voted || !p.Probe() {
		return Transition{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now = c.tick(now)
	if p.generation != c.generation || !c.probes.taken(p.probe, now) {
		return Transition{}, false
	}
	p.voted = true
	return c.vote(now)
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
			return c.count(now, o == Failure, cause)
		}
	case HalfOpen:
		if !c.probes.release(p.probe, now) || o == Neutral {
			break
		}
		if o == Failure {
			return c.open(now, cause, 1, c.votes+1), true
		}
		if !p.voted {
			return c.vote(now)
		}
	case Open:
	}
	return Transition{}, false
}

// settleLate drops the outcome of a call of an earlier generation, with one
// exception: a probe that voted success at its first content helped to close
// the circuit, so its later cut is an ordinary failure of the closed one (R1.1).
func (c *Circuit) settleLate(p *Permit, now time.Duration, o Outcome, cause string) (Transition, bool) {
	if p.voted && o == Failure && c.state == Closed && p.generation+1 == c.generation {
		return c.count(now, true, cause)
	}
	return Transition{}, false
}
