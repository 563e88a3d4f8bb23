package health_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/health"
)

// region is a provider of three nodes in virtual time, of which the first two
// stand in a region that swallows connections for a while.
type region struct {
	r        *health.Rotation
	p        *health.Probes
	rng      *rand.Rand
	now      time.Duration
	connect  time.Duration // what a connection may take
	down, up time.Duration
	running  []flight
	// sent are the requests by the second and whether they went to the region.
	sent, lost map[time.Duration]int
}

// flight is a request or a probe on its way.
type flight struct {
	node        int
	begun, ends time.Duration
	ok, probe   bool
}

const tick = 10 * ms

func (g *region) dead(node int, at time.Duration) bool { return node < 2 && at >= g.down && at < g.up }

func (g *region) launch(node int, probe bool) {
	f := flight{node: node, begun: g.now, ends: g.now + 300*ms, ok: true, probe: probe}
	if g.dead(node, g.now) {
		f.ok, f.ends = false, g.now+g.connect
		if probe {
			f.ends = g.now + g.p.Limit()
		}
	}
	g.running = append(g.running, f)
}

// step ends what is due, sends due probes and now and then a request.
func (g *region) step() {
	g.now += tick
	var left []flight
	for _, f := range g.running {
		switch {
		case f.ends > g.now:
			left = append(left, f)
		case !f.probe:
			g.r.Ended(g.now, f.node, health.Call{Begun: f.begun, Answered: f.ok, Took: f.ends - f.begun})
			if !f.ok && g.p != nil {
				g.p.Soon(g.now, f.node)
			}
		case f.ok:
			g.p.Result(g.now, f.node, health.ProbeGood)
		default:
			g.p.Result(g.now, f.node, health.ProbeBad)
		}
	}
	g.running = left
	for g.p != nil {
		node := g.p.Due(g.now)
		if node < 0 {
			break
		}
		g.launch(node, true)
	}
	if g.now%(50*ms) == 0 { // 20 requests a second
		node := g.r.Pick(g.now, g.rng.Float64())
		g.sent[g.now/time.Second]++
		if node < 2 {
			g.lost[g.now/time.Second]++
		}
		g.launch(node, false)
	}
}

// into counts the requests that went to the region between two seconds.
func (g *region) into(from, to time.Duration) (n, all int) {
	for s := from; s < to; s++ {
		n, all = n+g.lost[s], all+g.sent[s]
	}
	return n, all
}

// Traffic has left a dead region 30 s after its death, whether connections to
// it fail soon or hang for longer than that, and comes back with it.
func TestRotation_DeadRegionIsLeft(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		connect time.Duration
		probes  bool
		balance health.Balance
	}{
		"connections_fail_after_10_s":         {10 * time.Second, true, health.BalanceWeight},
		"connections_fail_without_probes":     {10 * time.Second, false, health.BalanceWeight},
		"connections_hang_longer_than_that":   {2 * time.Minute, true, health.BalanceWeight},
		"refused_at_once":                     {10 * ms, true, health.BalanceWeight},
		"latency_weighted":                    {10 * time.Second, true, health.BalanceLatency},
		"latency_weighted_and_hanging_longer": {2 * time.Minute, true, health.BalanceLatency},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(20260921, 4))
			g := &region{
				r: health.NewRotation([]int{5, 3, 2}), rng: rng, connect: tc.connect,
				down: time.Minute, up: 5 * time.Minute,
				sent: map[time.Duration]int{}, lost: map[time.Duration]int{},
			}
			g.r.SetBalance(tc.balance)
			if tc.probes {
				g.p = health.NewProbes(g.r, health.DefaultProbes(), 0, rng.Float64)
			}
			for g.now < 8*time.Minute {
				g.step()
			}
			if n, all := g.into(0, 60); n < all/2 {
				t.Fatalf("%d of %d went to the healthy region, want most", n, all)
			}
			// What still goes there are single trials: two nodes, one in ten seconds each.
			if n, all := g.into(90, 300); n > all/100 {
				t.Errorf("%d of %d requests went to the region 30 s after it died", n, all)
			}
			if n, all := g.into(375, 480); n < all*7/10 {
				t.Errorf("%d of %d went to the region a good minute after it was back, want its whole share", n, all)
			}
			n, _ := g.into(60, 90)
			after, _ := g.into(90, 300)
			t.Logf("%d requests lost before it was left, %d trials after", n, after)
		})
	}
}
