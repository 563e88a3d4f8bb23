package health_test

import (
	"errors"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/health"
	"pgregory.net/rapid"
)

// prober drives the probes of one rotation by hand.
type prober struct {
	*testing.T
	r *health.Rotation
	p *health.Probes
}

func newProber(t *testing.T, nodes int) *prober {
	t.Helper()
	r := health.NewRotation(make([]int, nodes))
	return &prober{T: t, r: r, p: health.NewProbes(r, health.DefaultProbes(), 0, nil)}
}

// probe sends the due probe of the node and reports it a moment later.
func (p *prober) probe(at time.Duration, node int, res health.ProbeResult) (changed bool) {
	p.Helper()
	if got := p.p.Due(at); got != node {
		p.Fatalf("at %v: node %d is due, want %d", at, got, node)
	}
	return p.p.Result(at+20*ms, node, res)
}

func TestProbes_Schedule(t *testing.T) {
	t.Parallel()
	p := newProber(t, 2)
	for _, step := range []struct {
		at, next time.Duration
		node     int
	}{
		{0, 0, 0}, {0, 2500 * ms, -1}, {2499 * ms, 2500 * ms, -1}, {2500 * ms, 2500 * ms, 1},
		{5 * time.Second, 5 * time.Second, 0}, {7499 * ms, 7500 * ms, -1}, {7500 * ms, 7500 * ms, 1},
		{30 * time.Second, 10 * time.Second, 0}, {30 * time.Second, 12500 * ms, 1}, {30 * time.Second, 35 * time.Second, -1},
	} {
		if got := p.p.Next(); got != step.next {
			t.Errorf("at %v: next at %v, want %v", step.at, got, step.next)
		}
		got := p.p.Due(step.at)
		if got != step.node {
			t.Fatalf("at %v: node %d is due, want %d", step.at, got, step.node)
		}
		if got >= 0 {
			p.p.Result(step.at+20*ms, got, health.ProbeGood)
		}
	}
}

func TestProbes_Jitter(t *testing.T) {
	t.Parallel()
	for u, want := range map[float64]time.Duration{0: 5000 * ms, 0.5: 5250 * ms, 0.999: 5499500 * time.Microsecond, 7: 5500 * ms, -3: 5000 * ms} {
		p := health.NewProbes(health.NewRotation([]int{1}), health.DefaultProbes(), 0, func() float64 { return u })
		p.Result(ms, p.Due(0), health.ProbeGood)
		if got := p.Next(); got != want {
			t.Errorf("jitter %v: next at %v, want %v", u, got, want)
		}
	}
}

// A good probe is one request's worth of trust.
func TestProbes_GoodGrantsOneTrial(t *testing.T) {
	t.Parallel()
	p := newProber(t, 2)
	for range 5 { // rests of 5, 10, 20, 40 and 60 s
		p.r.Failed(p.r.NextChange(0), 0)
	}
	now := p.r.NextChange(0) - 50*time.Second
	if got := picks(p.r, now, 2); got[0] != 0 {
		t.Fatalf("resting: got %v", got)
	}
	if !p.probe(now, 0, health.ProbeGood) {
		t.Error("the good probe changed nothing")
	}
	if got := picks(p.r, now+time.Second, 2); got[0] != 1 {
		t.Errorf("got %v, want one request on trial", got)
	}
	p.r.Ended(now+2*time.Second, 0, health.Call{Begun: now + time.Second})
	if got := p.r.View(now+2*time.Second, 0); got.State != health.NodeResting || got.RestUntil != now+62*time.Second {
		t.Errorf("got %+v, want its failure to rest the node for 60 s more", got)
	}
	p.p.Result(now+2*time.Second, p.p.Due(now+2*time.Second), health.ProbeGood) // the other node's
	now += 6 * time.Second
	if !p.probe(now, 0, health.ProbeGood) {
		t.Error("the good probe changed nothing")
	}
	p.r.Pick(now+time.Second, 0)
	p.r.Ended(now+2*time.Second, 0, health.Call{Begun: now + time.Second, Answered: true})
	if got := picks(p.r, now+2*time.Second, 2); got[0] != 500 {
		t.Errorf("got %v, want its whole share after an answer", got)
	}
	if p.p.Due(now) == 1 && p.p.Result(now, 1, health.ProbeGood) {
		t.Error("a good probe of a node that is up changed something")
	}
}

