package limit_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/limit"
	"pgregory.net/rapid"
)

// model is a token bucket in fractions: slow, plain and exact.
type model struct {
	level, capacity, perNano *big.Rat
	at                       time.Duration
}

func newModel(perMinute int64) *model {
	return &model{
		level: big.NewRat(perMinute, 1), capacity: big.NewRat(perMinute, 1),
		perNano: big.NewRat(perMinute, int64(time.Minute)),
	}
}

func (m *model) add(n *big.Rat) {
	m.level = new(big.Rat).Add(m.level, n)
	if m.level.Cmp(m.capacity) > 0 {
		m.level = m.capacity
	}
}

func (m *model) pass(now time.Duration) {
	m.add(new(big.Rat).Mul(big.NewRat(int64(now-m.at), 1), m.perNano))
	m.at = now
}

func (m *model) has(n int64) bool { return m.level.Cmp(big.NewRat(n, 1)) >= 0 }

// reserved is one request that runs.
type reserved struct {
	hold     limit.RateHold
	estimate int64
}

// The bucket agrees with the model at every step, a refusal's time is the first
// at which the request passes, and what was used in all stays below the burst,
// the refill and what requests used beyond their estimates.
func TestRate_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		perMinute := rapid.Int64Range(1, 100_000).Draw(t, "limit")
		r, m := limit.NewRate(limit.RateSettings{OutputTokensPerMinute: perMinute}, 0), newModel(perMinute)
		var (
			now     time.Duration
			running []reserved
			used    int64 // settled
			beyond  int64 // beyond estimates
		)
		t.Repeat(map[string]func(*rapid.T){
			"wait": func(t *rapid.T) {
				now += time.Duration(rapid.Int64Range(0, int64(40*time.Second)).Draw(t, "ns"))
				m.pass(now)
			},
			"reserve": func(t *rapid.T) {
				n := rapid.Int64Range(0, perMinute+perMinute/10).Draw(t, "n")
				hold, no := r.Reserve(now, limit.Use{Output: n})
				if no.Refused() != (n > 0 && !m.has(n)) {
					t.Fatalf("%d of %v left: %v", n, m.level, no)
				}
				switch {
				case !no.Refused():
					m.add(big.NewRat(-n, 1))
					running = append(running, reserved{hold, n})
				case no.Never != (n > perMinute):
					t.Fatalf("%d of a burst of %d: %+v", n, perMinute, no)
				case !no.Never:
					checkWait(t, *m, now, no)
				}
			},
			"end": func(t *rapid.T) {
				if len(running) == 0 {
					return
				}
				i := rapid.IntRange(0, len(running)-1).Draw(t, "which")
				real := rapid.Int64Range(0, perMinute).Draw(t, "real")
				x := &running[i]
				x.hold.Settle(now, limit.Use{Output: real})
				x.hold.Cancel(now)
				m.add(big.NewRat(x.estimate-real, 1))
				used, beyond = used+real, beyond+max(0, real-x.estimate)
				running = append(running[:i], running[i+1:]...)
			},
			"": func(t *rapid.T) {
				taken := new(big.Rat).Sub(m.capacity, m.level)
				got := big.NewRat(r.View(now).Output.Used, 1)
				if d := new(big.Rat).Sub(got, taken); d.Sign() < 0 || d.Cmp(big.NewRat(1, 1)) >= 0 {
					t.Fatalf("%v in use, want %v rounded up", got, taken)
				}
				most := new(big.Rat).Add(m.capacity, new(big.Rat).Mul(big.NewRat(int64(now), 1), m.perNano))
				if big.NewRat(used-beyond, 1).Cmp(most) > 0 {
					t.Fatalf("%d used in %v, %d of it beyond estimates, at %d a minute", used, now, beyond, perMinute)
				}
			},
		})
	})
}

// checkWait holds that a refusal's time is the first at which there is enough.
func checkWait(t *rapid.T, m model, now time.Duration, no limit.Refusal) {
	m.pass(now + no.RetryAfter - 1)
	if m.has(no.Asked) {
		t.Fatalf("%+v is longer than needed", no)
	}
	m.pass(now + no.RetryAfter)
	if !m.has(no.Asked) {
		t.Fatalf("%+v is too short", no)
	}
}

// paid is one request that runs on an account.
type paid struct {
	hold     limit.SpendHold
	estimate int64
}

// Spent and reserved together pass a cap only by what settled requests cost
// beyond their estimates, and at the end nothing is reserved.
func TestSpend_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		settings := limit.SpendSettings{
			DayPico: rapid.Int64Range(1, 1000).Draw(t, "day"), MonthPico: rapid.Int64Range(1, 5000).Draw(t, "month"),
		}
		s, now := limit.NewSpend(settings), noon()
		var running []paid
		var beyond [2]int64 // in this day, in this month
		month := now.Month()
		end := func(t *rapid.T) {
			if len(running) == 0 {
				return
			}
			x := &running[0]
			real := known(rapid.Int64Range(0, 400).Draw(t, "real"))
			if rapid.Bool().Draw(t, "lost") {
				real = limit.Cost{}
			}
			x.hold.Settle(now, real)
			x.hold.Settle(now, real)
			for i := range beyond {
				beyond[i] += max(0, real.Pico-x.estimate)
			}
			running = running[1:]
		}
		t.Repeat(map[string]func(*rapid.T){
			"end": end,
			"reserve": func(t *rapid.T) {
				n := rapid.Int64Range(0, 300).Draw(t, "estimate")
				if hold, no := s.Reserve(now, known(n)); !no.Refused() {
					running = append(running, paid{hold, n})
				} else if !no.Never && (no.RetryAfter <= 0 || no.RetryAfter > 31*24*time.Hour) {
					t.Fatal(no)
				}
			},
			"wait": func(t *rapid.T) {
				day := now.YearDay()
				now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "hours")) * time.Hour)
				if now.YearDay() != day {
					beyond[0] = 0
				}
				if now.Month() != month {
					month, beyond[1] = now.Month(), 0
				}
			},
			"": func(t *rapid.T) {
				v := s.View(now)
				if v.DayPico+v.Reserved > settings.DayPico+beyond[0] {
					t.Fatalf("%+v passes the day's cap by more than %d", v, beyond[0])
				}
				if v.MonthPico+v.Reserved > settings.MonthPico+beyond[1] {
					t.Fatalf("%+v passes the month's cap by more than %d", v, beyond[1])
				}
			},
		})
		for len(running) > 0 {
			end(t)
		}
		if v := s.View(now); v.Reserved != 0 {
			t.Fatalf("%d did not come back", v.Reserved)
		}
	})
}

