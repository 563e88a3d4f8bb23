package gateway_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/demovendor"
)

// pool is field failure R59: five keys on O, four of which are refused for the
// first 3 s: k1 with 429 and a hint, k2 with 429 without one, k3 and k4 with 402.
type pool struct {
	*rig
	o     *demovendor.Vendor
	start time.Time

	mu    sync.Mutex
	used  map[string]int // requests by key, since the last look
	asked int
}

func newPool(t *testing.T, respond func(*pool, string) *demovendor.Step) *pool {
	n := newNetwork(t)
	s := &pool{start: time.Now(), used: map[string]int{}}
	s.o = n.vendorAt("o", demovendor.WireOpenAI, func(r *demovendor.Request) *demovendor.Step {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer secret-")
		s.mu.Lock()
		defer s.mu.Unlock()
		s.used[key]++
		return respond(s, key)
	})
	cat := catalogOver(t, place{id: "o", wire: core.WireOpenAI, keys: []string{"k1", "k2", "k3", "k4", "k5"}})
	s.rig = newVirtualRig(t, n, cat, shippedWith(t))
	return s
}

// refusedAtFirst is what the four keys get for 3 s.
func refusedAtFirst(s *pool, key string) *demovendor.Step {
	if time.Since(s.start) > 3*time.Second {
		return nil
	}
	switch key {
	case "k1":
		return &demovendor.Step{Status: 429, Header: http.Header{"Retry-After": {"1"}}}
	case "k2":
		return &demovendor.Step{Status: 429}
	case "k3", "k4":
		return &demovendor.Step{Status: 402, Message: "Payment required"}
	}
	return nil
}

// traffic sends 20 requests a second, each a conversation of its own, and
// returns how many failed and how many each key served meanwhile.
func (s *pool) traffic(t *testing.T, d time.Duration) (failed int, used map[string]int) {
	t.Helper()
	s.look()
	for end := time.Now().Add(d); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
		s.asked++
		if s.talk(t, "assistant", "conversation "+strconv.Itoa(s.asked)).status != 200 {
			failed++
		}
	}
	return failed, s.look()
}

// talk sends one request.
func (s *pool) talk(t *testing.T, useCase, text string) reply {
	return s.ask(t, "/v1/chat/completions", strings.NewReplacer(`"gpt"`, `"o"`, "hi", text).Replace(askChat), "Spillway-Use-Case", useCase)
}

// look returns the requests by key since the last look.
func (s *pool) look() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := s.used
	s.used = map[string]int{}
	return used
}

// until lets time run to a moment after the start.
func (s *pool) until(d time.Duration) { <-time.After(d - time.Since(s.start)) }

// keys are what /health says of O's keys.
func (s *pool) keys(t *testing.T) (usable, total int, low bool) {
	t.Helper()
	page := decode[struct {
		Providers map[string]struct {
			Keys struct {
				Usable, Total int
				Low           bool
			}
		}
	}](t, s.do(t, http.MethodGet, "/health", nil))
	k := page.Providers["o"].Keys
	return k.Usable, k.Total, k.Low
}

// serving are the keys that served, and checkServing holds which.
func checkServing(t *testing.T, when string, used map[string]int, want ...string) {
	t.Helper()
	for _, k := range []string{"k1", "k2", "k3", "k4", "k5"} {
		if got := used[k] > 0; got != slices.Contains(want, k) {
			t.Errorf("%s %s served %d requests, want traffic at %v", when, k, used[k], want)
		}
	}
}

