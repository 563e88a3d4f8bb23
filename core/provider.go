package core

import (
	"net/http"
	"slices"
	"time"

	"github.com/spillway-llm/spillway/core/health"
)

// ProviderLive is the state of one provider's nodes and keys.
type ProviderLive struct {
	ID string
	// Nodes has one entry per node of the provider, in the catalog's order.
	Nodes []NodeLive
	// KeyList has one entry per key of the provider, in the catalog's order.
	KeyList []KeyLive
	// UsableKeys counts the keys that are in service and can be used for at least
	// one of the provider's targets now, Keys all of them.
	UsableKeys, Keys int
}

// FewKeys reports that less than half of the keys are usable: time to look after
// them, before the pool is empty (R59 of the field failures).
func (p *ProviderLive) FewKeys() bool { return 2*p.UsableKeys < p.Keys }

// UsableNodes counts the nodes that don't rest.
func (p *ProviderLive) UsableNodes() int {
	n := 0
	for i := range p.Nodes {
		if p.Nodes[i].State != health.NodeResting {
			n++
		}
	}
	return n
}

// RefusedKeys counts the keys that the vendor refused at their last probe.
func (p *ProviderLive) RefusedKeys() int {
	n := 0
	for i := range p.KeyList {
		if p.KeyList[i].Refused() {
			n++
		}
	}
	return n
}

// NodeLive is the state of one node.
type NodeLive struct {
	ID, Region string
	State      health.NodeState
	// RestUntil is the end of a resting node's rest, else zero.
	RestUntil time.Time
	// LatencyMS is the moving average of the time to first content (R8.3), 50
	// before the first answer.
	LatencyMS int
	// Probes counts the node's probes; they are in no other figure.
	Probes health.ProbeView
}

// KeyLive is the state of one provider key.
type KeyLive struct {
	ID string
	// Usable reports that the key is in service and can be used for at least one
	// target now.
	Usable bool
	// Why it is not usable: "by_hand", or the name of a failure kind, "cooling_down"
	// among them; "" when it is.
	Why string
	// Until is when it is used again by itself, zero when it is usable or never.
	Until time.Time
	// ProbeStatus is the HTTP status of the last probe with this key, 0 before one
	// was answered.
	ProbeStatus int
}

// Refused reports that the vendor refused the key at its last probe. That alone
// takes no key out of service, as a probe proves too little; the next request
// will (R57 and R53 of the field failures).
func (k *KeyLive) Refused() bool {
	return k.ProbeStatus == http.StatusUnauthorized || k.ProbeStatus == http.StatusForbidden
}

// Providers returns the state of nodes and keys at this moment, in the catalog's
// order. [Snapshot.Providers] is the same as of the snapshot, which does not move
// for a latency or a probe.
func (e *Engine) Providers() []ProviderLive {
	return e.pictureProviders(e.Snapshot().world, e.clock.Mono(), e.clock.Wall(), func(time.Duration) {})
}

// pictureProviders takes the state of nodes and keys. until is told when time
// alone will change it.
func (e *Engine) pictureProviders(w *world, now time.Duration, wall time.Time, until func(time.Duration)) []ProviderLive {
	out := make([]ProviderLive, len(w.providers))
	for i, p := range w.providers {
		c, l := &w.rev.Catalog.Providers[i], &out[i]
		l.ID, l.Nodes = c.ID, make([]NodeLive, len(c.Nodes))
		for j := range c.Nodes {
			l.Nodes[j] = p.pictureNode(&c.Nodes[j], j, now, wall)
		}
		l.Keys, l.KeyList = len(p.keys), make([]KeyLive, len(p.keys))
		for j, k := range p.keys {
			l.KeyList[j] = e.pictureKey(w, i, k, now, wall, until)
			if l.KeyList[j].Usable {
				l.UsableKeys++
			}
		}
	}
	return out
}

func (p *providerState) pictureNode(c *Node, i int, now time.Duration, wall time.Time) NodeLive {
	v := p.nodes.View(now, i)
	n := NodeLive{ID: c.ID, Region: c.Region, State: v.State, LatencyMS: int(v.Latency.Round(time.Millisecond).Milliseconds())}
	if v.RestUntil > now {
		n.RestUntil = wall.Add(v.RestUntil - now)
	}
	if p.probes != nil {
		n.Probes = p.probes.View(i)
	}
	return n
}

func (e *Engine) pictureKey(w *world, provider int, k *keyState, now time.Duration, wall time.Time, until func(time.Duration)) KeyLive {
	l := KeyLive{ID: k.id, ProbeStatus: int(k.probed.Load())}
	switch out := k.out.Load(); {
	case out == keyByHand:
		l.Why = "by_hand"
	case out != keyIn:
		back := time.Duration(k.back.Load())
		l.Why, l.Until = Kind(out-keyByHand).String(), wall.Add(max(back-now, 0))
		until(back)
	default:
		left := e.cooling(w, provider, k.id, now)
		if l.Usable = left == 0; !l.Usable {
			l.Why, l.Until = KindCoolingDown.String(), wall.Add(left)
			until(now + left)
		}
	}
	return l
}

// cooling is how long a key still cools down for all targets of its provider, 0
// when it can be used for one of them.
func (e *Engine) cooling(w *world, provider int, key string, now time.Duration) time.Duration {
	if e.cooldowns.running.Load() == 0 {
		return 0
	}
	least := time.Duration(0)
	for t, owner := range w.owner {
		if owner != provider {
			continue
		}
		left := e.cooldowns.left(cooldownKey{w.rev.Catalog.Targets[t].QuotaGroup, key}, now)
		if left == 0 {
			return 0
		}
		if least == 0 || left < least {
			least = left
		}
	}
	return least
}

// sameProvider leaves out what moves all the time: latencies and counts.
func sameProvider(a, b ProviderLive) bool {
	return slices.EqualFunc(a.Nodes, b.Nodes, func(a, b NodeLive) bool {
		return a.State == b.State && a.Probes.Last == b.Probes.Last
	}) && slices.EqualFunc(a.KeyList, b.KeyList, func(a, b KeyLive) bool {
		return a.Usable == b.Usable && a.Why == b.Why && a.ProbeStatus == b.ProbeStatus
	})
}
