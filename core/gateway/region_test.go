package gateway_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/demovendor"
	"github.com/spillway-llm/spillway/core/health"
	"github.com/spillway-llm/spillway/core/upstream"
)

// region is one provider with three nodes, of which the two with most of the
// weight stand in a region that dies: connections to it never come about, and
// those that it has already stay silent.
type region struct {
	*rig
	start time.Time
	down  atomic.Bool
	wg    sync.WaitGroup

	mu      sync.Mutex
	arrived map[time.Duration]bool // whether the request of that moment was answered
}

const (
	regionDies  = time.Minute
	regionBack  = 4 * time.Minute
	regionEnds  = 6 * time.Minute
	regionEvery = 250 * time.Millisecond
)

func newRegion(t *testing.T, probes bool, balance health.Balance) *region {
	n := newNetwork(t)
	g := &region{start: time.Now(), arrived: map[time.Duration]bool{}}
	p := core.Provider{ID: "o", Wire: core.WireOpenAI, Vendor: "v", Keys: []core.Key{{ID: "k", Secret: core.NewSecret("s")}}, Balance: balance}
	for i, host := range []string{"eu1", "eu2", "us"} {
		v := demovendor.New(demovendor.Config{
			Wire: demovendor.WireOpenAI, Models: []demovendor.Model{{Name: "m", FirstContent: 300 * time.Millisecond}}, Seed: uint64(i),
		})
		n.serve(host, g.mayDie(host, v))
		p.Nodes = append(p.Nodes, core.Node{ID: host, BaseURL: "http://" + host, Region: host[:2], Weight: []int{5, 3, 2}[i]})
	}
	cat, err := core.NewCatalog([]core.Provider{p}, []core.Target{{ID: "m", Provider: "o", Model: "m", ContextTokens: 200_000}})
	if err != nil {
		t.Fatal(err)
	}
	g.rig = newVirtualRig(t, n, cat, shippedWith(t), setup{probes: probes, upstream: func(c *upstream.Config) {
		c.Transport = nil
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if g.lost(address) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return n.dial(ctx, network, address)
		}
	}})
	return g
}

func (g *region) lost(host string) bool { return g.down.Load() && strings.HasPrefix(host, "eu") }

func (g *region) mayDie(host string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.lost(host) {
			_, _ = io.Copy(io.Discard, r.Body) // the server notices who leaves only after that
			<-r.Context().Done()
			return
		}
		h.ServeHTTP(w, r)
	})
}

// run sends four requests a second through the region's death and return.
func (g *region) run(t *testing.T) {
	t.Helper()
	for at := time.Duration(0); at < regionEnds; at = time.Since(g.start) {
		g.down.Store(at >= regionDies && at < regionBack)
		g.wg.Go(func() {
			ok := g.ask(t, "/v1/chat/completions", strings.Replace(askChat, `"gpt"`, `"m"`, 1)).status == 200
			g.mu.Lock()
			defer g.mu.Unlock()
			g.arrived[at] = ok
		})
		<-time.After(regionEvery)
	}
	g.wg.Wait()
	g.tape.decision(t, len(g.arrived))
	g.engine.Close()
}

// between counts the requests that arrived between two moments: all, those that
// were answered, and those whose first attempt went to the region.
func (g *region) between(from, to time.Duration) (all, answered, there int) {
	for at, ok := range g.arrived {
		if at >= from && at < to {
			all++
			if ok {
				answered++
			}
		}
	}
	g.tape.mu.Lock()
	defer g.tape.mu.Unlock()
	for _, d := range g.tape.decisions {
		if at := d.At.Sub(g.start); at >= from && at < to && len(d.Attempts) > 0 && strings.HasPrefix(d.Attempts[0].Node, "eu") {
			there++
		}
	}
	return all, answered, there
}

// TestRegion_IsLeft holds R8.3 through HTTP: 30 s after the region died traffic
// has left it, but for single requests on trial, and it comes back with it.
func TestRegion_IsLeft(t *testing.T) {
	for name, tc := range map[string]struct {
		probes  bool
		balance health.Balance
	}{
		"by_weight":      {true, health.BalanceWeight},
		"by_latency":     {true, health.BalanceLatency},
		"without_probes": {false, health.BalanceWeight},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newRegion(t, tc.probes, tc.balance)
				g.run(t)
				if all, answered, there := g.between(0, regionDies); answered != all || there < all*7/10 {
					t.Errorf("before: %d of %d answered, %d by the region", answered, all, there)
				}
				all, answered, there := g.between(regionDies+30*time.Second, regionBack)
				if answered != all {
					t.Errorf("%d of %d requests failed that came 30 s after the region had died", all-answered, all)
				}
				if there > all/20 {
					t.Errorf("%d of %d requests still went there 30 s after it had died", there, all)
				}
				if all, answered, there := g.between(regionBack+75*time.Second, regionEnds); answered != all || there < all*7/10 {
					t.Errorf("after: %d of %d answered, %d by the region", answered, all, there)
				}
				dying, kept, _ := g.between(regionDies, regionDies+30*time.Second)
				whole, good, _ := g.between(0, regionEnds)
				t.Logf("in its first 30 s %d of %d failed, availability over all %.3f %%, %d trials later", dying-kept, dying, 100*float64(good)/float64(whole), there)
			})
		})
	}
}
