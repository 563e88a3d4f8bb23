package health

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrSettings marks settings that can't be used.
var ErrSettings = errors.New("unusable health settings")

// ProbeSettings shape the active probes of nodes (R8.2).
type ProbeSettings struct {
	// EveryMS is the time between two probes of a node (5,000).
	EveryMS int `json:"every_ms"`
	// LimitMS is what one may take (2,500).
	LimitMS int `json:"limit_ms"`
	// JitterPermille of the time between is added at most, so that a fleet does not
	// probe in step (100).
	JitterPermille int `json:"jitter_permille"`
}

// DefaultProbes are the shipped figures of R8.2.
func DefaultProbes() ProbeSettings {
	return ProbeSettings{EveryMS: 5000, LimitMS: 2500, JitterPermille: 100}
}

// Check reports the first figure that is out of range.
func (s ProbeSettings) Check() error {
	for _, b := range []struct {
		name             string
		got, least, most int
	}{
		{"every_ms", s.EveryMS, 100, 3_600_000},
		{"limit_ms", s.LimitMS, 10, max(10, s.EveryMS)},
		{"jitter_permille", s.JitterPermille, 0, 1000},
	} {
		if b.got < b.least || b.got > b.most {
			return fmt.Errorf("%s is %d, not in %d..%d: %w", b.name, b.got, b.least, b.most, ErrSettings)
		}
	}
	return nil
}

// ProbeResult is what one probe says.
type ProbeResult uint8

// The results. The zero value proves nothing.
const (
	// ProbeInvalid says nothing about the node: the probe itself was wrong.
	ProbeInvalid ProbeResult = iota
	// ProbeGood is an answer in time.
	ProbeGood
	// ProbeBad is a server's error, or no answer in time.
	ProbeBad
)

// String returns the result's name in health pages and console.
func (r ProbeResult) String() string {
	switch r {
	case ProbeInvalid:
		return "invalid"
	case ProbeGood:
		return "good"
	case ProbeBad:
		return "bad"
	}
	return "unknown"
}

// JudgeProbe tells what an HTTP status says, 0 for none: 2xx is good, 5xx and
// no answer are bad, and everything else is a wrong probe, which proves neither
// that the node works nor that it doesn't (R57).
func JudgeProbe(status int) ProbeResult {
	switch {
	case status >= 200 && status < 300:
		return ProbeGood
	case status == 0 || status >= 500:
		return ProbeBad
	}
	return ProbeInvalid
}

const (
	// badProbes in a row, with no sign of life from the first one's beginning on,
	// take a node out: a region that swallows connections is left after 18 s at
	// most, while calls to it still wait for their own limits.
	badProbes = 3
	// lostAfter is how many limits a probe may stay unreported before another may
	// be sent: fewer, and slow ones would pile up.
	lostAfter = 12
)

// Probes say which node of a rotation is to be probed when, and what follows
// from the results. They send nothing themselves. Make them with [NewProbes].
// They are safe for concurrent use. Times are monotonic.
//
// A probe proves little: the endpoint that it asks is not the one that serves
// traffic. So a good one grants a resting node one request on trial and no
// return, and bad ones never take out a node that serves traffic.
type Probes struct {
	mu       sync.Mutex
	rotation *Rotation
	settings ProbeSettings
	jitter   func() float64
	nodes    []probed
}

// probed is what is known of one node's probes.
type probed struct {
	due      time.Duration
	began    time.Duration
	running  bool
	bad      int           // in a row
	badSince time.Duration // the beginning of the first of them
	view     ProbeView
}

// ProbeView counts the probes of one node since the start. They are no traffic:
// no decision, no usage and no share of any limit is theirs (R57).
type ProbeView struct {
	// Sent counts all of them, the one that runs too.
	Sent int
	// Good, Bad and Invalid count the results; what was given up as lost has none.
	Good, Bad, Invalid int
	// Last is the newest result, if there is any.
	Last ProbeResult
}

// Ended counts the probes that have a result.
func (v ProbeView) Ended() int { return v.Good + v.Bad + v.Invalid }

