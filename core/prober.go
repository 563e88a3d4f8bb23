package core

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/spillway-llm/spillway/core/health"
)

// Prober asks a node for a sign of life that costs nothing. It is called
// concurrently.
type Prober interface {
	// Probe asks the node for its list of models with the key, so that no tokens
	// are spent (R8.2), and returns the answer's HTTP status; 0 without an answer,
	// and then why there is none. It must end soon after ctx does.
	Probe(ctx context.Context, p *Provider, n *Node, k *Key) (status int, err error)
}

// probing sends the probes of all nodes beside the requests. A probe is no
// request: it has no decision, takes no permit, and is in no figure but its
// node's own count (R57).
type probing struct {
	prober Prober // nil sends none
	// background tells that the engine's own loop runs, so that probes need not
	// be waited for.
	background atomic.Bool
	ctx        context.Context // ends with the engine
	cancel     context.CancelFunc

	mu      sync.Mutex // guards closed, and running against its end
	closed  bool
	running sync.WaitGroup
}

func (p *probing) open(prober Prober) {
	p.prober = prober
	p.ctx, p.cancel = context.WithCancel(context.Background())
}

// begin notes a probe's start; false says that the engine is closed.
func (p *probing) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.running.Add(1)
	}
	return !p.closed
}

// close ends the running probes and waits for them.
func (p *probing) close() {
	p.background.Store(false)
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.running.Wait()
}

// probeDue sends the probes that are due. An engine without background work
// waits for them, because whoever calls Tick may stop the process after it.
func (e *Engine) probeDue() {
	if e.probing.prober == nil {
		return
	}
	w := e.snap.Load().world
	var sent sync.WaitGroup
	for i := range w.providers {
		e.probeNodes(w, i, &sent)
	}
	if !e.probing.background.Load() {
		sent.Wait()
	}
}

// probeNodes sends the due probes of one provider, each beside the others.
func (e *Engine) probeNodes(w *world, provider int, sent *sync.WaitGroup) {
	p, c := w.providers[provider], &w.rev.Catalog.Providers[provider]
	if p.probes == nil {
		return
	}
	now := e.clock.Mono()
	for i := p.probes.Due(now); i >= 0; i = p.probes.Due(now) {
		key := p.probeKey(c)
		if key < 0 { // without a key there is nothing to ask with, and that says nothing
			p.probes.Result(now, i, health.ProbeInvalid)
			continue
		}
		if !e.probing.begin() {
			return
		}
		sent.Add(1)
		e.clock.Go(func() {
			defer e.probing.running.Done()
			defer sent.Done()
			e.probe(p, c, i, key)
		})
	}
}

// probe makes one probe and reports it. A probe that the engine's end cut short
// has no result.
func (e *Engine) probe(p *providerState, c *Provider, node, key int) {
	ctx, cancel := context.WithCancel(e.probing.ctx)
	defer cancel()
	stop := e.clock.AfterFunc(p.probes.Limit(), cancel)
	status, err := e.probing.prober.Probe(ctx, c, &c.Nodes[node], &c.Keys[key])
	stop()
	if e.probing.ctx.Err() != nil {
		return
	}
	if err != nil {
		status = 0
	}
	if status != 0 {
		p.keys[key].probed.Store(int32(status))
	}
	now := e.clock.Mono()
	if p.probes.Result(now, node, health.JudgeProbe(status)) {
		e.changed(now)
	}
}

// probeSoon probes a node that has just failed, at once where the engine works
// in the background (R4.2).
func (e *Engine) probeSoon(w *world, provider, node int) {
	p := w.providers[provider]
	if e.probing.prober == nil || p.probes == nil {
		return
	}
	p.probes.Soon(e.clock.Mono(), node)
	if e.probing.background.Load() {
		e.probeNodes(w, provider, new(sync.WaitGroup))
	}
}

// probeKey takes turns among the keys in service, so that each of them is known
// to be good before it is needed; -1 without any.
func (p *providerState) probeKey(c *Provider) int {
	n := len(p.keys)
	for range n {
		i := int(p.turn.Add(1)-1) % n
		if p.keys[i].usable() && (c.Simulated || !c.Keys[i].Secret.Empty()) {
			return i
		}
	}
	return -1
}
