package circuit

import "time"

// outcome is one counted call.
type outcome struct {
	at     time.Duration // completion
	failed bool
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

// since counts the outcomes that completed at horizon or later, and the
// failures in a row at the newest end.
func (r *ring) since(horizon time.Duration) (failures, calls, inARow int) {
	j := r.next
	for calls < r.size {
		if j == 0 {
			j = rateOutcomes
		}
		j--
		o := r.entries[j]
		if o.at < horizon {
			break
		}
		if o.failed {
			if failures == calls {
				inARow++
			}
			failures++
		}
		calls++
	}
	return failures, calls, inARow
}
