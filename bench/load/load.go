package load

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Config says what load to make.
type Config struct {
	// Addr is host and port of the subject.
	Addr string
	// Connections is how many requests can be under way at once.
	Connections int
	// Rate is how many requests per second become due, whatever the answers do;
	// 0 is the closed loop: each connection sends as soon as it has its answer.
	Rate int
	// Ramp spreads the first requests of the connections over this time.
	Ramp time.Duration
	// Requests are sent in turn.
	Requests []*Request
	// Timeout ends a request; 0 means 30 s.
	Timeout time.Duration
}

// Summary is what came of the requests that ended between Begin and End.
type Summary struct {
	// OK were whole. Refused had another status than 200, by Status.
	OK, Refused int
	Status      map[int]int
	// Broken had no answer, or not the whole one; Err is the first one's error.
	Broken int
	Err    error
	// P50 and P99 are latencies of whole answers, from the moment a request was
	// due: waiting for a free connection counts.
	P50, P99 time.Duration
	// PerSecond are whole answers per second.
	PerSecond float64
}

// Load is a running load; make one with [Start].
type Load struct {
	cfg       Config
	start     time.Time
	turn      atomic.Int64
	recording atomic.Bool
	stop      chan struct{}
	done      sync.WaitGroup
	tallies   []tally
	begun     time.Time
}

// tally is one connection's record; only its own goroutine writes it while it runs.
type tally struct {
	latencies []time.Duration
	status    map[int]int
	broken    int
	err       error
}

// Start begins to send. Nothing is recorded before [Load.Begin].
func Start(cfg Config) *Load {
	cfg.Timeout = cmp.Or(cfg.Timeout, 30*time.Second)
	l := &Load{cfg: cfg, start: time.Now(), stop: make(chan struct{}), tallies: make([]tally, cfg.Connections)}
	for i := range cfg.Connections {
		l.done.Go(func() { l.connection(i) })
	}
	return l
}

// Begin starts to record.
func (l *Load) Begin() {
	l.begun = time.Now()
	l.recording.Store(true)
}

// End stops recording and sending, waits for the answers that are still under
// way, and sums up.
func (l *Load) End() Summary {
	l.recording.Store(false)
	took := time.Since(l.begun)
	close(l.stop)
	l.done.Wait()
	s := Summary{Status: map[int]int{}}
	var latencies []time.Duration
	for _, t := range l.tallies {
		latencies = append(latencies, t.latencies...)
		s.Broken += t.broken
		if s.Err == nil {
			s.Err = t.err
		}
		for status, n := range t.status {
			s.Status[status] += n
			s.Refused += n
		}
	}
	s.OK = len(latencies)
	slices.Sort(latencies)
	s.P50, s.P99 = Percentile(latencies, 0.50), Percentile(latencies, 0.99)
	s.PerSecond = float64(s.OK) / took.Seconds()
	return s
}

// Percentile is the smallest of the sorted values that a share of them do not
// exceed; 0 without values.
func Percentile(sorted []time.Duration, share float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	i := int(float64(len(sorted))*share+0.999999) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// connection sends requests until the load ends.
func (l *Load) connection(i int) {
	c := &client{addr: l.cfg.Addr, timeout: l.cfg.Timeout}
	defer c.close()
	if l.cfg.Rate == 0 && !l.waitUntil(l.start.Add(l.cfg.Ramp*time.Duration(i)/time.Duration(l.cfg.Connections))) {
		return
	}
	t := &l.tallies[i]
	t.status = map[int]int{}
	for {
		turn := l.turn.Add(1) - 1
		due := time.Now()
		if l.cfg.Rate > 0 {
			due = l.start.Add(time.Duration(turn) * time.Second / time.Duration(l.cfg.Rate))
		}
		if !l.waitUntil(due) {
			return
		}
		status, err := c.do(l.cfg.Requests[turn%int64(len(l.cfg.Requests))])
		if l.recording.Load() {
			t.add(status, err, time.Since(due))
		}
	}
}

// waitUntil waits; false when the load ends first.
func (l *Load) waitUntil(at time.Time) bool {
	d := time.Until(at)
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return true
		case <-l.stop:
			return false
		}
	}
	select {
	case <-l.stop:
		return false
	default:
		return true
	}
}

func (t *tally) add(status int, err error, took time.Duration) {
	switch {
	case err != nil:
		t.broken++
		t.err = cmp.Or(t.err, err)
	case status != 200:
		t.status[status]++
	default:
		t.latencies = append(t.latencies, took)
	}
}

// ErrAnswer marks an answer that is not what it should be.
var ErrAnswer = errors.New("wrong answer")
