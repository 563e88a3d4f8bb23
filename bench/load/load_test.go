package load_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/bench/load"
)

// host serves h and returns its address.
func host(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// once runs a load until n requests have been answered.
func once(t *testing.T, cfg load.Config, n int64, answered *atomic.Int64) load.Summary {
	t.Helper()
	l := load.Start(cfg)
	l.Begin()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for answered.Load() < n {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the load stands still")
		}
	}
	return l.End()
}

func accept([]byte) error { return nil }

func TestBodiesOfEveryLength(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		whole  bool
	}{
		"length": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the answer") }, true},
		"chunked": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "the ")
			_ = http.NewResponseController(w).Flush()
			fmt.Fprint(w, "answer")
		}, true},
		"until close": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
			fmt.Fprint(w, "the answer")
		}, true},
		"early hints": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			fmt.Fprint(w, "the answer")
		}, true},
		"short": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			fmt.Fprint(w, "the answer")
		}, false},
		"cut chunk": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "the answer")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, false},
		"other": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "another answer") }, false},
	} {
		var answered atomic.Int64
		addr := host(t, func(w http.ResponseWriter, r *http.Request) {
			answered.Add(1)
			c.answer(w, r)
		})
		r := load.NewRequest(addr, "/x", []string{"X-Test: 1"}, []byte(`{}`), load.Exactly([]byte("the answer")))
		s := once(t, load.Config{Addr: addr, Connections: 2, Requests: []*load.Request{r}}, 20, &answered)
		if (s.OK > 0) != c.whole || (s.Broken > 0) == c.whole || (s.Err != nil) == c.whole {
			t.Errorf("%s: %+v, want whole answers: %v", name, s, c.whole)
		}
	}
}

func TestRequestIsWhole(t *testing.T) {
	t.Parallel()
	var answered, wrong atomic.Int64
	addr := host(t, func(_ http.ResponseWriter, r *http.Request) {
		b := make([]byte, 100)
		n, _ := r.Body.Read(b)
		if r.Method != http.MethodPost || r.URL.Path != "/v1/x" || r.Header.Get("X-Test") != "1" || string(b[:n]) != `{"a":1}` {
			wrong.Add(1)
		}
		answered.Add(1)
	})
	r := load.NewRequest(addr, "/v1/x", []string{"X-Test: 1"}, []byte(`{"a":1}`), accept)
	once(t, load.Config{Addr: addr, Connections: 1, Requests: []*load.Request{r}}, 3, &answered)
	if wrong.Load() != 0 {
		t.Errorf("%d of %d requests did not arrive as prepared", wrong.Load(), answered.Load())
	}
}

func TestRefusalsAreCountedByStatus(t *testing.T) {
	t.Parallel()
	var answered atomic.Int64
	addr := host(t, func(w http.ResponseWriter, _ *http.Request) {
		if answered.Add(1)%2 == 0 {
			w.WriteHeader(529)
		}
	})
	r := load.NewRequest(addr, "/x", nil, nil, accept)
	s := once(t, load.Config{Addr: addr, Connections: 1, Requests: []*load.Request{r}}, 10, &answered)
	if s.Status[529] < 4 || s.Refused != s.Status[529] || s.OK < 4 || s.Broken != 0 {
		t.Errorf("%+v, want half of the answers refused with 529", s)
	}
}

func TestConnectionsThatBreak(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	var broken atomic.Int64
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
			broken.Add(1)
		}
	}()
	addr := ln.Addr().String()
	r := load.NewRequest(addr, "/", nil, nil, accept)
	s := once(t, load.Config{Addr: addr, Connections: 1, Requests: []*load.Request{r}}, 10, &broken)
	if s.Broken < 8 || s.OK != 0 || s.Err == nil {
		t.Errorf("%+v, want only broken answers", s)
	}
}

// TestWaitingForAConnectionCounts holds that a subject that stands still is
// charged for every request that became due meanwhile.
func TestWaitingForAConnectionCounts(t *testing.T) {
	t.Parallel()
	var answered atomic.Int64
	release := make(chan struct{})
	addr := host(t, func(http.ResponseWriter, *http.Request) {
		<-release
		answered.Add(1)
	})
	l := load.Start(load.Config{Addr: addr, Connections: 1, Rate: 1000, Requests: []*load.Request{load.NewRequest(addr, "/", nil, nil, accept)}})
	l.Begin()
	time.AfterFunc(100*time.Millisecond, func() { close(release) })
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for answered.Load() < 50 {
		<-tick.C
	}
	if s := l.End(); s.P50 < 20*time.Millisecond {
		t.Errorf("median %v after a stall of 100 ms with one connection, want the stall in it", s.P50)
	}
}

func TestPercentiles(t *testing.T) {
	t.Parallel()
	var sorted []time.Duration
	for i := range 100 {
		sorted = append(sorted, time.Duration(i+1))
	}
	for share, want := range map[float64]time.Duration{0: 1, 0.5: 50, 0.99: 99, 1: 100} {
		if got := load.Percentile(sorted, share); got != want {
			t.Errorf("percentile %v of 1 to 100 is %d, want %d", share, got, want)
		}
	}
	if got := load.Percentile(nil, 0.5); got != 0 {
		t.Errorf("percentile of nothing is %v", got)
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		check func([]byte) error
		body  string
		ok    bool
	}{
		{"exact", load.Exactly([]byte("a")), "a", true},
		{"not exact", load.Exactly([]byte("a")), "b", false},
		{"mark", load.Containing("(end)"), "text (end)", true},
		{"no mark", load.Containing("(end)"), "text", false},
		{"mark twice", load.Containing("(end)"), "(end)(end)", false},
		{"stream", load.Stream("piece ", 2), `piece 0 x piece 1 x {"type":"message_stop"}`, true},
		{"stream done", load.Stream("piece ", 2), "piece 0 x piece 1 x data: [DONE]", true},
		{"stream lost", load.Stream("piece ", 2), "piece 1 x data: [DONE]", false},
		{"stream doubled", load.Stream("piece ", 2), "piece 0 x piece 0 x piece 1 x data: [DONE]", false},
		{"stream order", load.Stream("piece ", 2), "piece 1 x piece 0 x data: [DONE]", false},
		{"stream more", load.Stream("piece ", 1), "piece 0 x piece 1 x data: [DONE]", false},
		{"stream endless", load.Stream("piece ", 1), "piece 0 x", false},
	} {
		err := c.check([]byte(c.body))
		if (err == nil) != c.ok || err != nil && !errors.Is(err, load.ErrAnswer) {
			t.Errorf("%s: %v, want it accepted: %v", c.name, err, c.ok)
		}
	}
}
