package limit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/limit"
)

// crowd drives one limit by hand and writes down who was woken in which order.
type crowd struct {
	*testing.T
	c       *limit.Concurrency
	now     time.Duration
	running map[string]*limit.Ticket
	waiting map[string]*limit.Waiter
	woken   []string
}

func newCrowd(t *testing.T, s limit.ConcurrencySettings) *crowd {
	t.Helper()
	return &crowd{
		T: t, c: limit.NewConcurrency(s), running: map[string]*limit.Ticket{}, waiting: map[string]*limit.Waiter{},
	}
}

// join asks for a place, to wait for if need be, and says what came of it.
func (c *crowd) join(name string, priority int) string {
	w := &limit.Waiter{Priority: priority, Wake: func() { c.woken = append(c.woken, name) }}
	t, no, waits := c.c.Join(c.now, w)
	switch {
	case waits:
		c.waiting[name] = w
		return "waits"
	case no.Refused():
		return "refused"
	}
	c.running[name] = &t
	return "runs"
}

// claim ends a wait and says what came of it.
func (c *crowd) claim(name string) string {
	w := c.waiting[name]
	delete(c.waiting, name)
	t, no := c.c.Claim(c.now, w)
	switch {
	case t.Held():
		c.running[name] = &t
		return "runs"
	case no.Shed:
		return "shed"
	}
	return "refused"
}

func (c *crowd) release(name string) {
	c.running[name].Release(c.now)
	delete(c.running, name)
}

// expect compares who was woken since the last call.
func (c *crowd) expect(names ...string) {
	c.Helper()
	if !slices.Equal(c.woken, names) {
		c.Fatalf("woken %v, want %v", c.woken, names)
	}
	c.woken = nil
}

func (c *crowd) view(running, waiting int) {
	c.Helper()
	if v := c.c.View(c.now); v.Running != running || v.Waiting != waiting {
		c.Fatalf("got %d running and %d waiting, want %d and %d", v.Running, v.Waiting, running, waiting)
	}
}

func TestConcurrency_Acquire(t *testing.T) {
	t.Parallel()
	c := limit.NewConcurrency(limit.ConcurrencySettings{Limit: 2})
	a, _ := c.Acquire(0, 5)
	b, _ := c.Acquire(0, 5)
	if !a.Held() || !b.Held() {
		t.Fatal("refused below the limit")
	}
	x, no := c.Acquire(0, 5)
	want := limit.Refusal{Rule: limit.RuleConcurrency, Asked: 1, Cap: 2, RetryAfter: time.Second}
	if x.Held() || no != want {
		t.Errorf("got %+v, want %+v", no, want)
	}
	a.Release(0)
	a.Release(0)
	a.Release(0)
	if a.Held() {
		t.Error("a released ticket is still held")
	}
	if got := c.View(0).Running; got != 1 {
		t.Errorf("%d running after one release, however often it was called, want 1", got)
	}
	x.Release(0)
	new(limit.Ticket).Release(0)
	if got := c.View(0).Running; got != 1 {
		t.Errorf("%d running: tickets that are none gave something back", got)
	}
}

func TestConcurrency_NoLimit(t *testing.T) {
	t.Parallel()
	for _, s := range []limit.ConcurrencySettings{{}, {Limit: -4, Queue: -4, MaxWaitMS: -4}} {
		c := limit.NewConcurrency(s)
		for range 1000 {
			if _, no := c.Acquire(0, 0); no.Refused() {
				t.Fatal(no)
			}
		}
	}
}

func TestQueue_FirstInFirstOutWithinPriority(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, limit.ConcurrencySettings{Limit: 1, Queue: 10})
	c.join("first", 5)
	for i, p := range []int{3, 7, 5, 7, 3, 5, 99, -1} {
		if got := c.join(fmt.Sprintf("%c%d", 'a'+i, p), p); got != "waits" {
			t.Fatalf("%d: %s", i, got)
		}
	}
	c.view(1, 8)
	if x, no := c.c.Acquire(c.now, 10); x.Held() || !no.Refused() {
		t.Error("somebody got past those who wait")
	}
	next := "first"
	for _, want := range []string{"g99", "b7", "d7", "c5", "f5", "a3", "e3", "h-1"} {
		c.release(next)
		c.expect(want)
		if got := c.claim(want); got != "runs" {
			t.Fatalf("%s %s", want, got)
		}
		next = want
	}
	c.release(next)
	c.view(0, 0)
}

