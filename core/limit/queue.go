package limit

import "time"

// priorities is how many there are: 0 to 10, the highest served first.
const priorities = 11

// Waiter is a request's place in a [Concurrency]'s queue. It belongs to the
// request, so that waiting allocates nothing; it may be used again after
// [Concurrency.Claim], and must not be copied or changed before.
type Waiter struct {
	// Priority is 0 to 10; other figures count as the nearest.
	Priority int
	// Patience is the longest the request would wait; 0 means as long as the
	// settings allow, which bound it anyway.
	Patience time.Duration
	// Wake is called once when the waiter has its place or lost it, from whichever
	// goroutine brought that about, and possibly after the waiter was claimed. It
	// holds no lock, must not block, and is typically the cancel function of the
	// context in which the request sleeps.
	Wake func()

	state      waiting
	until      time.Duration
	prev, next *Waiter
}

// Until is the time at which the wait is in vain.
func (w *Waiter) Until() time.Duration { return w.until }

// waiting is what became of a waiter.
type waiting uint8

const (
	idle waiting = iota
	queued
	granted
	shed
)

// queue holds waiters first in, first out within each priority. It is guarded
// by its owner.
type queue struct {
	first, last [priorities]*Waiter
	counts      [priorities]int
	size        int
}

func level(priority int) int { return clamp(priority, priorities-1) }

// push adds a waiter behind those of its priority.
func (q *queue) push(w *Waiter) {
	p := level(w.Priority)
	w.state, w.prev, w.next = queued, q.last[p], nil
	if w.prev == nil {
		q.first[p] = w
	} else {
		w.prev.next = w
	}
	q.last[p] = w
	q.counts[p]++
	q.size++
}

// remove takes a waiter out and says what became of it.
func (q *queue) remove(w *Waiter, became waiting) {
	p := level(w.Priority)
	if w.prev == nil {
		q.first[p] = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last[p] = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.state, w.prev, w.next = became, nil, nil
	q.counts[p]--
	q.size--
}

// best is the waiter to serve first: the highest priority's oldest.
func (q *queue) best() *Waiter {
	for p := priorities - 1; p >= 0; p-- {
		if q.first[p] != nil {
			return q.first[p]
		}
	}
	return nil
}

// worst is the waiter to shed first: the lowest priority's newest (R13.3).
func (q *queue) worst() *Waiter {
	for _, w := range q.last {
		if w != nil {
			return w
		}
	}
	return nil
}

// ahead counts the waiters that are served before a newcomer.
func (q *queue) ahead(priority int) int {
	n := 0
	for p := level(priority); p < priorities; p++ {
		n += q.counts[p]
	}
	return n
}
