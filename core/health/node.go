package health

import "time"

// How long a node rests after connection failures in a row (R1.4), and how
// long its trial may take to be reported.
const (
	restFirst  = 5 * time.Second
	restMost   = 60 * time.Second
	trialLease = 10 * time.Second
)

// The moving average of a node's latency, and what is assumed before its first
// answer (R8.3).
const (
	latencyKeep  = 0.7
	latencyPrior = 50 * time.Millisecond
	latencyLeast = time.Millisecond // nothing is infinitely fast
)

// NodeState says how a node is used.
type NodeState uint8

// The states. The zero value is up.
const (
	// NodeUp takes its share of the traffic.
	NodeUp NodeState = iota
	// NodeTrial may take one request, or has it: the next answer brings it up.
	NodeTrial
	// NodeResting takes none.
	NodeResting
)

// String returns the state's name in audit and console.
func (s NodeState) String() string {
	switch s {
	case NodeUp:
		return "up"
	case NodeTrial:
		return "trial"
	case NodeResting:
		return "resting"
	}
	return "unknown"
}

// node is the state of one node. It is guarded by its rotation.
type node struct {
	weight    int
	rest      time.Duration // of the latest failure, 0 while up
	restUntil time.Duration
	trial     time.Duration // when the running trial's lease ends, 0 without one
	failedAt  time.Duration // the failure that the rest is for
	servedAt  time.Duration // the newest sign of life; -1 before
	latency   float64       // nanoseconds
}

func (n *node) state(now time.Duration) NodeState {
	switch {
	case n.rest == 0:
		return NodeUp
	case now < n.restUntil:
		return NodeResting
	}
	return NodeTrial
}

// free reports whether the node may be given a request: one on trial only one.
func (n *node) free(now time.Duration) bool {
	s := n.state(now)
	return s == NodeUp || s == NodeTrial && now >= n.trial
}

// share is the node's part in the choice.
func (n *node) share(b Balance) float64 {
	if b == BalanceLatency {
		return float64(n.weight) * 1000 * float64(time.Millisecond) / n.latency
	}
	return float64(n.weight)
}

// fail rests the node, for twice as long as before.
func (n *node) fail(now time.Duration) {
	n.rest = min(max(restFirst, 2*n.rest), restMost)
	n.restUntil, n.failedAt, n.trial = now+n.rest, now, 0
}

// up brings the node back into service.
func (n *node) up() { n.rest, n.restUntil, n.trial = 0, 0, 0 }

// observe takes an answer's latency into the average.
func (n *node) observe(took time.Duration) {
	if took > 0 {
		n.latency = max(latencyKeep*n.latency+(1-latencyKeep)*float64(took), float64(latencyLeast))
	}
}
