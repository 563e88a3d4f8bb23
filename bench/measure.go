package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/bench/load"
	"github.com/spillway-llm/spillway/bench/mock"
	"github.com/spillway-llm/spillway/bench/process"
)

// phase is one thing that is measured of every subject.
type phase struct {
	name  string
	limit float64 // the most that the gateway may cost, in proxies
	kinds []kind
	mock  mock.Settings
	// exact asks for the vendor's own bytes; without it an answer may be a fallback's.
	exact       bool
	connections int
	rate        int           // 0 is the closed loop
	ramp        time.Duration // over which streams begin
}

// streams are how many run at once, and each has 100 chunks 10 ms apart.
const streams = 200

func phases(o options) []phase {
	still, moving := mock.Default(), mock.Default()
	moving.ErrorShare, moving.Jitter = 0.01, 4*time.Millisecond
	streamTime := time.Duration(still.Chunks) * still.Interval
	all := []phase{
		{name: "c=32, one kind", limit: 1.0, kinds: oneKind(false), mock: still, exact: true, connections: 32},
		{name: "c=32, forty kinds, moving state", limit: 1.4, kinds: fortyKinds(), mock: moving, connections: 32},
		{name: fmt.Sprintf("%d/s, one kind", o.rate), limit: 1.2, kinds: oneKind(false), mock: still, exact: true, connections: 128, rate: o.rate},
		{name: "streams, per chunk", limit: 1.2, kinds: oneKind(true), mock: still, connections: streams, ramp: streamTime},
	}
	return slices.DeleteFunc(all, func(p phase) bool { return !strings.Contains(p.name, o.only) })
}

// sample is one measurement.
type sample struct {
	Phase   string `json:"phase"`
	Subject string `json:"subject"`
	Round   int    `json:"round"`
	// CPU is the subject's processor time per request or chunk, in microseconds.
	CPU float64 `json:"cpu_us"`
	// PerSecond are whole answers, P50 and P99 their latencies in microseconds.
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	RSS       int64   `json:"rss_bytes"`
	OK        int     `json:"ok"`
	Refused   int     `json:"refused"`
	Broken    int     `json:"broken"`
	// Foreign is the part of the machine's work that was nobody's of ours.
	Foreign float64 `json:"foreign_share"`
}

// result are the samples of one phase.
type result struct {
	phase   phase
	samples []sample
}

// maxForeign is the part of the machine's work that others may do before a
// measurement is repeated or, when it is not, reported as disturbed.
const maxForeign = 0.10

// measure takes every phase of every subject, round by round.
func (r *rig) measure(o options) ([]result, error) {
	list := phases(o)
	results := make([]result, len(list))
	for round := range o.rounds {
		for i, p := range list {
			samples, err := r.round(o, p, round)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			results[i].phase = p
			results[i].samples = append(results[i].samples, samples...)
		}
	}
	return results, nil
}

// round measures one phase of every subject. The order turns around each round,
// so that nobody always comes first.
func (r *rig) round(o options, p phase, round int) ([]sample, error) {
	subjects := []subject{r.proxy, r.gateway}
	if p.rate > 0 {
		subjects = append(subjects, subject{name: "mock", addr: r.vendorAddr}) // whose latency is nobody's doing
	}
	if round%2 == 1 {
		slices.Reverse(subjects)
	}
	var samples []sample
	for _, s := range subjects {
		x, err := r.sample(o, p, s, round)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		samples = append(samples, x)
	}
	return samples, nil
}

// sample measures a phase of a subject, once more if others kept the machine
// busy and the run may still repeat.
func (r *rig) sample(o options, p phase, s subject, round int) (sample, error) {
	best, err := r.once(o, p, s)
	if err != nil {
		return best, err
	}
	if best.Foreign > maxForeign && r.repeats > 0 {
		r.repeats--
		again, err := r.once(o, p, s)
		if err != nil {
			return again, err
		}
		if again.Foreign < best.Foreign {
			best = again
		}
	}
	best.Phase, best.Subject, best.Round = p.name, s.name, round
	return best, nil
}

// once measures a phase of a subject once.
func (r *rig) once(o options, p phase, s subject) (sample, error) {
	requests, err := r.requests(p, s)
	if err != nil {
		return sample{}, err
	}
	if err := r.set(p.mock); err != nil {
		return sample{}, err
	}
	l := load.Start(load.Config{Addr: s.addr, Connections: p.connections, Rate: p.rate, Ramp: p.ramp, Requests: requests})
	time.Sleep(o.warmup + p.ramp)
	before, err := r.reading(s)
	if err != nil {
		return sample{}, err
	}
	l.Begin()
	time.Sleep(o.window)
	after, err := r.reading(s)
	sum := l.End()
	if err != nil {
		return sample{}, err
	}
	if sum.OK == 0 {
		return sample{}, fmt.Errorf("no whole answer, %d refused %v, %d broken: %w", sum.Refused, sum.Status, sum.Broken, sum.Err)
	}
	x := after.since(before, p)
	x.PerSecond, x.P50, x.P99 = sum.PerSecond, micros(sum.P50), micros(sum.P99)
	x.OK, x.Refused, x.Broken = sum.OK, sum.Refused, sum.Broken
	if x.Broken > 0 {
		fmt.Fprintf(os.Stderr, "bench: %s of %s: %d broken answers, the first: %v\n", p.name, s.name, x.Broken, sum.Err)
	}
	return x, nil
}

// requests prepares a phase's kinds for a subject.
func (r *rig) requests(p phase, s subject) ([]*load.Request, error) {
	var list []*load.Request
	for _, k := range p.kinds {
		var want []byte
		if p.exact {
			var err error
			if want, err = r.direct(k); err != nil {
				return nil, err
			}
		}
		list = append(list, k.request(s.addr, s.key, p.mock.Chunks, want))
	}
	return list, nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// reading is what the counters show at one moment.
type reading struct {
	vendor          mock.Stats
	cpu, ours, busy time.Duration
	rss             int64
}

func (r *rig) reading(s subject) (reading, error) {
	var x reading
	var err error
	if x.vendor, err = r.stats(); err != nil {
		return x, err
	}
	if x.busy, err = process.Busy(); err != nil {
		return x, err
	}
	if x.ours, err = process.CPU(os.Getpid()); err != nil {
		return x, err
	}
	for _, p := range []*process.Process{r.vendor, r.proxy.proc, r.gateway.proc} {
		cpu, err := p.CPU()
		if err != nil {
			return x, err
		}
		x.ours += cpu
		if p == s.proc {
			x.cpu = cpu
		}
	}
	if s.proc != nil {
		x.rss, err = s.proc.RSS()
	}
	return x, err
}

// since is what happened between two readings.
func (x reading) since(before reading, p phase) sample {
	units := x.vendor.Requests - before.vendor.Requests
	if p.kinds[0].stream {
		units = x.vendor.Chunks - before.vendor.Chunks
	}
	s := sample{RSS: x.rss, CPU: micros(x.cpu-before.cpu) / float64(max(units, 1))}
	if busy := x.busy - before.busy; busy > 0 {
		s.Foreign = max(0, 1-float64(x.ours-before.ours)/float64(busy))
	}
	return s
}
