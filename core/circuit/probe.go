package circuit

import "time"

// maxProbes bounds HalfOpenPermits, so that a circuit needs no second allocation.
const maxProbes = 16

// seat names one lease. The zero value is none.
type seat struct {
	index  uint8
	ticket uint32
}

// probes are the leases of a half-open circuit's running probes. A lease ends
// by itself, because a probe that never reports would otherwise keep the
// circuit half-open for good (R1.2).
type probes struct {
	leases [maxProbes]lease
	last   uint32
}

type lease struct {
	ticket  uint32
	expires time.Duration
}

// lease takes a free seat while fewer than limit are taken.
func (p *probes) lease(now, expires time.Duration, limit int) (seat, bool) {
	free := -1
	for i := range p.leases {
		switch {
		case p.leases[i].running(now):
			limit--
		case free < 0:
			free = i
		}
	}
	if free < 0 || limit <= 0 {
		return seat{}, false
	}
	p.last++
	p.leases[free] = lease{ticket: p.last, expires: expires}
	return seat{index: uint8(free), ticket: p.last}, true
}

// taken reports whether the seat is still its holder's.
func (p *probes) taken(s seat, now time.Duration) bool {
	l := p.leases[s.index]
	return s.ticket != 0 && l.ticket == s.ticket && l.running(now)
}

// release gives a seat back, and reports whether it was still its holder's.
func (p *probes) release(s seat, now time.Duration) bool {
	if !p.taken(s, now) {
		return false
	}
	p.leases[s.index] = lease{}
	return true
}

// running counts the taken seats.
func (p *probes) running(now time.Duration) int {
	n := 0
	for i := range p.leases {
		if p.leases[i].running(now) {
			n++
		}
	}
	return n
}

func (l lease) running(now time.Duration) bool { return l.ticket != 0 && now < l.expires }