// line is a queue as a plain list, to compare with.
type line struct {
	c       *limit.Concurrency
	limit   int
	room    int
	now     time.Duration
	running []limit.Ticket
	waiting []*place
}

type place struct {
	w     limit.Waiter
	woken int
}

// next is the place that is served first, or shed first.
func (l *line) next(shed bool) int {
	best := -1
	for i, p := range l.waiting {
		switch {
		case best < 0:
			best = i
		case shed && p.w.Priority <= l.waiting[best].w.Priority, !shed && p.w.Priority > l.waiting[best].w.Priority:
			best = i
		}
	}
	return best
}

func (l *line) join(t *rapid.T) {
	p := &place{w: limit.Waiter{Priority: rapid.IntRange(0, 10).Draw(t, "priority")}}
	p.w.Wake = func() { p.woken++ }
	full := len(l.running) >= l.limit
	ticket, no, waits := l.c.Join(l.now, &p.w)
	switch {
	case !full:
		if !ticket.Held() || waits || no.Refused() {
			t.Fatalf("room for it, and %v", no)
		}
		l.running = append(l.running, ticket)
	case len(l.waiting) < l.room:
		if !waits {
			t.Fatalf("the queue has room, and %v", no)
		}
		l.waiting = append(l.waiting, p)
	case waits:
		i := l.next(true)
		loser := l.waiting[i]
		if loser.w.Priority >= p.w.Priority {
			t.Fatalf("priority %d shed %d", p.w.Priority, loser.w.Priority)
		}
		l.waiting = append(append(l.waiting[:i:i], l.waiting[i+1:]...), p)
		l.claim(t, loser, false)
	case l.room > 0 && l.waiting[l.next(true)].w.Priority < p.w.Priority:
		t.Fatalf("a lower priority waits, and %v", no)
	}
}

// claim ends a wait that was decided, and holds that it was told exactly once.
func (l *line) claim(t *rapid.T, p *place, wins bool) {
	ticket, no := l.c.Claim(l.now, &p.w)
	if ticket.Held() != wins || no.Shed == wins || p.woken != 1 {
		t.Fatalf("ticket %v, shed %v, woken %d times; want a ticket: %v", ticket.Held(), no.Shed, p.woken, wins)
	}
	if wins {
		l.running = append(l.running, ticket)
	}
}

func (l *line) end(t *rapid.T) {
	if len(l.running) == 0 {
		return
	}
	i := rapid.IntRange(0, len(l.running)-1).Draw(t, "which")
	l.running[i].Release(l.now)
	l.running[i].Release(l.now)
	l.running = append(l.running[:i], l.running[i+1:]...)
	l.serve(t)
}

// serve claims for those whom the limit must have let in.
func (l *line) serve(t *rapid.T) {
	for len(l.running) < l.limit && len(l.waiting) > 0 {
		i := l.next(false)
		p := l.waiting[i]
		l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
		l.claim(t, p, true)
	}
}

func (l *line) leave(t *rapid.T) {
	if len(l.waiting) == 0 {
		return
	}
	i := rapid.IntRange(0, len(l.waiting)-1).Draw(t, "who")
	p := l.waiting[i]
	if ticket, no := l.c.Claim(l.now, &p.w); ticket.Held() || !no.Refused() || no.Shed || p.woken != 0 {
		t.Fatal("whoever gave up got something")
	}
	l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
}

func TestConcurrency_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := &line{limit: rapid.IntRange(1, 5).Draw(t, "limit"), room: rapid.IntRange(0, 6).Draw(t, "room")}
		settings := limit.ConcurrencySettings{Limit: l.limit, Queue: l.room, MaxWaitMS: 600_000}
		l.c = limit.NewConcurrency(settings)
		t.Repeat(map[string]func(*rapid.T){
			"join": l.join, "end": l.end, "leave": l.leave,
			"wait": func(t *rapid.T) { l.now += time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond },
			"resize": func(t *rapid.T) {
				l.limit = rapid.IntRange(1, 5).Draw(t, "limit")
				settings.Limit = l.limit
				l.c.SetSettings(l.now, settings)
				l.serve(t)
			},
			"": func(t *rapid.T) {
				v := l.c.View(l.now)
				if v.Running != len(l.running) || v.Waiting != len(l.waiting) || v.Gap < 0 {
					t.Fatalf("got %+v, want %d running and %d waiting", v, len(l.running), len(l.waiting))
				}
			},
		})
		for len(l.running) > 0 {
			l.end(t)
		}
		if v := l.c.View(l.now); v.Running != 0 || v.Waiting != 0 {
			t.Fatalf("left: %+v", v)
		}
	})
}
