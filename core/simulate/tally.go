package simulate

import (
	"math"
	"slices"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/price"
)

// tally counts what one run records. One task runs at a time, so that it needs
// no lock.
type tally struct {
	scenario *Scenario
	sum      Result
	parts    []Part // in the order of the traffic's use cases
	losses   [core.KindCount]int
	cost     price.Pico
	unpriced bool

	whole, first []time.Duration // of answered requests
	calls        []call
	changes      []core.Transition
	series       []Bucket
}

// call is one attempt at a vendor; dead is the phase in which it met a dead
// part of it, -1 for none.
type call struct {
	at   time.Duration
	dead int
}

var _ core.Recorder = (*tally)(nil)

func newTally(s *Scenario) *tally {
	t := &tally{scenario: s, series: make([]Bucket, buckets)}
	for _, x := range s.Traffic {
		if t.part(x.UseCase) == nil {
			t.parts = append(t.parts, Part{UseCase: x.UseCase})
		}
	}
	return t
}

// call notes an attempt at a vendor.
func (t *tally) call(at time.Duration, dead int) { t.calls = append(t.calls, call{at, dead}) }

// Record counts decisions and keeps transitions.
func (t *tally) Record(ev core.Event) {
	switch e := ev.(type) {
	case *core.Decision:
		t.decision(e)
	case *core.Transition:
		t.changes = append(t.changes, *e)
	}
}

func (t *tally) part(useCase string) *Part {
	for i := range t.parts {
		if t.parts[i].UseCase == useCase {
			return &t.parts[i]
		}
	}
	return nil
}

func (t *tally) decision(d *core.Decision) {
	p, b := t.part(d.Facts.UseCase), t.bucket(d.At.Sub(start()))
	p.Requests++
	b.Requests++
	switch {
	case d.Outcome == core.KindNone:
		p.Answered++
		t.whole, t.first = append(t.whole, d.Duration), append(t.first, d.FirstContent)
	case len(d.Attempts) == 0:
		p.Refused++
	default:
		p.Failed++
	}
	if d.Outcome != core.KindNone {
		t.losses[d.Outcome]++
		b.Lost++
	}
	b.Calls += len(d.Attempts)
	t.sum.Calls += len(d.Attempts)
	for i := 1; i < len(d.Attempts); i++ {
		if d.Attempts[i].Step == d.Attempts[i-1].Step {
			t.sum.Retries++
		}
	}
	for _, s := range d.Skips {
		if s.Kind == core.KindBudgetEmpty {
			t.sum.RetriesDenied++
		}
	}
	t.cost += d.Cost
	t.unpriced = t.unpriced || len(d.Attempts) > 0 && !d.CostKnown
}

func (t *tally) bucket(at time.Duration) *Bucket { return &t.series[t.bucketIndex(at)] }

// bucketIndex is the piece of the scenario's duration that a moment lies in; what
// comes later lies in the last.
func (t *tally) bucketIndex(at time.Duration) int {
	return min(int(float64(at)/float64(duration(t.scenario.DurationS))*buckets), buckets-1)
}

// result completes the figures.
func (t *tally) result(c Contender) Result {
	r := t.sum
	r.Name, r.Note, r.Revision = c.Name, c.Note, c.Revision.ID
	r.UseCases, r.Series, r.Losses = t.parts, t.series, []Loss{}
	for _, p := range t.parts {
		r.Requests, r.Answered = r.Requests+p.Requests, r.Answered+p.Answered
		r.Refused, r.Failed = r.Refused+p.Refused, r.Failed+p.Failed
	}
	if r.Requests > 0 {
		r.LossPercent = round(100*float64(r.Refused+r.Failed)/float64(r.Requests), 3)
		r.AvailabilityPercent = round(100*float64(r.Answered)/float64(r.Requests), 3)
		r.Amplification = round(float64(r.Calls)/float64(r.Requests), 3)
	}
	for k, n := range t.losses {
		if n > 0 {
			r.Losses = append(r.Losses, Loss{core.Kind(k).String(), n})
		}
	}
	r.CostUSD, r.CostKnown = round(price.USD(t.cost), 4), !t.unpriced
	slices.Sort(t.whole)
	slices.Sort(t.first)
	r.P50MS, r.P95MS = percentile(t.whole, 50), percentile(t.whole, 95)
	r.FirstContentP50MS, r.FirstContentP95MS = percentile(t.first, 50), percentile(t.first, 95)
	r.Departures, r.Timeline, r.Circuits = t.departures(), t.timeline(), t.strips()
	return r
}

