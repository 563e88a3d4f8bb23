package core

import (
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
}

// cell is the state of one target for one use case.
type cell struct {
	target, useCase string
	circuit         *circuit.Circuit
	budget          *retry.Budget
	sampled         float64 // tokens at the last sample; guarded by the refresher
	since           atomic.Pointer[time.Time]
}

// targetState are the figures of one target over all use cases.
type targetState struct{ window *health.Window }

// providerState is the state of one provider's nodes and keys.
type providerState struct {
	nodes *health.Rotation
	keys  []*keyState
}

func (p *providerState) key(id string) *keyState {
	for _, k := range p.keys {
		if k.id == id {
			return k
		}
	}
	return nil
}

// keyState says whether one provider key is in service.
type keyState struct {
	id  string
	out atomic.Uint32 // 0 in service; 1+kind out of it
}

func (k *keyState) usable() bool { return k.out.Load() == 0 }

// set reports whether the state changed.
func (k *keyState) set(usable bool, why Kind) bool {
	v := uint32(0)
	if !usable {
		v = 1 + uint32(why)
	}
	return k.out.Swap(v) != v
}

func (k *keyState) why() Kind {
	if v := k.out.Load(); v > 0 {
		return Kind(v - 1)
	}
	return KindNone
}

// registry keeps live state by name across revisions and catalogs, so that
// neither an activation nor a reload loses counts.
type registry struct {
	cells     map[holdKey]*cell
	targets   map[string]*targetState
	providers map[string]*providerState
}

func newRegistry() registry {
	return registry{cells: map[holdKey]*cell{}, targets: map[string]*targetState{}, providers: map[string]*providerState{}}
}

// world lays the live state out for a revision, keeping what is known by name.
func (r *registry) world(rev *Revision, now time.Duration, jitter func() float64) *world {
	c, t := rev.Catalog, rev.Tables
	w := &world{rev: rev, cells: make([][]*cell, len(t.UseCases))}
	for i := range c.Providers {
		w.providers = append(w.providers, r.provider(&c.Providers[i]))
	}
	for i := range c.Targets {
		w.targets = append(w.targets, r.target(&c.Targets[i]))
		w.owner = append(w.owner, c.providerIndex[c.Targets[i].Provider])
	}
	for u, useCase := range t.UseCases {
		w.cells[u] = make([]*cell, len(c.Targets))
		for i := range c.Targets {
			k := holdKey{c.Targets[i].ID, useCase.ID}
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

// provider keeps key states by id; a change of nodes starts their rotation anew.
func (r *registry) provider(p *Provider) *providerState {
	weights := make([]int, len(p.Nodes))
	sig := p.ID
	for i, n := range p.Nodes {
		weights[i] = max(n.Weight, 1)
		sig += "\x00" + n.BaseURL
	}
	old, ok := r.providers[sig]
	s := &providerState{}
	if ok {
		s.nodes = old.nodes
	} else {
		s.nodes = health.NewRotation(weights)
	}
	for _, k := range p.Keys {
		ks := (*keyState)(nil)
		if ok {
			ks = old.key(k.ID)
		}
		if ks == nil {
			ks = &keyState{id: k.ID}
		}
		s.keys = append(s.keys, ks)
	}
	r.providers[sig] = s
	return s
}
