package health

import (
	"sync"
	"time"
)

// How long a node rests after connection failures in a row (R1.4).
const (
	restFirst = 5 * time.Second
	restMost  = 60 * time.Second
)

// Rotation chooses among the nodes of one provider, for all use cases at once:
// a node that refuses connections refuses everybody's. Make it with
// [NewRotation]. It is safe for concurrent use. Nodes are named by index, and
// an index that is none is ignored. Times are monotonic.
type Rotation struct {
	mu     sync.Mutex
	nodes  []node
	newest time.Duration
}

type node struct {
	weight    int
	restUntil time.Duration
	rest      time.Duration // of the latest failure, 0 when it works
}

// NewRotation returns the rotation of nodes with these weights, all usable. A
// weight below 1 means 1.
func NewRotation(weights []int) *Rotation {
	r := &Rotation{nodes: make([]node, len(weights))}
	for i, w := range weights {
		r.nodes[i].weight = min(max(1, w), 1_000_000)
	}
	return r
}

// Pick chooses a usable node in proportion to the weights, where u in [0, 1) is
// the draw. When none is usable it chooses among all of them, because a vendor
// that is down altogether must be found to be back (R8.3). It returns -1
// without nodes.
func (r *Rotation) Pick(now time.Duration, u float64) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	now = r.pass(now)
	usable, sum := r.usable(now)
	all := usable == 0
	if all {
		sum = r.sum()
	}
	left, last := int(u*float64(sum)), -1
	for i := range r.nodes {
		n := &r.nodes[i]
		if !all && !n.usable(now) {
			continue
		}
		last = i
		if left -= n.weight; left < 0 {
			break
		}
	}
	return last
}

// Failed notes a connection failure: the node rests for 5 s, doubling to 60 s
// while it goes on failing. Failures during its rest change nothing: they are
// those of calls that ran side by side, and would lengthen it beyond reason.
func (r *Rotation) Failed(now time.Duration, i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now = r.pass(now)
	if i < 0 || i >= len(r.nodes) || !r.nodes[i].usable(now) {
		return
	}
	n := &r.nodes[i]
	n.rest = min(max(restFirst, 2*n.rest), restMost)
	n.restUntil = now + n.rest
}

// Worked notes a connection that was made. It ends the doubling; it ends a rest
// only while no node is usable, because otherwise it is the end of a call that
// began before the failure and proves nothing.
func (r *Rotation) Worked(now time.Duration, i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now = r.pass(now)
	if i < 0 || i >= len(r.nodes) {
		return
	}
	if usable, _ := r.usable(now); usable == 0 || r.nodes[i].usable(now) {
		r.nodes[i].rest, r.nodes[i].restUntil = 0, 0
	}
}

// Usable counts the nodes that don't rest, and all of them.
func (r *Rotation) Usable(now time.Duration) (usable, total int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	usable, _ = r.usable(max(now, r.newest))
	return usable, len(r.nodes)
}

// NextChange is the earliest end of a rest, 0 when no node rests.
func (r *Rotation) NextChange(now time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now = max(now, r.newest)
	var next time.Duration
	for i := range r.nodes {
		n := &r.nodes[i]
		if !n.usable(now) && (next == 0 || n.restUntil < next) {
			next = n.restUntil
		}
	}
	return next
}

func (r *Rotation) pass(now time.Duration) time.Duration {
	r.newest = max(r.newest, now)
	return r.newest
}

func (r *Rotation) usable(now time.Duration) (count, weight int) {
	for i := range r.nodes {
		if n := &r.nodes[i]; n.usable(now) {
			count++
			weight += n.weight
		}
	}
	return count, weight
}

func (r *Rotation) sum() int {
	weight := 0
	for i := range r.nodes {
		weight += r.nodes[i].weight
	}
	return weight
}

func (n *node) usable(now time.Duration) bool { return now >= n.restUntil }
