package core_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/health"
)

// refusing answers unless the node is one of these, to which no connection is made.
func refusing(nodes ...string) func(context.Context, *core.Attempt) (string, error) {
	return func(_ context.Context, a *core.Attempt) (string, error) {
		if slices.Contains(nodes, a.Node.ID) {
			return "", &core.Error{Op: "call", Kind: core.KindConnect}
		}
		return a.Node.ID, nil
	}
}

// The retry after a failed connection goes to another node, soon, and the failed
// one is probed at once (R4.2).
func TestNodes_SwitchAfterAFailedConnection(t *testing.T) {
	for name, tc := range map[string]struct {
		useCase string
		down    []string
		waits   []time.Duration // before the attempts after the first
	}{
		"one_down":  {"batch", []string{"a"}, []time.Duration{200 * time.Millisecond}},
		"two_down":  {"batch", []string{"a", "b"}, []time.Duration{200 * time.Millisecond, 400 * time.Millisecond}},
		"assistant": {"assistant", []string{"a"}, []time.Duration{200 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				p := newProber(nil)
				r := nodesRig(t, p)
				r.Start()
				for range 100 {
					req := &core.Request{Facts: core.Facts{UseCase: tc.useCase}}
					begun := time.Since(p.start)
					if _, err := core.Do(t.Context(), r.Engine, req, refusing(tc.down...)); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					d := &req.Decision
					if len(d.Attempts) != len(tc.waits)+1 {
						continue // chance had it go elsewhere at first
					}
					checkSwitches(t, d, tc.waits)
					if first := d.Attempts[0].Node; !slices.Contains(p.at(first), begun) {
						t.Errorf("%s failed at %v and was probed at %v", first, begun, p.at(first))
					}
					return
				}
				t.Fatal("no request met the nodes that are down")
			})
		})
	}
}

func checkSwitches(t *testing.T, d *core.Decision, waits []time.Duration) {
	t.Helper()
	met := map[string]bool{}
	for i, a := range d.Attempts {
		if met[a.Node] {
			t.Errorf("attempt %d went to %s again", i, a.Node)
		}
		met[a.Node] = true
		if i > 0 && a.Wait != waits[i-1] {
			t.Errorf("attempt %d waited %v, want %v", i, a.Wait, waits[i-1])
		}
	}
}

// Without another node there is nothing to switch to: the wait is that of a
// connection error.
func TestNodes_NothingToSwitchTo(t *testing.T) {
	for name, change := range map[string]func(*core.Provider){
		"one_node":          func(p *core.Provider) { p.Nodes = p.Nodes[:1] },
		"all_of_them_rest":  func(p *core.Provider) { p.Nodes = p.Nodes[:2] },
		"all_three_of_them": func(*core.Provider) {},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := nodesRig(t, nil, change)
				down := refusing("a", "b", "c")
				for range 2 { // all come to rest
					_, _ = core.Do(t.Context(), r.Engine, &core.Request{Facts: core.Facts{UseCase: "assistant"}}, down)
				}
				req := &core.Request{Facts: core.Facts{UseCase: "batch"}}
				_, err := core.Do(t.Context(), r.Engine, req, down)
				if core.KindOf(err) != core.KindConnect || len(req.Decision.Attempts) != 3 {
					t.Fatalf("got %v after %+v", err, req.Decision.Attempts)
				}
				for i, a := range req.Decision.Attempts {
					if i > 0 && (a.Wait < time.Duration(1<<(i-1))*time.Second || a.Wait > time.Duration(1<<(i-1))*time.Second+time.Second) {
						t.Errorf("attempt %d waited %v, want 2ⁿ s and up to one more", i, a.Wait)
					}
					if i > 0 && len(r.Providers()[0].Nodes) > 1 && a.Node == req.Decision.Attempts[i-1].Node {
						t.Errorf("attempt %d went to %s again", i, a.Node)
					}
				}
			})
		})
	}
}

