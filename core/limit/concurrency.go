package limit

import (
	"sync"
	"time"
)

// Concurrency bounds the attempts at once at one target (R13.1), with a queue of
// those who would wait. Make it with [NewConcurrency]. It is safe for concurrent
// use. It reads no clock, starts no goroutine and never blocks: a caller who
// wants to wait sleeps by itself until it is woken. Times are monotonic.
type Concurrency struct {
	mu       sync.Mutex
	settings ConcurrencySettings
	running  int
	queue    queue
	drain    drain
}

// NewConcurrency returns a limit with nothing running. Figures that
// [ConcurrencySettings.Check] refuses are cut to its bounds.
func NewConcurrency(s ConcurrencySettings) *Concurrency {
	return &Concurrency{settings: s.usable()}
}

func (s ConcurrencySettings) usable() ConcurrencySettings {
	s.Limit, s.Queue = clamp(s.Limit, maxConcurrency), clamp(s.Queue, maxConcurrency)
	if s.MaxWaitMS = clamp(s.MaxWaitMS, maxWaitMS); s.MaxWaitMS == 0 {
		s.MaxWaitMS = DefaultMaxWaitMS
	}
	return s
}

// SetSettings swaps the settings while attempts run. A higher limit lets
// waiters in at once; below a lower one no attempt is ended, but none begins
// until enough have. A shorter queue sheds those it has no place for, lowest
// priority first.
func (c *Concurrency) SetSettings(now time.Duration, s ConcurrencySettings) {
	c.mu.Lock()
	c.settings = s.usable()
	c.mu.Unlock()
	for c.settle(now) {
	}
}

// settle lets one waiter in or sheds one, as the settings demand, and reports
// whether it did.
func (c *Concurrency) settle(now time.Duration) bool {
	c.mu.Lock()
	var w *Waiter
	switch {
	case c.queue.size > 0 && !c.full():
		w = c.queue.best()
		c.queue.remove(w, granted)
		c.start(now)
	case c.queue.size > c.settings.Queue:
		w = c.queue.worst()
		c.queue.remove(w, shed)
	}
	return c.unlockAndWake(w)
}

// unlockAndWake wakes without the lock, because the woken may call back. A
// waiter may be in use again by then, so that its function is read before.
func (c *Concurrency) unlockAndWake(w *Waiter) bool {
	var wake func()
	if w != nil {
		wake = w.Wake
	}
	c.mu.Unlock()
	if wake != nil {
		wake()
	}
	return w != nil
}

// Ticket is the right to run one attempt. It is a value; keep it in one place
// and don't copy it. The zero value is none. It is not for concurrent use.
type Ticket struct{ of *Concurrency }

// Held reports whether the ticket is one.
func (t *Ticket) Held() bool { return t.of != nil }

// Acquire starts an attempt if there is room, and otherwise refuses at once.
// Nobody gets past those who wait: whoever ends passes the place on to them.
func (c *Concurrency) Acquire(now time.Duration, priority int) (Ticket, Refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full() {
		return Ticket{}, c.refusal(now, priority)
	}
	return c.start(now), Refusal{}
}

// Join starts an attempt if there is room, and otherwise puts the waiter into
// the queue, which waiting reports. Then the caller sleeps until
// [Waiter.Until] or until it is woken, and must call [Concurrency.Claim] on
// every path. In a full queue the newest of the lowest priority loses its
// place to a higher one. Whoever could not get a place within its patience, by
// the measured drain rate, is refused at once instead of after a wait in vain.
func (c *Concurrency) Join(now time.Duration, w *Waiter) (t Ticket, no Refusal, waiting bool) {
	c.mu.Lock()
	if !c.full() {
		t = c.start(now)
		c.mu.Unlock()
		return t, Refusal{}, false
	}
	loser := c.queue.worst()
	if c.queue.size < c.settings.Queue {
		loser = nil
	} else if loser == nil || level(loser.Priority) >= level(w.Priority) {
		no = c.refusal(now, w.Priority)
	}
	patience := c.patience(w)
	if r := c.refusal(now, w.Priority); c.drain.measured() && r.RetryAfter > patience {
		no = r
	}
	if no.Refused() {
		c.mu.Unlock()
		return Ticket{}, no, false
	}
	if loser != nil {
		c.queue.remove(loser, shed)
	}
	w.until = now + patience
	c.queue.push(w)
	c.unlockAndWake(loser)
	return Ticket{}, Refusal{}, true
}

// Claim ends the wait of a waiter that joined the queue: with its ticket if it
// got one, and else with the refusal. It must be called after every Join that
// reported waiting, also by a caller who gave up, who then releases the ticket.
func (c *Concurrency) Claim(now time.Duration, w *Waiter) (Ticket, Refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := w.state
	if was == queued {
		c.queue.remove(w, idle)
	}
	w.state = idle
	if was == granted {
		return Ticket{of: c}, Refusal{}
	}
	no := c.refusal(now, w.Priority)
	no.Shed = was == shed
	return Ticket{}, no
}

// Release ends the attempt and passes its place on. A second call does nothing.
func (t *Ticket) Release(now time.Duration) {
	c := t.of
	t.of = nil
	if c == nil {
		return
	}
	c.mu.Lock()
	if c.full() {
		c.drain.letGo(now)
	}
	c.running--
	var w *Waiter
	if c.queue.size > 0 && !c.full() {
		w = c.queue.best()
		c.queue.remove(w, granted)
		c.running++
	}
	c.unlockAndWake(w)
}

// ConcurrencyView is a limit's state at one moment.
type ConcurrencyView struct {
	Settings         ConcurrencySettings
	Running, Waiting int
	// Gap is the mean time until a full limit lets the next one go: the inverse of
	// the drain rate. Measured is false while it is a guess.
	Gap      time.Duration
	Measured bool
}

// View reads the limit without changing it.
func (c *Concurrency) View(now time.Duration) ConcurrencyView {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := ConcurrencyView{Settings: c.settings, Running: c.running, Waiting: c.queue.size}
	v.Gap, v.Measured = c.drain.gap(now), c.drain.measured()
	return v
}

func (c *Concurrency) full() bool { return c.settings.Limit > 0 && c.running >= c.settings.Limit }

// start takes a place that is free. The caller holds the lock.
func (c *Concurrency) start(now time.Duration) Ticket {
	c.running++
	if c.full() {
		c.drain.full(now)
	}
	return Ticket{of: c}
}

// place is how many must end before a newcomer can begin.
func (c *Concurrency) place(priority int) int {
	return c.running - c.settings.Limit + c.queue.ahead(priority) + 1
}

// refusal tells a newcomer of a full limit when to come back.
func (c *Concurrency) refusal(now time.Duration, priority int) Refusal {
	return Refusal{
		Rule: RuleConcurrency, Asked: 1, Cap: int64(c.settings.Limit),
		RetryAfter: c.drain.retryAfter(now, c.place(priority)),
	}
}

func (c *Concurrency) patience(w *Waiter) time.Duration {
	longest := time.Duration(c.settings.MaxWaitMS) * time.Millisecond
	if w.Patience > 0 {
		return min(w.Patience, longest)
	}
	return longest
}