// A full queue sheds the newest of the lowest priority, and never for an equal.
func TestQueue_ShedsTheLowestPriorityFirst(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, limit.ConcurrencySettings{Limit: 1, Queue: 3})
	c.join("runs", 5)
	c.join("low_old", 2)
	c.join("low_new", 2)
	c.join("high", 8)
	if got := c.join("equal", 2); got != "refused" {
		t.Errorf("an equal priority %s, want refused", got)
	}
	c.expect()
	if got := c.join("middle", 5); got != "waits" {
		t.Errorf("a higher priority %s, want it to wait", got)
	}
	c.expect("low_new")
	if got := c.join("middle_2", 5); got != "waits" {
		t.Errorf("a higher priority %s, want it to wait", got)
	}
	c.expect("low_old")
	if got := c.join("middle_3", 5); got != "refused" {
		t.Errorf("an equal priority %s, want refused", got)
	}
	for name, want := range map[string]string{"low_new": "shed", "low_old": "shed", "high": "refused"} {
		if got := c.claim(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	c.view(1, 2)
}

func TestQueue_GivingUp(t *testing.T) {
	t.Parallel()
	t.Run("before_its_turn", func(t *testing.T) {
		t.Parallel()
		c := newCrowd(t, limit.ConcurrencySettings{Limit: 1, Queue: 3})
		c.join("runs", 5)
		c.join("leaves", 5)
		c.join("stays", 5)
		if got := c.claim("leaves"); got != "refused" {
			t.Errorf("%s, want refused", got)
		}
		c.release("runs")
		c.expect("stays")
	})
	t.Run("at_its_turn", func(t *testing.T) {
		t.Parallel()
		c := newCrowd(t, limit.ConcurrencySettings{Limit: 1, Queue: 3})
		c.join("runs", 5)
		c.join("leaves", 5)
		c.join("next", 5)
		c.release("runs")
		c.claim("leaves") // it has a ticket now, and gives it back
		c.release("leaves")
		c.expect("leaves", "next")
		c.view(1, 0)
	})
	t.Run("claimed_twice", func(t *testing.T) {
		t.Parallel()
		c := limit.NewConcurrency(limit.ConcurrencySettings{Limit: 1, Queue: 1})
		running, _ := c.Acquire(0, 0)
		w := &limit.Waiter{}
		if _, _, waits := c.Join(0, w); !waits {
			t.Fatal("does not wait")
		}
		running.Release(0)
		if ticket, _ := c.Claim(0, w); !ticket.Held() {
			t.Error("no ticket")
		}
		if ticket, no := c.Claim(0, w); ticket.Held() || !no.Refused() || c.View(0).Running != 1 {
			t.Error("a second claim got a second ticket")
		}
	})
}

func TestQueue_Patience(t *testing.T) {
	t.Parallel()
	c := limit.NewConcurrency(limit.ConcurrencySettings{Limit: 1, Queue: 100})
	for now := range time.Duration(10) { // lets one go every 2 s
		ticket, _ := c.Acquire(now*2*time.Second, 5)
		ticket.Release((now + 1) * 2 * time.Second)
	}
	now := 20 * time.Second
	running, _ := c.Acquire(now, 5)
	defer running.Release(now)
	for i, tc := range []struct {
		patience time.Duration
		waits    bool
		until    time.Duration
	}{{0, true, 5 * time.Second}, {time.Hour, true, 5 * time.Second}, {3 * time.Second, false, 0}, {0, false, 0}} {
		w := &limit.Waiter{Priority: 5, Patience: tc.patience}
		_, no, waits := c.Join(now, w)
		if waits != tc.waits || waits && w.Until() != now+tc.until {
			t.Errorf("%d: waits %v until %v, want %v until %v", i, waits, w.Until(), tc.waits, now+tc.until)
		}
		if want := time.Duration(min(i+1, 3)) * 2 * time.Second; !waits && no.RetryAfter != want {
			t.Errorf("%d: come back in %v, want %v", i, no.RetryAfter, want)
		}
	}
	if w := (&limit.Waiter{Priority: 6, Patience: 3 * time.Second}); true {
		if _, _, waits := c.Join(now, w); !waits {
			t.Error("a higher priority has nobody ahead, and time enough")
		}
	}
}

// The time to come back is the measured gap times the places ahead.
func TestConcurrency_RetryAfterByDrainRate(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, limit.ConcurrencySettings{Limit: 10, Queue: 20, MaxWaitMS: 600_000})
	for i := range 10 {
		c.join(fmt.Sprint(i), 5)
	}
	if _, no := c.c.Acquire(c.now, 5); no.RetryAfter != time.Second {
		t.Errorf("nothing measured: got %v, want a guess of 1 s", no.RetryAfter)
	}
	c.now = 20 * time.Second
	if _, no := c.c.Acquire(c.now, 5); no.RetryAfter != 20*time.Second {
		t.Errorf("nothing ended for 20 s: got %v, want no less", no.RetryAfter)
	}
	for i := range 20 { // 20 s attempts, ten at once: one ends every 2 s
		c.now += 2 * time.Second
		c.release(fmt.Sprint(i))
		c.join(fmt.Sprint(i+10), 5)
	}
	for i, p := range []int{2, 2, 8, 8, 8} {
		c.join(fmt.Sprintf("w%d", i), p)
	}
	gap := c.c.View(c.now)
	if gap.Gap < 2*time.Second || gap.Gap > 3*time.Second || !gap.Measured {
		t.Fatalf("got a gap of %v, want about 2 s", gap.Gap)
	}
	for priority, places := range map[int]time.Duration{9: 1, 8: 4, 5: 4, 2: 6} {
		if _, no := c.c.Acquire(c.now, priority); no.RetryAfter != places*gap.Gap {
			t.Errorf("priority %d: got %v, want %d places of %v", priority, no.RetryAfter, places, gap.Gap)
		}
	}
}