func TestProbes_BadOnes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		results []health.ProbeResult
		// served are signs of life, by the second.
		served  []time.Duration
		resting bool
	}{
		"two":                        {[]health.ProbeResult{2, 2}, nil, false},
		"three":                      {[]health.ProbeResult{2, 2, 2}, nil, true},
		"a_good_one_between":         {[]health.ProbeResult{2, 2, 1, 2, 2}, nil, false},
		"an_invalid_one_between":     {[]health.ProbeResult{2, 0, 2, 0, 2}, nil, true},
		"invalid_ones":               {[]health.ProbeResult{0, 0, 0, 0, 0, 0}, nil, false},
		"served_before_them":         {[]health.ProbeResult{2, 2, 2}, []time.Duration{-1}, true},
		"served_between":             {[]health.ProbeResult{2, 2, 2}, []time.Duration{6}, false},
		"served_between_then_silent": {[]health.ProbeResult{2, 2, 2, 2, 2}, []time.Duration{6}, true},
		"serves_every_ten_seconds":   {[]health.ProbeResult{2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, []time.Duration{8, 18, 28, 38, 48}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProber(t, 1)
			start := 100 * time.Second
			for i, res := range tc.results {
				now := start + time.Duration(i)*5*time.Second
				for len(tc.served) > 0 && start+tc.served[0]*time.Second <= now {
					p.r.Served(start+tc.served[0]*time.Second, 0)
					tc.served = tc.served[1:]
				}
				if changed := p.probe(now, 0, res); changed != (tc.resting && i == len(tc.results)-1) {
					t.Errorf("probe %d: changed %v", i, changed)
				}
			}
			if got := p.r.View(start+time.Minute, 0).State == health.NodeUp; got == tc.resting {
				t.Errorf("up: %v, want resting: %v", got, tc.resting)
			}
		})
	}
}

// Bad probes lengthen no rest: the endpoint that they ask may be what is broken.
func TestProbes_BadOnesDuringARest(t *testing.T) {
	t.Parallel()
	p := newProber(t, 1)
	p.r.Failed(0, 0)
	for i := range time.Duration(6) {
		if p.probe(i*5*time.Second, 0, health.ProbeBad) {
			t.Errorf("probe %d changed the node", i)
		}
	}
	if got := p.r.View(25*time.Second, 0).State; got != health.NodeTrial {
		t.Errorf("got %v, want a trial when the rest is over", got)
	}
}

func TestProbes_SlowOnes(t *testing.T) {
	t.Parallel()
	t.Run("beyond_the_limit_is_bad", func(t *testing.T) {
		t.Parallel()
		p := newProber(t, 1)
		p.r.Failed(0, 0)
		p.p.Due(0)
		if p.p.Result(2501*ms, 0, health.ProbeGood) {
			t.Error("an answer after the limit counted as good")
		}
		p.p.Due(5 * time.Second)
		p.r.Failed(5*time.Second, 0)
		if !p.p.Result(7500*ms, 0, health.ProbeGood) {
			t.Error("an answer at the limit did not count")
		}
	})
	t.Run("do_not_pile_up", func(t *testing.T) {
		t.Parallel()
		p := newProber(t, 1)
		sent := 0
		for now := time.Duration(0); now < 10*time.Minute; now += time.Second {
			if p.p.Due(now) == 0 {
				sent++
			}
		}
		if sent != 20 { // one in 30 s: each given up as lost
			t.Errorf("%d probes sent in 10 minutes without a result, want 20", sent)
		}
	})
	t.Run("result_of_a_lost_one", func(t *testing.T) {
		t.Parallel()
		p := newProber(t, 1)
		p.p.Due(0)
		if got := p.p.Next(); got != 30*time.Second {
			t.Errorf("next at %v, want when the probe is given up: 30 s", got)
		}
		p.p.Due(30 * time.Second)
		p.p.Result(31*time.Second, 0, health.ProbeGood)
		p.r.Failed(31*time.Second, 0)
		if p.p.Result(32*time.Second, 0, health.ProbeGood) {
			t.Error("a result without a probe counted")
		}
		if got := p.p.Due(35*time.Second - ms); got != -1 {
			t.Error("due before its time")
		}
	})
	t.Run("slower_than_the_interval", func(t *testing.T) {
		t.Parallel()
		p := newProber(t, 1)
		p.p.Due(0)
		p.p.Result(7*time.Second, 0, health.ProbeBad)
		if got := p.p.Next(); got != 12*time.Second {
			t.Errorf("next at %v, want a whole interval later", got)
		}
	})
}

