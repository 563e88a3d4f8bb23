package gateway_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/demovendor"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/policies"
)

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

// network is made of in-memory connections: the real HTTP client and the real
// HTTP server meet on it in virtual time, where sockets would hold the time.
type network struct {
	t     testing.TB
	mu    sync.Mutex
	hosts map[string]*host
}

// host is a listener of the network.
type host struct {
	conns chan net.Conn
	gone  chan struct{}
	leave func()
}

func (h *host) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.gone:
		return nil, net.ErrClosed
	}
}

func (h *host) Close() error { h.leave(); return nil }

func (h *host) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func newNetwork(t testing.TB) *network { return &network{t: t, hosts: map[string]*host{}} }

// serve makes a handler reachable and returns its base URL.
func (n *network) serve(name string, handler http.Handler) string {
	h := &host{conns: make(chan net.Conn), gone: make(chan struct{})}
	h.leave = sync.OnceFunc(func() { close(h.gone) })
	n.mu.Lock()
	n.hosts[name] = h
	n.mu.Unlock()
	srv := &http.Server{Handler: handler}
	go func() { _ = srv.Serve(h) }()
	n.t.Cleanup(func() { _ = srv.Close() })
	return "http://" + name
}

// client is a client of the network's hosts; others refuse its connections.
func (n *network) client() *http.Transport {
	tr := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 1000, DialContext: n.dial}
	n.t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func (n *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	name, _, _ := strings.Cut(address, ":")
	n.mu.Lock()
	h := n.hosts[name]
	n.mu.Unlock()
	if h == nil {
		return nil, fmt.Errorf("dial %s: connection refused", address)
	}
	near, far := net.Pipe()
	select {
	case h.conns <- far:
		return near, nil
	case <-h.gone:
		return nil, fmt.Errorf("dial %s: connection refused", address)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// newVirtualRig is a rig in virtual time. Its vendors are the hosts named like
// the providers; a provider without one is dead.
func newVirtualRig(t testing.TB, n *network, cat *core.Catalog, changes ...setup) *rig {
	t.Helper()
	r := build(t, cat, n.client(), changes)
	r.URL, r.client = n.serve("gateway", r.gateway), &http.Client{Transport: n.client()}
	return r
}

// vendorAt starts a simulated vendor at a provider's host. It answers at once,
// unless its steps say otherwise.
func (n *network) vendorAt(provider string, w demovendor.Wire, respond func(*demovendor.Request) *demovendor.Step) *demovendor.Vendor {
	v := demovendor.New(demovendor.Config{Wire: w, Models: []demovendor.Model{{Name: "m"}}, Respond: respond})
	n.serve(provider, v)
	return v
}

// hits are the requests that a vendor received.
func hits(v *demovendor.Vendor) int { return v.Stats().Hits(demovendor.Count{}) }

// place is one provider of a catalog with one target of the same name.
type place struct {
	id    string
	wire  core.Wire
	url   string   // "" for the host named like the provider
	keys  []string // ids; nil for one
	group string   // quota group, "" for the provider's own
	// window is the context in tokens, 0 for a million.
	window int
}

// catalogOver has a provider and a target for each place.
func catalogOver(t testing.TB, places ...place) *core.Catalog {
	t.Helper()
	var providers []core.Provider
	var targets []core.Target
	for _, x := range places {
		p := core.Provider{ID: x.id, Wire: x.wire, Vendor: string(x.wire), Nodes: []core.Node{{ID: "n", BaseURL: x.url}}}
		if x.url == "" {
			p.Nodes[0].BaseURL = "http://" + x.id
		}
		if x.keys == nil {
			x.keys = []string{"k1"}
		}
		for _, k := range x.keys {
			p.Keys = append(p.Keys, core.Key{ID: k, Secret: core.NewSecret("secret-" + k)})
		}
		if x.window == 0 {
			x.window = 1_000_000
		}
		providers = append(providers, p)
		targets = append(targets, core.Target{
			ID: x.id, Provider: x.id, Model: "m", QuotaGroup: x.group, ContextTokens: x.window, MaxOutput: 64_000,
			Price: price.Table{Input: 3_000_000, Output: 15_000_000, AsOf: "2026-11-29"},
		})
	}
	cat, err := core.NewCatalog(providers, targets)
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// shippedWith are the shipped policies with edits: a file, a text of it and what
// stands there instead, in threes.
func shippedWith(t testing.TB, edits ...string) setup {
	t.Helper()
	files := policies.Files()
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasSuffix(name, "_test.rego") })
	for e := range slices.Chunk(edits, 3) {
		if strings.Count(files[e[0]], e[1]) != 1 {
			t.Fatalf("%s: %q is not there once", e[0], e[1])
		}
		files[e[0]] = strings.Replace(files[e[0]], e[1], e[2], 1)
	}
	return setup{policies: files}
}

// The places of the shipped figures that tests edit.
const (
	reactionsData = "config/reactions/data.json"
	circuitsData  = "config/circuits/data.json"
	limitsData    = "config/limits/data.json"
	throttledStop = `"rate_limited": {"retry": "throttled", "schedule": "exponential", "next": "none"}`
	throttledGoOn = `"rate_limited": {"retry": "throttled", "schedule": "exponential", "next": "any"}`
)
