package gateway_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/demovendor"
)

// abandoned is field failure R29: at most four connections to A, which sends one
// delta and then nothing, or nothing at all, and keeps the connection open.
type abandoned struct {
	*rig
	a *demovendor.Vendor
}

// The words in a prompt that make A stall.
const (
	stallsAfterOne = "one delta"
	stallsAtOnce   = "no byte"
)

func newAbandoned(t *testing.T) *abandoned {
	a := demovendor.New(demovendor.Config{
		Wire: demovendor.WireAnthropic, Models: []demovendor.Model{{Name: "m"}},
		Respond: func(r *demovendor.Request) *demovendor.Step {
			s := demovendor.Silence()
			switch {
			case strings.Contains(string(r.Body), stallsAfterOne):
				return &demovendor.Step{End: demovendor.EndStall, After: 1}
			case strings.Contains(string(r.Body), stallsAtOnce):
				return &s
			}
			return nil
		},
	})
	srv := httptest.NewUnstartedServer(a)
	srv.Config.ConnState = a.ConnState
	srv.Start()
	t.Cleanup(srv.Close)
	four := &http.Transport{MaxConnsPerHost: 4, DisableCompression: true}
	t.Cleanup(four.CloseIdleConnections)
	cat := catalogOver(t, place{id: "a", wire: core.WireAnthropic, url: srv.URL})
	return &abandoned{rigOver(t, cat, four), a}
}

// open sends a streaming request that says a word, and returns at the headers,
// which come with the first content.
func (s *abandoned) open(ctx context.Context, word string) (*http.Response, error) {
	body := strings.NewReplacer("claude", "a", "hi", word).Replace(askMessagesStream)
	return s.send(ctx, http.MethodPost, "/v1/messages", strings.NewReader(body))
}

// leaves opens a stream, reads one delta and leaves.
func (s *abandoned) leaves(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	res, err := s.open(ctx, stallsAfterOne)
	if err != nil {
		t.Fatalf("no slot was free: %v", err)
	}
	defer func() { _ = res.Body.Close() }()
	readUntil(t, res.Body, "content_block_delta")
}

// leavesEarly leaves once A has the request, before a byte came.
func (s *abandoned) leavesEarly(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	before := hits(s.a)
	var wg sync.WaitGroup
	wg.Go(func() { s.stays(ctx, stallsAtOnce) })
	within(t, 5*time.Second, "A has the request", func() bool { return hits(s.a) > before })
	cancel()
	wg.Wait()
}

// stays opens a stream and reads nothing of it until ctx ends.
func (s *abandoned) stays(ctx context.Context, word string) {
	res, err := s.open(ctx, word)
	if err != nil {
		return // it never got a slot before it left
	}
	<-ctx.Done()
	_ = res.Body.Close()
}

// TestAbandoned_StreamsGiveTheirSlotsBack isn't parallel, because it counts
// goroutines.
func TestAbandoned_StreamsGiveTheirSlotsBack(t *testing.T) {
	s := newAbandoned(t)
	normal := strings.Replace(askMessages, "claude", "a", 1)
	s.ask(t, "/v1/messages", normal)
	within(t, 2*time.Second, "the first request is over", func() bool { return s.a.Stats().Open == 0 })
	s.Client().CloseIdleConnections()
	goroutines, sockets := runtime.NumGoroutine(), s.a.Stats().Connections
	for range 40 {
		s.leaves(t)
	}
	for range 10 {
		s.leavesEarly(t)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { s.stays(ctx, stallsAfterOne) })
	}
	wg.Wait()
	start := time.Now()
	if got := s.ask(t, "/v1/messages", normal); got.status != 200 || time.Since(start) >= time.Second {
		t.Errorf("a normal request got %d after %v: %s", got.status, time.Since(start), got.body)
	}
	within(t, 2*time.Second, "goroutines and sockets back to the baseline", func() bool {
		s.Client().CloseIdleConnections() // each time: the last one may not be idle yet
		st := s.a.Stats()
		return st.Open == 0 && st.Connections <= sockets+2 && runtime.NumGoroutine() <= goroutines+2
	})
	if s.tape.opened != 0 {
		t.Errorf("%d circuits moved because callers left", s.tape.opened)
	}
	if n := hits(s.a); n < 1+40+10+4+1 {
		t.Errorf("A got %d requests: too few were let through for the case", n)
	}
}
