package core

import (
	"fmt"
	"hash/fnv"
	"sync/atomic"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/health"
	"github.com/spillway-llm/spillway/core/retry"
)

// world is the live state laid out for one revision: dense arrays over its use
// cases and targets, so that a request looks nothing up by name.
type world struct {
	rev       *Revision
	cells     [][]*cell // [use case][target]
	targets   []*targetState
	providers []*providerState // by position in the catalog
	owner     []int            // target → provider
	gates     []gate           // by target
	useCases  []*account       // nil without limits
}

// cell is the state of one target for one use case.
type cell struct {
	target, useCase string
	circuit         *circuit.Circuit
	budget          *retry.Budget
	sampled         float64 // tokens at the last sample; guarded by the refresher
	since           atomic.Pointer[time.Time]
	held            atomic.Pointer[Override] // nil: nobody holds it
}

// cellKey names a cell across revisions.
type cellKey struct{ target, useCase string }

// targetState are the figures of one target over all use cases.
type targetState struct{ window *health.Window }

// providerState is the state of one provider's nodes and keys.
type providerState struct {
	nodes  *health.Rotation
	probes *health.Probes // nil where the nodes are not probed
	keys   []*keyState
	turn   atomic.Uint32 // of the keys, at probing
}

// registry keeps live state by name across revisions and catalogs, so that
// neither an activation nor a reload loses counts.
type registry struct {
	cells   map[cellKey]*cell
	targets map[string]*targetState
	nodes   map[string]nodeSet
	keys    map[string]*keyState
	limits  limiters
	random  Random
}

// nodeSet are the nodes of one provider, as long as they stay the same.
type nodeSet struct {
	rotation *health.Rotation
	probes   *health.Probes
}

func newRegistry(a *accounts, random Random) registry {
	return registry{
		limits: newLimiters(a), cells: map[cellKey]*cell{}, targets: map[string]*targetState{},
		nodes: map[string]nodeSet{}, keys: map[string]*keyState{}, random: random,
	}
}

// world lays the live state out for a revision, keeping what is known by name.
func (r *registry) world(rev *Revision, now time.Duration, jitter func() float64) *world {
	c, t := rev.Catalog, rev.Tables
	w := &world{rev: rev, cells: make([][]*cell, len(t.UseCases))}
	for i := range c.Providers {
		w.providers = append(w.providers, r.provider(&c.Providers[i], now))
	}
	for i := range c.Targets {
		w.targets = append(w.targets, r.target(&c.Targets[i]))
		w.owner = append(w.owner, c.providerIndex[c.Targets[i].Provider])
	}
	r.limits.lay(w, now)
	for u, useCase := range t.UseCases {
		w.cells[u] = make([]*cell, len(c.Targets))
		for i := range c.Targets {
			k := cellKey{c.Targets[i].ID, useCase.ID}
			x, ok := r.cells[k]
			if !ok {
				x = &cell{
					target: k.target, useCase: k.useCase,
					circuit: circuit.New(t.Circuits[u][i], jitter),
					budget:  retry.NewBudget(t.Budgets[u][i], now),
					sampled: t.Budgets[u][i].Capacity,
				}
				r.cells[k] = x
			}
			x.circuit.SetSettings(t.Circuits[u][i])
			x.budget.SetSettings(t.Budgets[u][i], now)
			w.cells[u][i] = x
		}
	}
	return w
}

func (r *registry) target(t *Target) *targetState {
	s, ok := r.targets[t.ID]
	if !ok {
		s = &targetState{window: health.NewWindow(health.Prior{P95: priorP95(t.Family), SuccessPermille: 1000})}
		r.targets[t.ID] = s
	}
	return s
}

// priorP95 is what a target is thought to take before it has data (R2.3).
func priorP95(family string) time.Duration {
	switch family {
	case "opus":
		return 3000 * time.Millisecond
	case "haiku":
		return 500 * time.Millisecond
	default:
		return 1200 * time.Millisecond
	}
}

// provider keeps the rotation while the nodes stay the same, and a key's state
// while its secret does.
func (r *registry) provider(p *Provider, now time.Duration) *providerState {
	weights := make([]int, len(p.Nodes))
	sig := p.ID
	for i, n := range p.Nodes {
		weights[i] = max(n.Weight, 1)
		sig += fmt.Sprintf("\x00%s\x00%d", n.BaseURL, n.Weight)
	}
	set, known := r.nodes[sig]
	if !known {
		set.rotation = health.NewRotation(weights)
		set.probes = health.NewProbes(set.rotation, health.DefaultProbes(), now, r.probeJitter(p.ID))
		r.nodes[sig] = set
	}
	set.rotation.SetBalance(p.Balance)
	s := &providerState{nodes: set.rotation}
	if !p.NoProbes {
		s.probes = set.probes
	}
	for _, k := range p.Keys {
		id := p.ID + "\x00" + k.ID
		switch old := r.keys[id]; {
		case old == nil:
			r.keys[id] = &keyState{id: k.ID, secret: k.Secret}
		case old.secret != k.Secret:
			r.keys[id] = old.replaced(k.Secret)
		}
		s.keys = append(s.keys, r.keys[id])
	}
	return s
}

// probeJitter draws the jitter of a provider's probes, the same for the same
// seed whatever requests run beside them. Probes call it one at a time.
func (r *registry) probeJitter(provider string) func() float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(provider)) // it never fails
	id, n := h.Sum64(), 0
	return func() float64 {
		n++
		return r.random.Float64(id, PurposeProbe, n)
	}
}
