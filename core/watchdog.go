package core

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// watchdog ends attempts that are past their time. One timer serves all of
// them: a timer and a context per request would cost more than the request's
// own work (hot-path.md §8), and almost no deadline is ever reached.
type watchdog struct {
	clock  Clock
	mu     sync.Mutex
	head   *watched
	armed  time.Duration // when the timer fires, 0 without one
	stop   func() bool
	closed bool
}

// watched is one attempt's deadline. It is embedded in what is pooled, and must
// be removed before it is reused.
type watched struct {
	prev, next *watched
	listed     bool
	due        atomic.Int64 // monotonic nanoseconds
	kind       atomic.Uint32
	fired      atomic.Uint32 // the kind that ended the attempt, 0 for none
	cancel     context.CancelCauseFunc
}

// errDeadline is the cause of a context that the watchdog ended.
type errDeadline struct{ kind Kind }

func (e errDeadline) Error() string { return e.kind.String() }

// expired reports the kind of a deadline that ended ctx.
func expired(ctx context.Context) (Kind, bool) {
	d, ok := context.Cause(ctx).(errDeadline)
	return d.kind, ok
}

// add starts to watch.
func (d *watchdog) add(w *watched, due time.Duration, k Kind, cancel context.CancelCauseFunc) {
	w.cancel = cancel
	w.fired.Store(0)
	w.kind.Store(uint32(k))
	w.due.Store(int64(due))
	d.mu.Lock()
	w.prev, w.next, w.listed = nil, d.head, true
	if d.head != nil {
		d.head.prev = w
	}
	d.head = w
	d.arm(due)
	d.mu.Unlock()
}

// renew moves a deadline; a later one costs a store and no lock.
func (d *watchdog) renew(w *watched, due time.Duration, k Kind, sooner bool) {
	w.kind.Store(uint32(k))
	w.due.Store(int64(due))
	if sooner {
		d.mu.Lock()
		d.arm(due)
		d.mu.Unlock()
	}
}

// remove ends the watch.
func (d *watchdog) remove(w *watched) {
	d.mu.Lock()
	d.unlink(w)
	d.mu.Unlock()
}

func (d *watchdog) unlink(w *watched) {
	if !w.listed {
		return
	}
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		d.head = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.listed = nil, nil, false
}

// arm makes sure that the timer fires at due or before. An early firing finds
// nothing and arms itself again, so that a removed deadline costs nothing.
func (d *watchdog) arm(due time.Duration) {
	if d.closed || (d.armed != 0 && d.armed <= due) {
		return
	}
	if d.stop != nil {
		d.stop()
	}
	d.armed = due
	d.stop = d.clock.AfterFunc(due-d.clock.Mono(), d.sweep)
}

// sweep ends what is overdue and arms the timer for the rest.
func (d *watchdog) sweep() {
	d.mu.Lock()
	now := int64(d.clock.Mono())
	d.armed, d.stop = 0, nil
	var late []context.CancelCauseFunc
	var kinds []Kind
	soonest := int64(0)
	for w := d.head; w != nil; {
		next, due := w.next, w.due.Load()
		if due <= now {
			k := Kind(w.kind.Load())
			w.fired.Store(uint32(k))
			late, kinds = append(late, w.cancel), append(kinds, k)
			d.unlink(w)
		} else if soonest == 0 || due < soonest {
			soonest = due
		}
		w = next
	}
	if soonest != 0 {
		d.arm(time.Duration(soonest))
	}
	d.mu.Unlock()
	for i, cancel := range late {
		cancel(errDeadline{kinds[i]})
	}
}

// close stops the timer; attempts still watched run without deadlines.
func (d *watchdog) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.stop != nil {
		d.stop()
	}
}
