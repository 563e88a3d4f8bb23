package circuit

import "time"

// outcome is one counted call.
type outcome struct {
	at     time.Duration // completion
	failed bool
}

// ring keeps the newest outcomes, whose times never fall.
type ring struct {
	entries []outcome
	next    int
	size    int
}

// grow makes room for n outcomes and keeps those it has. It never shrinks, so
// that a threshold raised for a while costs no history.
func (r *ring) grow(n int) {
	if n <= len(r.entries) {
		return
	}
	entries := make([]outcome, n)
	for i := range r.size {
		entries[r.size-1-i] = r.back(i)
	}
	r.entries, r.next = entries, r.size
}

// push adds an outcome in place of the oldest.
func (r *ring) push(o outcome) {
	if r.next == len(r.entries) {
		r.next = 0
	}
	r.entries[r.next] = o
	r.next++
	r.size = min(r.size+1, len(r.entries))
}

// back returns the i-th newest outcome; 0 is the newest.
func (r *ring) back(i int) outcome {
	j := r.next - 1 - i
	if j < 0 {
		j += len(r.entries)
	}
	return r.entries[j]
}

// since counts the newest outcomes, at most most of them, that completed at
// horizon or later.
func (r *ring) since(horizon time.Duration, most int) (failures, calls int) {
	for calls < min(most, r.size) {
		o := r.back(calls)
		if o.at < horizon {
			break
		}
		calls++
		if o.failed {
			failures++
		}
	}
	return failures, calls
}

// failuresSince counts the newest failures in a row, at most most of them, that
// completed at horizon or later.
func (r *ring) failuresSince(horizon time.Duration, most int) int {
	n := 0
	for n < min(most, r.size) {
		if o := r.back(n); !o.failed || o.at < horizon {
			break
		}
		n++
	}
	return n
}

func (r *ring) clear() { r.next, r.size = 0, 0 }
