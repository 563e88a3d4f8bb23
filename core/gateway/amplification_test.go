package gateway_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/demovendor"
)

// throttled is field failure R07: two targets that both answer 429 with
// Retry-After 2, three attempts a target, and a retry budget of 10 tokens, a
// fifth of the fifty first attempts.
type throttled struct {
	*rig
	o1, o2  *demovendor.Vendor
	inbound atomic.Int32
}

func newThrottled(t *testing.T, group1, group2 string) *throttled {
	n := newNetwork(t)
	refuse := func(*demovendor.Request) *demovendor.Step {
		// The vendor takes its time, so that all of a crowd is there before the first hears no.
		return &demovendor.Step{Status: 429, Header: http.Header{"Retry-After": {"2"}}, Delay: 100 * time.Millisecond}
	}
	s := &throttled{o1: n.vendorAt("o1", demovendor.WireOpenAI, refuse), o2: n.vendorAt("o2", demovendor.WireOpenAI, refuse)}
	cat := catalogOver(t, place{id: "o1", wire: core.WireOpenAI, group: group1}, place{id: "o2", wire: core.WireOpenAI, group: group2})
	s.rig = newVirtualRig(t, n, cat, shippedWith(t,
		reactionsData, `"throttled_retries": 1`, `"throttled_retries": 2`, reactionsData, throttledStop, throttledGoOn,
		circuitsData, `{"capacity": 600, "refund": 0.3}`, `{"capacity": 10, "refund": 0.2}`,
		limitsData, `"limit": 40, "queue": 100`, `"limit": 50, "queue": 100`)) // room for all fifty
	return s
}

// call is a caller whose SDK retries twice on 429, as the vendors' own do: it
// obeys x-should-retry and Retry-After unless it is rude, and marks its retries.
func (s *throttled) call(t *testing.T, rude bool) reply {
	for n := 0; ; n++ {
		s.inbound.Add(1)
		got := s.ask(t, "/v1/chat/completions", strings.Replace(askChat, `"gpt"`, `"o1"`, 1),
			"X-Api-Key", adminKey, "X-Stainless-Retry-Count", strconv.Itoa(n))
		if got.status != 429 || n == 2 || !rude && got.header.Get("X-Should-Retry") == "false" {
			return got
		}
		if after, err := strconv.Atoi(got.header.Get("Retry-After")); err == nil && !rude {
			_ = core.NewSystemClock().Sleep(context.Background(), time.Duration(after)*time.Second)
		}
	}
}

func TestAmplification_OneRequestOfAQuotaGroup(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newThrottled(t, "org", "org")
		got := s.call(t, false)
		if s.inbound.Load() != 1 || hits(s.o1) != 3 || hits(s.o2) != 0 {
			t.Errorf("%d requests came, %d went to o1 and %d to o2, want 1, 3 and 0", s.inbound.Load(), hits(s.o1), hits(s.o2))
		}
		checkError(t, core.WireOpenAI, got, 429, "o2: cooling_down, 2 s left")
		if got.header.Get("Retry-After") != "2" || got.header.Get("X-Should-Retry") != "false" {
			t.Errorf("retry-after %q, x-should-retry %q", got.header.Get("Retry-After"), got.header.Get("X-Should-Retry"))
		}
		if a := got.header.Get("Spillway-Attempts"); a != "3; o1=rate_limited; o1=rate_limited; o1=rate_limited" {
			t.Errorf("attempts header %q", a)
		}
		d := s.tape.decision(t, 1)
		if len(d.Attempts) != 3 || len(d.Skips) != 1 || d.Skips[0].Kind != core.KindCoolingDown || d.Outcome != core.KindRateLimited {
			t.Fatalf("recorded %+v, skipped %+v", d.Attempts, d.Skips)
		}
		for _, a := range d.Attempts[1:] {
			if a.Wait < 2*time.Second {
				t.Errorf("attempt %d came %v after the vendor asked for 2 s", a.Number, a.Wait)
			}
		}
	})
}

// TestAmplification_OneCapOverAllTargets holds that attempts don't multiply by
// targets, nor by a caller that retries whatever it is told.
func TestAmplification_OneCapOverAllTargets(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newThrottled(t, "org-1", "org-2")
		s.call(t, true)
		if hits(s.o1) != 3 || hits(s.o2) != 1 || s.inbound.Load() != 3 {
			t.Errorf("%d requests came, %d went to o1 and %d to o2, want 3, 3 and 1", s.inbound.Load(), hits(s.o1), hits(s.o2))
		}
		if n := len(s.tape.decision(t, 1).Attempts); n != 4 {
			t.Errorf("%d attempts for the first request, want the cap of 4", n)
		}
		for n := 2; n <= 3; n++ {
			if d := s.tape.decision(t, n); len(d.Attempts) != 0 || d.Outcome != core.KindCoolingDown {
				t.Errorf("the caller's own retry %d made %d attempts and ended as %v", n-1, len(d.Attempts), d.Outcome)
			}
		}
	})
}

func TestAmplification_FiftyCallersAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newThrottled(t, "org", "org")
		var wg sync.WaitGroup
		var denied atomic.Int32
		for range 50 {
			wg.Go(func() {
				got := s.call(t, false)
				if got.status != 429 || got.header.Get("Retry-After") == "" || got.header.Get("X-Should-Retry") != "false" {
					t.Errorf("%d, retry-after %q, x-should-retry %q", got.status, got.header.Get("Retry-After"), got.header.Get("X-Should-Retry"))
				}
				if strings.Contains(got.body, "the retry budget is empty") {
					denied.Add(1)
				}
			})
		}
		wg.Wait()
		extra := hits(s.o1) - 50
		if extra < 1 || extra > 10 || hits(s.o2) != 0 || s.inbound.Load() != 50 {
			t.Errorf("50 first attempts were followed by %d more at o1 and %d at o2, of %d requests; want at most 10",
				extra, hits(s.o2), s.inbound.Load())
		}
		if denied.Load() < 40 {
			t.Errorf("%d were told that the retry budget is empty, want at least 40", denied.Load())
		}
		if s.tape.opened != 0 {
			t.Errorf("%d circuits moved for 429s", s.tape.opened)
		}
	})
}