func round(x float64, digits int) float64 {
	unit := math.Pow10(digits)
	return math.Round(x*unit) / unit
}

// percentile is in milliseconds, 0 without a sample.
func percentile(sorted []time.Duration, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[(len(sorted)*p+99)/100-1].Milliseconds())
}

// The window and the share by which traffic has left.
const (
	leavingWindow  = 10 * time.Second
	leavingPercent = 5
)

// departures tells of each dead phase how its calls ended.
func (t *tally) departures() []Leaving {
	out := []Leaving{}
	for i := range t.scenario.Phases {
		if t.scenario.Phases[i].Dead {
			out = append(out, t.departure(i))
		}
	}
	return out
}

// departure looks at every whole second of the phase. The calls are in the
// order of their times.
func (t *tally) departure(phase int) Leaving {
	p := &t.scenario.Phases[phase]
	from, to := duration(p.FromS), duration(p.ToS)
	l := Leaving{Phase: p.Name}
	for now := from + time.Second; now <= to; now += time.Second {
		all, dead := t.between(max(from, now-leavingWindow), now, phase)
		if 100*dead > leavingPercent*all {
			continue
		}
		l.Left, l.AfterS = true, int((now-from)/time.Second)
		all, l.LaterCalls = t.between(now, to, phase)
		if all > 0 {
			l.LaterPercent = round(100*float64(l.LaterCalls)/float64(all), 3)
		}
		return l
	}
	return l
}

// between counts the calls from a moment on until another, and the dead ones.
func (t *tally) between(from, to time.Duration, phase int) (all, dead int) {
	before := func(c call, at time.Duration) int { return int(max(-1, min(1, c.at-at))) }
	i, _ := slices.BinarySearchFunc(t.calls, from, before)
	for ; i < len(t.calls) && t.calls[i].at < to; i++ {
		all++
		if t.calls[i].dead == phase {
			dead++
		}
	}
	return all, dead
}

func (t *tally) timeline() []Change {
	out := []Change{}
	for i := range t.changes {
		c := &t.changes[i]
		out = append(out, Change{
			AtS: round(c.At.Sub(start()).Seconds(), 3), UseCase: c.UseCase, Target: c.Target,
			From: c.From.String(), To: c.To.String(), Cause: c.Cause,
		})
	}
	return out
}

// The letters of a strip, by state.
const stateLetters = ".o#"

// strips draw the circuits that moved, in the order of traffic and targets.
func (t *tally) strips() []Strip {
	out := []Strip{}
	for _, p := range t.parts {
		for _, target := range t.scenario.Targets {
			if states := t.strip(p.UseCase, target.ID); states != "" {
				out = append(out, Strip{UseCase: p.UseCase, Target: target.ID, States: states})
			}
		}
	}
	return out
}

// strip is one circuit's, "" if it never moved.
func (t *tally) strip(useCase, target string) string {
	worst := make([]circuit.State, buckets)
	state, upTo, moved := circuit.Closed, 0, false
	until := func(end int) {
		for ; upTo < end; upTo++ {
			worst[upTo] = max(worst[upTo], state)
		}
	}
	for i := range t.changes {
		c := &t.changes[i]
		if c.UseCase != useCase || c.Target != target {
			continue
		}
		at := t.bucketIndex(c.At.Sub(start()))
		until(at)
		worst[at] = max(worst[at], state, c.To)
		state, moved = c.To, true
	}
	if !moved {
		return ""
	}
	until(buckets)
	letters := make([]byte, buckets)
	for i, s := range worst {
		letters[i] = stateLetters[s]
	}
	return string(letters)
}
