package health

import (
	"math"
	"sync"
	"time"
)

// Balance says how a rotation shares traffic out among its nodes.
type Balance uint8

// The balances. The zero value is by weight.
const (
	// BalanceWeight shares in proportion to the weights.
	BalanceWeight Balance = iota
	// BalanceLatency shares in proportion to weight × 1000 / latency (R8.3).
	BalanceLatency
)

// String returns the balance's name in configuration and console.
func (b Balance) String() string {
	switch b {
	case BalanceWeight:
		return "weight"
	case BalanceLatency:
		return "latency"
	}
	return "unknown"
}

// Rotation chooses among the nodes of one provider, for all use cases at once:
// a node that refuses connections refuses everybody's. Make it with
// [NewRotation]. It is safe for concurrent use. Nodes are named by index, and
// an index that is none is ignored. Times are monotonic.
//
// A node that failed rests. After its rest, or a good probe, it is given one
// request on trial, and comes back with that one's answer: given its whole
// share, a dead region would swallow that until the first connection times out.
type Rotation struct {
	mu      sync.Mutex
	nodes   []node
	balance Balance
	newest  time.Duration
}

// NewRotation returns the rotation of nodes with these weights, all up. A
// weight below 1 means 1.
func NewRotation(weights []int) *Rotation {
	r := &Rotation{nodes: make([]node, len(weights))}
	for i, w := range weights {
		r.nodes[i] = node{weight: min(max(1, w), 1_000_000), servedAt: -1, latency: float64(latencyPrior)}
	}
	return r
}

// SetBalance changes how traffic is shared out. Latencies are averaged under
// both balances, so that a change finds them known.
func (r *Rotation) SetBalance(b Balance) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.balance = b
}

// Pick chooses a node that is up, or one on trial that waits for its request,
// in proportion to their shares, where u in [0, 1) is the draw. When there is
// none it chooses among all (panic mode), because a vendor that is down
// altogether must be found to be back (R8.3). It returns -1 without nodes.
func (r *Rotation) Pick(now time.Duration, u float64) int { return r.PickOther(now, u, -1) }

// PickOther chooses as [Rotation.Pick] does, but not node i while another can be
// given the request: a retry goes elsewhere than where the connection has just
// failed (R4.2).
func (r *Rotation) PickOther(now time.Duration, u float64, i int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	now = r.pass(now)
	if n := r.node(i); n != nil && (len(r.nodes) == 1 || n.free(now) && !r.otherFree(now, i)) {
		i = -1
	}
	sum, every := 0.0, 0.0
	for j := range r.nodes {
		n := &r.nodes[j]
		if j == i {
			continue
		}
		every += n.share(r.balance)
		if n.free(now) {
			sum += n.share(r.balance)
		}
	}
	all := sum == 0
	if all {
		sum = every
	}
	return r.draw(now, u*sum, i, all)
}

// draw finds the node at a place in the sum of the shares, and gives one on
// trial its request. The caller holds mu.
func (r *Rotation) draw(now time.Duration, left float64, except int, all bool) int {
	picked := -1
	for i := range r.nodes {
		n := &r.nodes[i]
		if i == except || !all && !n.free(now) {
			continue
		}
		picked = i
		if left -= n.share(r.balance); left < 0 {
			break
		}
	}
	if picked >= 0 && !all && r.nodes[picked].state(now) == NodeTrial {
		r.nodes[picked].trial = now + trialLease
	}
	return picked
}

// OtherFree reports whether a node other than i may be given a request now.
func (r *Rotation) OtherFree(now time.Duration, i int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.otherFree(r.pass(now), i)
}

func (r *Rotation) otherFree(now time.Duration, i int) bool {
	for j := range r.nodes {
		if j != i && r.nodes[j].free(now) {
			return true
		}
	}
	return false
}

// OtherUp reports whether a node other than i is up: then what failed is the
// node and not the provider.
func (r *Rotation) OtherUp(now time.Duration, i int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now = r.pass(now)
	for j := range r.nodes {
		if j != i && r.nodes[j].state(now) == NodeUp {
			return true
		}
	}
	return false
}

// Call is how one attempt at a node ended.
type Call struct {
	// Begun is when it began: what began before a node failed proves nothing about
	// the time after.
	Begun time.Duration
	// Answered tells that the node gave an HTTP answer, whatever it says; false is
	// a connection that could not be made. Attempts that prove neither are no calls.
	Answered bool
	// Took is the time to the answer's first content, 0 when there is none to
	// measure. An error answered at once is not fast: leave it out.
	Took time.Duration
}

