package core

import (
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/health"
)

// elsewhere is the node that a request could not connect to last. A retry goes
// to another one (R4.2).
type elsewhere struct {
	nodes *health.Rotation
	node  int
}

// pickNode chooses the node of the next attempt.
func (f *flight) pickNode(nodes *health.Rotation, now time.Duration) int {
	u := f.e.random.Float64(f.seed, PurposeNode, len(f.d.Attempts))
	if f.elsewhere.nodes == nodes {
		return nodes.PickOther(now, u, f.elsewhere.node)
	}
	return nodes.Pick(now, u)
}

// switchesNode reports that a retry at the target will meet another node than
// the one that refused the connection, so that it need not wait for that one.
func (f *flight) switchesNode(target int) bool {
	nodes := f.w.providers[f.w.owner[target]].nodes
	return f.elsewhere.nodes == nodes && nodes.OtherFree(f.e.clock.Mono(), f.elsewhere.node)
}

// outcome is what the attempt says about the target. A failed connection speaks
// of its node alone while another node is up (R1.4): counted against the target,
// a dead region would open the circuits of all that the others serve.
func (f *flight) outcome(k Kind, now time.Duration) circuit.Outcome {
	if k != KindConnect && k != KindTimeoutConnect {
		return k.Outcome()
	}
	if f.w.providers[f.w.owner[f.target]].nodes.OtherUp(now, f.node) {
		return circuit.Neutral
	}
	return k.Outcome()
}

// nodeEnded tells the rotation how the attempt ended, if that says something of
// the node, and reports whether that changed the node's state.
func (f *flight) nodeEnded(k Kind, now time.Duration) (changed bool) {
	owner := f.w.owner[f.target]
	nodes := f.w.providers[owner].nodes
	switch {
	case k == KindConnect || k == KindTimeoutConnect:
		f.elsewhere = elsewhere{nodes, f.node}
		up := nodes.View(now, f.node).State == health.NodeUp
		changed = nodes.Ended(now, f.node, health.Call{Begun: f.begun})
		if up && changed {
			// After a failed trial it waits for its turn: a node that answers probes and
			// nothing else would be given trial after trial.
			f.e.probeSoon(f.w, owner, f.node)
		}
	case k == KindNone || f.d.Attempts[len(f.d.Attempts)-1].Status != 0:
		call := health.Call{Begun: f.begun, Answered: true}
		if f.content != 0 {
			call.Took = f.content - f.begun
		}
		changed = nodes.Ended(now, f.node, call)
	}
	return changed
}
