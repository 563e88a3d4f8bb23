package simulate

import (
	"container/heap"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/spillway-llm/spillway/core"
)

// ErrStopped is what a task's Sleep returns after [Clock.Stop].
var ErrStopped = errors.New("the virtual clock was stopped")

// errNoTask is a Sleep that nobody could wake.
var errNoTask = errors.New("sleep in virtual time: not called by a task of the clock")

// Clock is virtual time for the engine, the same on every run. Make it with
// [NewClock]. It is a [core.Clock] for its tasks and for the goroutine that
// drives it, of which one runs at a time; it is not for anybody else.
//
// Every function given to Go or AfterFunc is a task. A task runs in a coroutine,
// not in a free goroutine: [Clock.Run] hands it the control and gets it back when
// the task sleeps or ends, so that two tasks never run at once, whatever
// GOMAXPROCS is. The next task is always the one with the least (time, sequence); the
// sequence counts the calls of Go, AfterFunc and Sleep, in the order in which
// the tasks made them. So each step depends on the steps before it and on
// nothing else, and by induction the whole run on its inputs alone.
//
// Contexts are the one way by which a task ends another one's sleep, and Go's
// way to hear of that, a channel or [context.AfterFunc], would leave the moment
// to Go's scheduler. But a context's Err changes inside the cancel call, before
// it returns, and only a running task calls it. So the clock asks the Err of
// every sleeper's context between two steps, in the order in which they fell
// asleep, and puts those that ended in the queue for the present moment.
//
// A task may wait for another only by Sleep: one that waits on a channel waits
// for ever, as nothing else runs. A context with a deadline in real time would
// bring real time in.
type Clock struct {
	start   time.Time
	now     time.Duration
	last    uint64
	queue   queue
	asleep  task // the ring's anchor: sleepers whose context can end, the earliest first
	current *task
	idle    []*routine
	aside   func() // what the running task wants done on the driver's stack
	stopped bool
}

var _ core.Clock = (*Clock)(nil)

// task is a function on its way. It waits in the queue except while it runs.
type task struct {
	run   func()
	timer bool     // of AfterFunc, which a stopped clock forgets
	on    *routine // nil before it begins

	at    time.Duration
	order uint64
	index int // in the queue, -1 outside

	ctx        context.Context // of the running sleep, nil if it can't end
	prev, next *task
}

// routine is a coroutine that runs one task after the other: to make a new one
// for each request takes a fifth of a run.
type routine struct {
	run    func()
	resume func() (struct{}, bool)
	end    func()
	yield  func(struct{}) bool
}

// NewClock returns a clock that shows the wall time start and has run for nothing.
func NewClock(start time.Time) *Clock {
	c := &Clock{start: start}
	c.asleep.prev, c.asleep.next = &c.asleep, &c.asleep
	return c
}

// Mono is the virtual time since the clock was made.
func (c *Clock) Mono() time.Duration { return c.now }

// Wall is the virtual calendar time.
func (c *Clock) Wall() time.Time { return c.start.Add(c.now) }

// Go runs f as a task, after what is already due now.
func (c *Clock) Go(f func()) { c.push(&task{run: f}, c.now) }

// AfterFunc runs f as a task, d from now, unless stop is called first.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	t := &task{run: f, timer: true}
	c.push(t, c.now+max(d, 0))
	return func() bool {
		if t.on != nil || t.index < 0 {
			return false
		}
		heap.Remove(&c.queue, t.index)
		return true
	}
}

// Sleep gives the control back for d of virtual time, or until ctx ends or the
// clock stops, which it says by its error. Only a task may sleep.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	t := c.current
	switch {
	case c.stopped:
		return ErrStopped
	case t == nil:
		return errNoTask
	}
	c.push(t, c.now+d)
	if ctx.Done() != nil {
		c.watch(t, ctx)
	}
	t.on.yield(struct{}{})
	c.unwatch(t)
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.stopped {
		return ErrStopped
	}
	return nil
}

// Run lets tasks run until done reports true or nothing is left to wait for.
// done is asked before each step; a panic of a task comes out of Run.
func (c *Clock) Run(done func() bool) {
	for !done() && c.step() {
	}
}

// Stop ends the simulation: every sleeper wakes with [ErrStopped], timers are
// forgotten. It returns when no task is left.
func (c *Clock) Stop() {
	c.stopped = true
	for _, t := range c.queue {
		t.at = c.now
	}
	heap.Init(&c.queue)
	for len(c.queue) > 0 {
		if t := c.queue[0]; t.timer && t.on == nil {
			heap.Pop(&c.queue)
			continue
		}
		c.step()
	}
	for _, r := range c.idle {
		r.end()
	}
	c.idle = nil
}

// Aside runs f on the stack of the goroutine that drives the clock, while the
// running task waits and nothing else happens. It is for what needs a deep stack:
// the driver's has grown once, a task's would grow for each request anew, which
// takes a fifth of a run with policies. f must not sleep.
func (c *Clock) Aside(f func()) {
	if c.current == nil {
		f()
		return
	}
	c.aside = f
	c.current.on.yield(struct{}{})
}

// step gives the control to the next task until it sleeps or ends.
func (c *Clock) step() bool {
	c.wakeEnded()
	if len(c.queue) == 0 {
		return false
	}
	t := heap.Pop(&c.queue).(*task)
	c.now = max(c.now, t.at)
	if t.on == nil {
		t.on = c.routine()
		t.on.run = t.run
	}
	c.current = t
	t.on.resume()
	for c.aside != nil {
		c.aside()
		c.aside = nil
		t.on.resume()
	}
	c.current = nil
	if t.on.run == nil {
		c.idle = append(c.idle, t.on)
	}
	return true
}

// routine returns one without a task.
func (c *Clock) routine() *routine {
	if n := len(c.idle); n > 0 {
		r := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return r
	}
	r := &routine{}
	r.resume, r.end = iter.Pull(func(yield func(struct{}) bool) {
		r.yield = yield
		for more := true; more; more = yield(struct{}{}) {
			r.run()
			r.run = nil
		}
	})
	return r
}

// wakeEnded makes the sleepers due whose context has ended.
func (c *Clock) wakeEnded() {
	for t := c.asleep.next; t != &c.asleep; {
		next := t.next
		if t.ctx.Err() != nil {
			c.unwatch(t)
			heap.Remove(&c.queue, t.index)
			c.push(t, c.now)
		}
		t = next
	}
}

func (c *Clock) push(t *task, at time.Duration) {
	c.last++
	t.at, t.order = at, c.last
	heap.Push(&c.queue, t)
}

func (c *Clock) watch(t *task, ctx context.Context) {
	t.ctx = ctx
	t.prev, t.next = c.asleep.prev, &c.asleep
	t.prev.next, t.next.prev = t, t
}

func (c *Clock) unwatch(t *task) {
	if t.ctx == nil {
		return
	}
	t.prev.next, t.next.prev = t.next, t.prev
	t.ctx, t.prev, t.next = nil, nil, nil
}

// queue is a heap by (time, sequence), which no two tasks share.
type queue []*task

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].order < q[j].order
}

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push is for container/heap.
func (q *queue) Push(x any) {
	t := x.(*task)
	t.index = len(*q)
	*q = append(*q, t)
}

// Pop is for container/heap.
func (q *queue) Pop() any {
	old := *q
	t := old[len(old)-1]
	old[len(old)-1] = nil
	t.index = -1
	*q = old[:len(old)-1]
	return t
}