// Ended notes the end of a call. An answer brings a node on trial up; a failed
// connection rests its node for 5 s, doubling to 60 s while it goes on failing.
// Calls that ran side by side with one that failed already change nothing. It
// reports whether the node's state changed.
func (r *Rotation) Ended(now time.Duration, i int, c Call) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now = r.pass(now)
	n := r.node(i)
	if n == nil {
		return false
	}
	since := n.rest == 0 || c.Begun > n.failedAt
	if !c.Answered {
		if changed = since && n.state(now) != NodeResting; changed {
			n.fail(now)
		}
		return changed
	}
	n.observe(c.Took)
	n.servedAt = now
	// With no other node it counts in any case: something answers.
	if usable, _ := r.usable(now); since || usable == 0 {
		changed = n.rest != 0
		n.up()
	}
	return changed
}

// Failed notes a connection failure of a call whose beginning is not known. It
// counts unless the node rests already.
func (r *Rotation) Failed(now time.Duration, i int) {
	r.Ended(now, i, Call{Begun: math.MaxInt64})
}

// Worked notes an answer to a call whose beginning is not known. It ends a rest
// only while no node is usable, because otherwise it may be the end of a call
// that began before the failure and proves nothing.
func (r *Rotation) Worked(now time.Duration, i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now = r.pass(now)
	n := r.node(i)
	if n == nil {
		return
	}
	n.servedAt = now
	if usable, _ := r.usable(now); usable == 0 || n.state(now) != NodeResting {
		n.up()
	}
}

// Served notes a sign of life in the middle of a call, such as a stream's first
// content: a node that shows some is not taken out by probes.
func (r *Rotation) Served(now time.Duration, i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now = r.pass(now)
	if n := r.node(i); n != nil {
		n.servedAt = now
	}
}

// Usable counts the nodes that don't rest, and all of them.
func (r *Rotation) Usable(now time.Duration) (usable, total int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.usable(max(now, r.newest))
}

// NextChange is the earliest end of a rest, 0 when no node rests.
func (r *Rotation) NextChange(now time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now = max(now, r.newest)
	var next time.Duration
	for i := range r.nodes {
		n := &r.nodes[i]
		if n.state(now) == NodeResting && (next == 0 || n.restUntil < next) {
			next = n.restUntil
		}
	}
	return next
}

// NodeView is a node's state at one moment.
type NodeView struct {
	State NodeState
	// RestUntil is the end of a resting node's rest, else 0.
	RestUntil time.Duration
	// Latency is the moving average, 50 ms before the first answer.
	Latency time.Duration
}

// View reads one node; the zero view for an index that is none.
func (r *Rotation) View(now time.Duration, i int) NodeView {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.node(i)
	if n == nil {
		return NodeView{}
	}
	v := NodeView{State: n.state(max(now, r.newest)), Latency: time.Duration(n.latency)}
	if v.State == NodeResting {
		v.RestUntil = n.restUntil
	}
	return v
}

// grant ends a rest: the node is given one request on trial. It reports whether
// that changed anything.
func (r *Rotation) grant(now time.Duration, i int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now = r.pass(now)
	n := r.node(i)
	if n == nil || n.state(now) != NodeResting {
		return false
	}
	n.restUntil = now
	return true
}

// retire rests a node that shows no sign of life since a time. It reports
// whether it did; a node that rests already or is on trial is left alone.
func (r *Rotation) retire(now, since time.Duration, i int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now = r.pass(now)
	n := r.node(i)
	if n == nil || n.state(now) != NodeUp || n.servedAt >= since {
		return false
	}
	n.fail(now)
	return true
}

// served reports whether a node showed a sign of life since a time.
func (r *Rotation) served(since time.Duration, i int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.node(i)
	return n != nil && n.servedAt >= since
}

func (r *Rotation) node(i int) *node {
	if i < 0 || i >= len(r.nodes) {
		return nil
	}
	return &r.nodes[i]
}

func (r *Rotation) pass(now time.Duration) time.Duration {
	r.newest = max(r.newest, now)
	return r.newest
}

func (r *Rotation) usable(now time.Duration) (count, total int) {
	for i := range r.nodes {
		if r.nodes[i].state(now) != NodeResting {
			count++
		}
	}
	return count, len(r.nodes)
}