// A limit at rest says nothing about how fast it drains.
func TestConcurrency_QuietTimesAreNotMeasured(t *testing.T) {
	t.Parallel()
	c := limit.NewConcurrency(limit.ConcurrencySettings{Limit: 2})
	for i := range time.Duration(50) { // one short attempt an hour
		ticket, _ := c.Acquire(i*time.Hour, 5)
		ticket.Release(i*time.Hour + time.Second)
	}
	if v := c.View(50 * time.Hour); v.Measured {
		t.Errorf("measured %v", v.Gap)
	}
	now := 50 * time.Hour
	for range 40 { // many ends at the same moment
		a, _ := c.Acquire(now, 5)
		b, _ := c.Acquire(now, 5)
		a.Release(now)
		b.Release(now)
	}
	a, _ := c.Acquire(now, 5)
	_, _ = c.Acquire(now, 5)
	if _, no := c.Acquire(now, 5); no.RetryAfter != 100*time.Millisecond {
		t.Errorf("got %v, want the least hint", no.RetryAfter)
	}
	now += 1000 * time.Hour
	if _, no := c.Acquire(now, 5); no.RetryAfter != 10*time.Minute {
		t.Errorf("after a long standstill: got %v, want the longest hint", no.RetryAfter)
	}
	a.Release(0) // a reading of the clock that arrives late
	if v := c.View(now); v.Running != 1 {
		t.Errorf("got %+v", v)
	}
}

func TestConcurrency_Resize(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, limit.ConcurrencySettings{Limit: 4, Queue: 6})
	for i := range 4 {
		c.join(fmt.Sprint(i), 5)
	}
	for i, p := range []int{1, 1, 9, 5, 5} {
		c.join(fmt.Sprintf("w%d", i), p)
	}
	c.c.SetSettings(c.now, limit.ConcurrencySettings{Limit: 2, Queue: 6})
	if _, no := c.c.Acquire(c.now, 10); no.Cap != 2 || no.RetryAfter != 3*time.Second {
		t.Errorf("got %+v, want three to end before a place is free: 3 s", no)
	}
	c.release("0")
	c.release("1")
	c.expect() // still two, as many as may
	c.release("2")
	c.expect("w2")
	c.c.SetSettings(c.now, limit.ConcurrencySettings{Limit: 4, Queue: 6})
	c.expect("w3", "w4")
	c.view(4, 2)
	c.c.SetSettings(c.now, limit.ConcurrencySettings{Limit: 4, Queue: 1})
	c.expect("w1")
	if got := c.claim("w1"); got != "shed" {
		t.Errorf("%s, want shed", got)
	}
	c.c.SetSettings(c.now, limit.ConcurrencySettings{})
	c.expect("w0")
	c.view(5, 0)
	if got := c.join("any", 0); got != "runs" {
		t.Errorf("without a limit: %s", got)
	}
	c.c.SetSettings(c.now, limit.ConcurrencySettings{Limit: 3})
	for _, name := range []string{"w2", "w3", "w4", "w0"} {
		if got := c.claim(name); got != "runs" {
			t.Errorf("%s: %s", name, got)
		}
	}
	for name := range c.running {
		c.running[name].Release(c.now)
	}
	c.view(0, 0)
	if strings.Join(c.woken, "") != "" {
		t.Errorf("woken: %v", c.woken)
	}
}

// Whoever is woken may call back at once.
func TestQueue_WakeMayCallBack(t *testing.T) {
	t.Parallel()
	c := limit.NewConcurrency(limit.ConcurrencySettings{Limit: 1, Queue: 5})
	running, _ := c.Acquire(0, 5)
	var served []int
	for i := range 5 {
		w := &limit.Waiter{Priority: i}
		w.Wake = func() {
			ticket, _ := c.Claim(0, w)
			served = append(served, i)
			ticket.Release(0)
		}
		c.Join(0, w)
	}
	running.Release(0)
	if !slices.Equal(served, []int{4, 3, 2, 1, 0}) {
		t.Errorf("served %v", served)
	}
	if v := c.View(0); v.Running != 0 || v.Waiting != 0 {
		t.Errorf("got %+v", v)
	}
}
