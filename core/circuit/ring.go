package circuit

import "time"

// outcome is one counted call.
type outcome struct {
	at     time.Duration // completion
	failed bool
	slow   bool
}

// tally is what a stretch of outcomes comes to.
type tally struct {
	calls, failures, slow int
	inARow                int // failures at the newest end
}

// ring keeps the newest outcomes, whose times never fall. It needs no more than
// the error rate looks at: as many failures in a row open a circuit by their
// rate, so a threshold of consecutive failures beyond that never decides.
type ring struct {
	entries [rateOutcomes]outcome
	next    int
	size    int
}

// push adds an outcome in place of the oldest.
func (r *ring) push(o outcome) {
	r.entries[r.next] = o
	r.next++
	if r.next == rateOutcomes {
		r.next = 0
	}
	r.size = min(r.size+1, rateOutcomes)
}

// since counts the outcomes that completed at horizon or later.
func (r *ring) since(horizon time.Duration) tally {
	var t tally
	j := r.next
	for t.calls < r.size {
		if j == 0 {
			j = rateOutcomes
		}
		j--
		o := r.entries[j]
		if o.at < horizon {
			break
		}
		if o.failed {
			if t.failures == t.calls {
				t.inARow++
			}
			t.failures++
		}
		if o.slow {
			t.slow++
		}
		t.calls++
	}
	return t
}