func TestProbes_Soon(t *testing.T) {
	t.Parallel()
	p := newProber(t, 2)
	p.probe(0, 0, health.ProbeGood)
	p.p.Soon(time.Second, 0)
	for _, none := range []int{-1, 2} {
		p.p.Soon(time.Second, none)
		p.p.Result(time.Second, none, health.ProbeGood)
	}
	if got := p.p.Due(time.Second); got != 0 {
		t.Fatalf("node %d is due, want 0 at once", got)
	}
	p.p.Soon(2*time.Second, 0)
	if got := p.p.Due(2 * time.Second); got != -1 {
		t.Error("a second probe beside one that runs")
	}
	if got := health.NewProbes(health.NewRotation(nil), health.ProbeSettings{}, 0, nil); got.Next() != 0 || got.Due(time.Hour) != -1 {
		t.Error("probes of no nodes have something due")
	}
}

func TestProbes_Counts(t *testing.T) {
	t.Parallel()
	p := newProber(t, 1)
	if got := p.p.View(0); got.Ended() != 0 || got.Sent != 0 {
		t.Errorf("before the first: %+v", got)
	}
	for i, res := range []health.ProbeResult{health.ProbeGood, health.ProbeBad, health.ProbeBad, health.ProbeInvalid} {
		p.probe(time.Duration(i)*5*time.Second, 0, res)
	}
	p.p.Due(20 * time.Second) // runs
	got := p.p.View(0)
	if want := (health.ProbeView{Sent: 5, Good: 1, Bad: 2, Invalid: 1, Last: health.ProbeInvalid}); got != want || got.Ended() != 4 {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if p.p.Result(23*time.Second, 0, health.ProbeGood); p.p.View(0).Last != health.ProbeBad {
		t.Error("a good answer after the limit was counted as good")
	}
	if p.p.View(-1) != (health.ProbeView{}) || p.p.View(1) != (health.ProbeView{}) {
		t.Error("a node that is none has counts")
	}
}

func TestJudgeProbe(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]health.ProbeResult{
		0: health.ProbeBad, 200: health.ProbeGood, 204: health.ProbeGood, 301: health.ProbeInvalid,
		400: health.ProbeInvalid, 401: health.ProbeInvalid, 404: health.ProbeInvalid, 429: health.ProbeInvalid,
		500: health.ProbeBad, 503: health.ProbeBad, 529: health.ProbeBad, 101: health.ProbeInvalid,
	} {
		if got := health.JudgeProbe(status); got != want {
			t.Errorf("%d: got %v, want %v", status, got, want)
		}
	}
}

func TestProbeSettings_Check(t *testing.T) {
	t.Parallel()
	if err := health.DefaultProbes().Check(); err != nil {
		t.Fatal(err)
	}
	for want, s := range map[string]health.ProbeSettings{
		"every_ms is 0, not in 100..3600000":      {},
		"limit_ms is 6000, not in 10..5000":       {EveryMS: 5000, LimitMS: 6000},
		"jitter_permille is -1, not in 0..1000":   {EveryMS: 5000, LimitMS: 2500, JitterPermille: -1},
		"jitter_permille is 1001, not in 0..1000": {EveryMS: 5000, LimitMS: 2500, JitterPermille: 1001},
	} {
		if err := s.Check(); !errors.Is(err, health.ErrSettings) || err.Error() != want+": unusable health settings" {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	p := health.NewProbes(health.NewRotation([]int{1}), health.ProbeSettings{EveryMS: -1}, 0, nil)
	if p.Limit() != 2500*ms {
		t.Errorf("unusable settings: got a limit of %v, want the default", p.Limit())
	}
}

// However probes and traffic interleave: never two probes of a node at once,
// and never is a node taken out that has just served.
func TestProbes_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
		r := health.NewRotation(make([]int, nodes))
		p := health.NewProbes(r, health.DefaultProbes(), 0, nil)
		began, served := make([]time.Duration, nodes), make([]time.Duration, nodes)
		running := make([]bool, nodes)
		var now time.Duration
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(0, 4000).Draw(t, "ms")) * ms
			i := rapid.IntRange(0, nodes-1).Draw(t, "node")
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				if due := p.Due(now); due >= 0 {
					if running[due] && now-began[due] < 30*time.Second {
						t.Fatalf("a second probe of node %d after %v", due, now-began[due])
					}
					running[due], began[due] = true, now
				}
			case 1:
				up := r.View(now, i).State == health.NodeUp
				p.Result(now, i, health.ProbeResult(rapid.IntRange(0, 2).Draw(t, "result")))
				running[i] = false
				if up && r.View(now, i).State != health.NodeUp && now-served[i] < 5*time.Second && served[i] > 0 {
					t.Fatalf("node %d was taken out %v after it had served", i, now-served[i])
				}
			case 2:
				r.Ended(now, i, health.Call{Begun: now - ms, Answered: true})
				served[i] = now
			}
		}
	})
}
