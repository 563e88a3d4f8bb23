package circuit_test

import (
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
	"pgregory.net/rapid"
)

// machine takes and ends permits in any order and remembers those outstanding.
type machine struct {
	c       *circuit.Circuit
	now     time.Duration
	permits int
	out     []*circuit.Permit
	expires []time.Duration
	lease   time.Duration
}

func (m *machine) acquire(t *rapid.T) {
	before := m.c.View(m.now)
	p, wait, ok := m.c.Acquire(m.now)
	if ok != (before.State == circuit.Closed || before.State == circuit.HalfOpen && before.Probes < m.permits) {
		t.Fatalf("admitted %v in %+v", ok, before)
	}
	if !ok {
		if wait < 0 || before.State == circuit.Open && before.Hold == circuit.HoldNone && m.now+wait != before.OpenUntil {
			t.Fatalf("wait %v in %+v", wait, before)
		}
		return
	}
	m.out = append(m.out, &p)
	m.expires = append(m.expires, m.now+m.lease)
}

func (m *machine) end(t *rapid.T) {
	if len(m.out) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.out)-1).Draw(t, "which")
	o := circuit.Outcome(rapid.IntRange(0, 3).Draw(t, "outcome"))
	if rapid.Bool().Draw(t, "content") {
		m.out[i].FirstContent(m.now)
	}
	m.out[i].Done(m.now, o, "connect")
	m.out[i].Done(m.now, o, "connect")
	m.out = append(m.out[:i], m.out[i+1:]...)
	m.expires = append(m.expires[:i], m.expires[i+1:]...)
}

func (m *machine) check(t *rapid.T) {
	v := m.c.View(m.now)
	running := 0
	for i, p := range m.out {
		if p.Probe() && m.now < m.expires[i] {
			running++
		}
	}
	if v.Probes > m.permits || v.Probes > running {
		t.Fatalf("%d probes with %d permits and %d running", v.Probes, m.permits, running)
	}
	if v.Failures > v.Calls || v.Slow > v.Calls || v.LetThrough < 0 || v.Consecutive > v.Failures && v.Calls < 20 && v.Computed == circuit.Closed {
		t.Fatalf("counts %+v", v)
	}
	if v.Computed == circuit.Open && (v.OpenUntil <= m.now || v.OpenUntil > m.now+330*time.Second) {
		t.Fatalf("open until %v at %v", v.OpenUntil, m.now)
	}
}

func TestCircuit_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := circuit.DefaultSettings()
		s.HalfOpenPermits = rapid.IntRange(1, 16).Draw(t, "permits")
		s.SuccessThreshold = rapid.IntRange(1, 20).Draw(t, "successes")
		s.LeaseMS = rapid.IntRange(1000, 60_000).Draw(t, "lease")
		m := &machine{
			c: circuit.New(s, func() float64 { return 0.9 }), permits: s.HalfOpenPermits,
			lease: time.Duration(s.LeaseMS) * time.Millisecond,
		}
		t.Repeat(map[string]func(*rapid.T){
			"acquire": m.acquire,
			"end":     m.end,
			"wait": func(t *rapid.T) {
				m.now += time.Duration(rapid.IntRange(0, 20_000).Draw(t, "ms")) * time.Millisecond
			},
			"settings": func(t *rapid.T) {
				s.FailureThreshold = rapid.IntRange(1, 40).Draw(t, "threshold")
				s.SlowCallMS = rapid.IntRange(0, 20_000).Draw(t, "slow")
				m.c.SetSettings(s)
			},
			"hold": func(t *rapid.T) {
				m.c.SetHold(circuit.Hold(rapid.IntRange(0, 4).Draw(t, "hold")), m.now, m.now+time.Second)
			},
			"": m.check,
		})
		for len(m.out) > 0 {
			m.end(t)
		}
		if got := m.c.View(m.now).Probes; got != 0 {
			t.Fatalf("%d permits were not given back", got)
		}
	})
}

// Many goroutines at once: no permit is lost and no probe is one too many.
func TestCircuit_Concurrently(t *testing.T) {
	t.Parallel()
	r := halfOpen(t, func(s *circuit.Settings) { s.SuccessThreshold = 100 })
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		running int
		most    int
		granted int
	)
	for range 8 {
		wg.Go(func() {
			for range 200 {
				p, _, ok := r.c.Acquire(r.now)
				if !ok {
					continue
				}
				mu.Lock()
				running++
				granted++
				most = max(most, running)
				mu.Unlock()
				mu.Lock()
				running--
				mu.Unlock()
				p.Done(r.now, neutral, "")
			}
		})
	}
	wg.Wait()
	if v := r.c.View(r.now); v.Probes != 0 || most > 3 || granted == 0 {
		t.Errorf("%d probes left, at most %d at a time of %d", v.Probes, most, granted)
	}
}