// View reads the counts of one node; the zero view for an index that is none.
func (p *Probes) View(i int) ProbeView {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i < 0 || i >= len(p.nodes) {
		return ProbeView{}
	}
	return p.nodes[i].view
}

// NewProbes returns the probes of a rotation's nodes, the first of which are
// spread over one interval. jitter returns numbers in [0, 1); it is called
// under a lock and must not call back. Nil spreads nothing. Figures that are
// out of range are replaced by [DefaultProbes]'s.
func NewProbes(r *Rotation, s ProbeSettings, now time.Duration, jitter func() float64) *Probes {
	if s.Check() != nil {
		s = DefaultProbes()
	}
	p := &Probes{rotation: r, settings: s, jitter: jitter, nodes: make([]probed, len(r.nodes))}
	for i := range p.nodes {
		p.nodes[i].due = now + p.every()*time.Duration(i)/time.Duration(len(p.nodes))
	}
	return p
}

// Limit is what one probe may take; whoever sends it must end it then.
func (p *Probes) Limit() time.Duration { return time.Duration(p.settings.LimitMS) * time.Millisecond }

func (p *Probes) every() time.Duration { return time.Duration(p.settings.EveryMS) * time.Millisecond }

// Due returns a node to be probed now, -1 for none. Whoever asks must send that
// probe and report it with [Probes.Result]; call Due again for the next node. A
// node whose probe still runs is not due.
func (p *Probes) Due(now time.Duration) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.running && now >= p.lost(n) {
			n.running = false // and nothing is known of it
		}
		if n.running || now < n.due {
			continue
		}
		n.running, n.began = true, now
		n.view.Sent++
		n.due = now + p.interval()
		return i
	}
	return -1
}

// Next is when [Probes.Due] has a node again, 0 without nodes.
func (p *Probes) Next() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	var next time.Duration
	for i := range p.nodes {
		n := &p.nodes[i]
		at := n.due
		if n.running {
			at = max(at, p.lost(n))
		}
		if i == 0 || at < next {
			next = at
		}
	}
	return next
}

// Soon makes a node due at once unless its probe runs, for one that has just
// failed (R4.2).
func (p *Probes) Soon(now time.Duration, i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i >= 0 && i < len(p.nodes) {
		p.nodes[i].due = min(p.nodes[i].due, now)
	}
}

// Result takes a probe's result, and reports whether it changed how the node is
// used. One that took longer than the limit is bad. Results of probes that were
// given up as lost are ignored.
func (p *Probes) Result(now time.Duration, i int, res ProbeResult) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i < 0 || i >= len(p.nodes) || !p.nodes[i].running {
		return false
	}
	n := &p.nodes[i]
	n.running = false
	if n.due <= now {
		n.due = now + p.interval()
	}
	if res == ProbeGood && now-n.began > p.Limit() {
		res = ProbeBad
	}
	n.view.Last = res
	switch res {
	case ProbeGood:
		n.view.Good++
		n.bad = 0
		return p.rotation.grant(now, i)
	case ProbeBad:
		n.view.Bad++
		return p.badProbe(now, i, n)
	case ProbeInvalid:
		n.view.Invalid++
	}
	return false
}

// badProbe counts a bad probe. A sign of life since the first in a row makes it
// the first.
func (p *Probes) badProbe(now time.Duration, i int, n *probed) bool {
	if n.bad == 0 || p.rotation.served(n.badSince, i) {
		n.bad, n.badSince = 0, n.began
	}
	n.bad++
	return n.bad >= badProbes && p.rotation.retire(now, n.badSince, i)
}

// interval is the time to a node's next probe.
func (p *Probes) interval() time.Duration {
	d := p.every()
	if p.jitter != nil {
		d += time.Duration(float64(d) * min(1, max(0, p.jitter())) * float64(p.settings.JitterPermille) / 1000)
	}
	return d
}

func (p *Probes) lost(n *probed) time.Duration { return n.began + lostAfter*p.Limit() }
