package gateway_test

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/demovendor"
)

// cooling is field failure R13: O1 answers the first of eight concurrent
// requests with 429 and Retry-After 1, the others with Retry-After 20. O2 works.
type cooling struct {
	*rig
	o1, o2 *demovendor.Vendor
	start  time.Time
}

// throttle is a 429 with a hint in seconds, after the time that lets all of a
// crowd come first.
func throttle(hint string) demovendor.Step {
	return demovendor.Step{Status: 429, Header: http.Header{"Retry-After": {hint}}, Delay: 100 * time.Millisecond}
}

// newCooling puts a dead vendor before O1, if asked to.
func newCooling(t *testing.T, dead bool, policies setup) *cooling {
	n := newNetwork(t)
	s := &cooling{o1: n.vendorAt("o1", demovendor.WireOpenAI, nil), o2: n.vendorAt("o2", demovendor.WireOpenAI, nil), start: time.Now()}
	s.o1.Script(throttle("1"))
	s.o1.Always(throttle("20"))
	places := []place{{id: "o1", wire: core.WireOpenAI}, {id: "o2", wire: core.WireOpenAI}}
	if dead {
		n.vendorAt("a", demovendor.WireAnthropic, nil).Always(demovendor.Step{Status: 529})
		places = append([]place{{id: "a", wire: core.WireAnthropic}}, places...)
	}
	s.rig = newVirtualRig(t, n, catalogOver(t, places...), policies)
	return s
}

// crowd sends requests at once and returns the answers.
func (s *cooling) crowd(t *testing.T, n int, model string) []reply {
	got := make([]reply, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { got[i] = s.ask(t, "/v1/chat/completions", strings.Replace(askChat, `"gpt"`, `"`+model+`"`, 1)) })
	}
	wg.Wait()
	return got
}

// waitOf is Retry-After in seconds, 0 without one.
func waitOf(got reply) int {
	n, _ := strconv.Atoi(got.header.Get("Retry-After"))
	return n
}

// until lets time run to a moment after the start.
func (s *cooling) until(d time.Duration) { <-time.After(d - time.Since(s.start)) }

// coolingDown is what /health says of O1.
func (s *cooling) coolingDown(t *testing.T) bool {
	page := decode[struct {
		Models map[string]struct {
			CoolingDown bool `json:"cooling_down"`
		}
	}](t, s.do(t, http.MethodGet, "/health", nil))
	return page.Models["o1"].CoolingDown
}

func TestCooldown_LaterEndWins(t *testing.T) {
	for name, tt := range map[string]struct {
		next  string
		first int // status of the throttled requests themselves
		// short is when the shortest hint comes: the others come after 100 ms.
		short time.Duration
	}{
		"shipped policies answer 429": {throttledStop, 429, 100 * time.Millisecond},
		"a policy that goes on":       {throttledGoOn, 200, 100 * time.Millisecond},
		"the short hint comes first":  {throttledGoOn, 200, 50 * time.Millisecond},
		"the short hint comes last":   {throttledStop, 429, 200 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newCooling(t, false, shippedWith(t, reactionsData, throttledStop, tt.next))
				s.o1.Heal()
				short := throttle("1")
				short.Delay = tt.short
				s.o1.Script(short)
				s.o1.Always(throttle("20"))
				var wg sync.WaitGroup
				wg.Go(func() {
					for _, got := range s.crowd(t, 8, "o1") {
						if got.status != tt.first || got.status == 429 && waitOf(got) < 13 {
							t.Errorf("%d, retry-after %q: the cooldown ends after 20 s", got.status, got.header.Get("Retry-After"))
						}
					}
				})
				s.until(2 * time.Second)
				if hits(s.o1) != 8 {
					t.Fatalf("%d requests went to o1, want 8", hits(s.o1))
				}
				for _, got := range s.crowd(t, 10, "o1") {
					if got.status != 200 || got.header.Get("Spillway-Target") != "o2" {
						t.Errorf("at 2 s: %d from %q", got.status, got.header.Get("Spillway-Target"))
					}
				}
				wg.Wait()
				s.until(20 * time.Second)
				s.crowd(t, 1, "o1")
				if !s.coolingDown(t) || hits(s.o1) != 8 {
					t.Errorf("before the end: shown as cooling %v, and %d requests went to o1", s.coolingDown(t), hits(s.o1))
				}
				s.o1.Heal()
				s.until(20*time.Second + 200*time.Millisecond)
				shown := s.coolingDown(t)
				if got := s.crowd(t, 1, "o1")[0]; shown || got.header.Get("Spillway-Target") != "o1" || hits(s.o1) != 9 {
					t.Errorf("after the end: shown as cooling %v, answered by %q", shown, got.header.Get("Spillway-Target"))
				}
			})
		})
	}
}

// TestCooldown_ShownAsItActs holds that the end which is recorded and shown is
// the one that routing obeys.
func TestCooldown_ShownAsItActs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newCooling(t, false, shippedWith(t))
		s.crowd(t, 8, "o1")
		want := s.start.Add(20*time.Second + 100*time.Millisecond)
		if got := s.engine.Snapshot().Targets[0].CooldownUntil; !got.Equal(want) {
			t.Errorf("shown until %v, want %v", got.Sub(s.start), want.Sub(s.start))
		}
		if n := len(s.tape.cooldowns); n == 0 || !s.tape.cooldowns[n-1].Until.Equal(want) {
			t.Errorf("recorded %+v, want the last to end after %v", s.tape.cooldowns, want.Sub(s.start))
		}
	})
}

// TestCooldown_FallbackTarget holds that a fallback target that is throttled is
// cooled like a primary.
func TestCooldown_FallbackTarget(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newCooling(t, true, shippedWith(t))
		s.crowd(t, 8, "a")
		before := hits(s.o1)
		for _, got := range s.crowd(t, 10, "a") {
			if got.status != 200 || got.header.Get("Spillway-Target") != "o2" {
				t.Errorf("%d from %q: %s", got.status, got.header.Get("Spillway-Target"), got.body)
			}
		}
		fallbacks := 0
		for n := 1; n <= 8; n++ {
			if d := s.tape.decision(t, n); d.Attempts[0].Target == "a" && d.Attempts[1].Target == "o1" {
				fallbacks++
			}
		}
		if fallbacks < 7 { // the eighth may find the dead one's circuit open
			t.Errorf("o1 was the fallback of %d requests, want at least 7", fallbacks)
		}
		if before != 8 || hits(s.o1) != 8 {
			t.Errorf("%d requests went to o1, then %d more, want 8 and none", before, hits(s.o1)-before)
		}
	})
}

// TestCooldown_LateSuccess holds that an answer which began before the cooldown
// doesn't end it.
func TestCooldown_LateSuccess(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newCooling(t, false, shippedWith(t))
		s.o1.Heal()
		s.o1.Script(demovendor.Step{Delay: 3 * time.Second}, throttle("20"))
		var wg sync.WaitGroup
		wg.Go(func() {
			if got := s.crowd(t, 1, "o1")[0]; got.status != 200 || got.header.Get("Spillway-Target") != "o1" {
				t.Errorf("the slow one: %d from %q", got.status, got.header.Get("Spillway-Target"))
			}
		})
		s.until(time.Second)
		s.crowd(t, 1, "o1")
		wg.Wait()
		if got := s.crowd(t, 1, "o1")[0]; got.header.Get("Spillway-Target") != "o2" || hits(s.o1) != 2 {
			t.Errorf("answered by %q, and %d requests went to o1", got.header.Get("Spillway-Target"), hits(s.o1))
		}
	})
}