func TestKeyPool_RecoversByItself(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newPool(t, refusedAtFirst)
		failed, used := s.traffic(t, 15*time.Second)
		// Only the request that found all four dead keys, one after the other, may fail.
		if failed > 1 {
			t.Errorf("%d of %d requests failed while k5 worked all the time", failed, s.asked)
		}
		if used["k2"] != 1 || used["k3"] != 1 || used["k4"] != 1 || used["k1"] < 50 || used["k5"] < 50 {
			t.Errorf("within 15 s the keys were used %v: a dead key is asked once, a throttled one again when its time is over", used)
		}
		if usable, total, low := s.keys(t); usable != 2 || total != 5 || !low {
			t.Errorf("at 15 s /health says %d of %d keys, low %v", usable, total, low)
		}
		s.until(31 * time.Second)
		failed, used = s.traffic(t, 5*time.Second)
		checkServing(t, "at 31 s", used, "k1", "k2", "k5")
		if usable, _, low := s.keys(t); failed != 0 || usable != 3 || low {
			t.Errorf("at 36 s %d requests failed, and /health says %d keys, low %v", failed, usable, low)
		}
		s.until(5*time.Minute + 5*time.Second)
		failed, used = s.traffic(t, 5*time.Second)
		checkServing(t, "after 5 min", used, "k1", "k2", "k3", "k4", "k5")
		if usable, _, _ := s.keys(t); failed != 0 || usable != 5 {
			t.Errorf("after 5 min %d requests failed, and /health says %d keys", failed, usable)
		}
		s.checkRecord(t)
	})
}

// checkRecord holds that no request tried a key twice, and that what happened to
// the keys is recorded with what was left.
func (s *pool) checkRecord(t *testing.T) {
	t.Helper()
	for _, d := range s.tape.decisions {
		var keys []string
		for _, a := range d.Attempts {
			if slices.Contains(keys, a.Key) {
				t.Errorf("a request tried %s twice: %+v", a.Key, d.Attempts)
			}
			keys = append(keys, a.Key)
		}
	}
	var left []int
	for _, k := range s.tape.keys {
		left = append(left, k.Left)
		if k.Total != 5 || k.Usable != (k.By == "time") || !k.Usable && k.Kind != core.KindBilling {
			t.Errorf("recorded %+v", k)
		}
	}
	if !slices.Equal(left, []int{4, 3, 4, 5}) {
		t.Errorf("recorded %v keys left, want k3 and k4 to leave and to come back", left)
	}
}

// takeOutEachUsed takes the next n keys out by hand, each as soon as it was used:
// while the request that used it waits for its retry.
func (s *pool) takeOutEachUsed(t *testing.T, n int, done <-chan struct{}) (out []string) {
	t.Helper()
	for len(out) < n {
		select {
		case <-time.After(time.Millisecond):
		case <-done:
			t.Fatalf("the request ended after %v", out)
		}
		for key := range s.look() {
			out = append(out, key)
			if err := s.engine.SetKey("o", key, false, "ada", "test"); err != nil {
				t.Error(err)
			}
		}
	}
	return out
}

// TestKeyPool_ByHandIsObeyedAtOnce holds that a key which an operator takes out
// is not used by a retry that was waiting, and never comes back by itself.
func TestKeyPool_ByHandIsObeyedAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		broken := true
		s := newPool(t, func(*pool, string) *demovendor.Step {
			if broken {
				return &demovendor.Step{Status: 500}
			}
			return nil
		})
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.talk(t, "batch", "hi")
		}()
		out := s.takeOutEachUsed(t, 2, done)
		<-done
		d := s.tape.decision(t, 1)
		if len(d.Attempts) != 3 || d.Attempts[0].Key != out[0] || d.Attempts[1].Key != out[1] || slices.Contains(out, d.Attempts[2].Key) || out[0] == out[1] {
			t.Errorf("%v were taken out one by one, and the attempts were %+v", out, d.Attempts)
		}
		s.mu.Lock()
		broken = false
		s.mu.Unlock()
		s.until(time.Hour)
		failed, used := s.traffic(t, 10*time.Second)
		if usable, _, _ := s.keys(t); failed != 0 || used[out[0]]+used[out[1]] != 0 || usable != 3 {
			t.Errorf("an hour later %d requests failed, %v were used, %d are usable", failed, used, usable)
		}
		if err := s.engine.SetKey("o", out[0], true, "ada", "test"); err != nil {
			t.Error(err)
		}
		if _, used = s.traffic(t, 10*time.Second); used[out[0]] == 0 || used[out[1]] != 0 {
			t.Errorf("after %s was put back, %v were used", out[0], used)
		}
	})
}