// Requests are shared out by weight, or by weight and latency where the
// configuration says so, from one reload to the next.
func TestNodes_Balance(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		took := map[string]time.Duration{"a": 500 * time.Millisecond, "b": 150 * time.Millisecond, "c": 100 * time.Millisecond}
		r := nodesRig(t, nil)
		share := func() map[string]int {
			n := map[string]int{}
			for range 2000 {
				_, err := core.Do(t.Context(), r.Engine, &core.Request{}, func(_ context.Context, a *core.Attempt) (int, error) {
					n[a.Node.ID]++
					time.Sleep(took[a.Node.ID])
					a.FirstContent()
					return 0, nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			return n
		}
		checkShares(t, "by weight", share(), map[string]int{"a": 1000, "b": 600, "c": 400})
		byLatency := *r.rev
		byLatency.Catalog = nodesRig(t, nil, func(p *core.Provider) { p.Balance = health.BalanceLatency }).rev.Catalog
		if err := r.Activate(&byLatency); err != nil {
			t.Fatal(err)
		}
		// 5·1000/500, 3·1000/150 and 2·1000/100 are 10, 20 and 20.
		checkShares(t, "by latency", share(), map[string]int{"a": 400, "b": 800, "c": 800})
		if got := r.node("c").LatencyMS; got != 100 {
			t.Errorf("c's latency is %d ms, want 100", got)
		}
		if err := r.Activate(r.rev); err != nil {
			t.Fatal(err)
		}
		checkShares(t, "by weight again", share(), map[string]int{"a": 1000, "b": 600, "c": 400})
	})
}

func checkShares(t *testing.T, when string, got, want map[string]int) {
	t.Helper()
	for n, w := range want {
		if got[n] < w-80 || got[n] > w+80 {
			t.Errorf("%s node %s got %d of 2000 requests, want about %d", when, n, got[n], w)
		}
	}
}

func TestProviders_NodesAndKeys(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := nodesRig(t, nil)
		p := r.Snapshot().Providers[0]
		if p.ID != "p" || p.UsableKeys != 2 || p.UsableNodes() != 3 || p.FewKeys() || p.Nodes[2].Region != "us" || p.Nodes[0].LatencyMS != 50 {
			t.Errorf("at first %+v", p)
		}
		before := r.Snapshot()
		for r.node("a").State == health.NodeUp {
			_, _ = core.Do(t.Context(), r.Engine, &core.Request{}, refusing("a"))
		}
		p = r.Snapshot().Providers[0]
		if p.UsableNodes() != 2 || time.Until(p.Nodes[0].RestUntil) > 5*time.Second || r.Snapshot() == before {
			t.Errorf("with a node at rest %+v", p.Nodes)
		}
		for i, tc := range []struct {
			kind   core.Kind
			why    string
			until  time.Duration
			usable int
		}{
			{core.KindBilling, "billing", 5 * time.Minute, 1},
			{core.KindRateLimited, "cooling_down", 20 * time.Second, 0},
		} {
			want := fails(tc.kind, 20*time.Second)
			var key string
			_, _ = core.Do(t.Context(), r.Engine, &core.Request{Affinity: 2}, func(_ context.Context, a *core.Attempt) (int, error) {
				if key == "" {
					key = a.Key.ID
					return 0, want
				}
				return 0, nil
			})
			p = r.Providers()[0]
			k := p.KeyList[slices.IndexFunc(p.KeyList, func(k core.KeyLive) bool { return k.ID == key })]
			if k.Usable || k.Why != tc.why || time.Until(k.Until) != tc.until || p.UsableKeys != tc.usable || p.FewKeys() != (tc.usable == 0) {
				t.Errorf("%d: key %s is %+v, %d usable", i, key, k, p.UsableKeys)
			}
		}
		if err := r.SetKey("p", "k1", false, "op", "test"); err != nil {
			t.Fatal(err)
		}
		if k := r.Snapshot().Providers[0].KeyList[0]; k.Usable || k.Why != "by_hand" || !k.Until.IsZero() {
			t.Errorf("by hand %+v", k)
		}
	})
}

func TestProviderLive_FewKeys(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		usable, total int
		want          bool
	}{{1, 1, false}, {0, 1, true}, {1, 2, false}, {0, 2, true}, {1, 3, true}, {2, 3, false}, {2, 5, true}, {3, 5, false}, {0, 0, false}} {
		p := core.ProviderLive{UsableKeys: tc.usable, Keys: tc.total}
		if p.FewKeys() != tc.want {
			t.Error(fmt.Sprintf("%d of %d", tc.usable, tc.total), "few:", !tc.want)
		}
	}
}

// A failed connection is its node's, for all use cases at once, as long as
// another node is up, and the target's when none is (R1.4).
func TestNodes_OneDoesNotOpenTheCircuit(t *testing.T) {
	for name, tc := range map[string]struct {
		down []string
		open bool
	}{
		"two_of_three_down": {[]string{"a", "b"}, false},
		"all_down":          {[]string{"a", "b", "c"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := nodesRig(t, nil)
				next := *r.rev
				next.Tables = core.DefaultTables(next.Catalog) // with the shipped thresholds
				if err := r.Activate(&next); err != nil {
					t.Fatal(err)
				}
				var running sync.WaitGroup
				for range 40 { // a crowd whose connections all time out at once
					running.Go(func() {
						_, _ = core.Do(t.Context(), r.Engine, &core.Request{}, func(ctx context.Context, a *core.Attempt) (string, error) {
							if slices.Contains(tc.down, a.Node.ID) {
								time.Sleep(5 * time.Second)
							}
							return refusing(tc.down...)(ctx, a)
						})
					})
				}
				running.Wait()
				live := r.Snapshot().Targets[0]
				if open := live.Circuits[0].State == circuit.Open; open != tc.open || (live.SuccessPermille < 1000) != tc.open {
					t.Errorf("circuit %v, success %d", live.Circuits[0].State, live.SuccessPermille)
				}
			})
		})
	}
}
