package gateway_test

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
)

// within fails unless the condition holds soon. It polls because what it waits
// for happens behind real sockets.
func within(t *testing.T, d time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); <-tick.C {
		if ok() {
			return
		}
	}
	t.Fatalf("not within %v: %s", d, what)
}

// slowVendor streams one delta every 100 ms for 5 s, and counts the streams
// that run.
func slowVendor(t testing.TB, running *atomic.Int32) *vendor {
	return newVendor(t, func(w http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer running.Add(-1)
		if strings.Contains(r.Header.Get("Accept"), "json") {
			says(200, messageAnswer)(w, r)
			return
		}
		streams(messageStart)(w, r)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for range 50 {
			streams(messageDelta("x"))(w, r)
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
		streams(messageEnd)(w, r)
	})
}

// TestCallerLeaves_NeverCountsAgainstTheVendor is field failure R11: users who
// press Stop must not open the circuit for everybody.
func TestCallerLeaves_NeverCountsAgainstTheVendor(t *testing.T) {
	t.Parallel()
	var running atomic.Int32
	v := slowVendor(t, &running)
	r := anthropicRig(t, v, setup{tables: func(tb *core.Tables) {
		for i := range tb.Circuits {
			tb.Circuits[i][0].FailureThreshold = 3
		}
	}})
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() { r.readOneDelta(t) })
	}
	wg.Wait()
	for range 4 {
		r.leaveBeforeTheAnswer(t, v)
	}
	within(t, time.Second, "upstream connections closed", func() bool { return running.Load() == 0 })

	if got := r.ask(t, "/v1/messages", askMessages); got.status != 200 {
		t.Errorf("a normal request got %d: %s", got.status, got.body)
	}
	if r.tape.opened != 0 {
		t.Error("a circuit moved")
	}
	gone := 0
	for n := 1; n <= 11; n++ {
		d := r.tape.decision(t, n)
		if d.Outcome == core.KindCallerGone && d.Status == 499 {
			gone++
		}
	}
	if gone != 10 {
		t.Errorf("%d of 10 are recorded as 499, caller_gone", gone)
	}
}

// readOneDelta reads the first delta of a stream and leaves.
func (r *rig) readOneDelta(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	res, err := r.send(ctx, http.MethodPost, "/v1/messages", strings.NewReader(askMessagesStream))
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = res.Body.Close() }()
	readUntil(t, res.Body, "content_block_delta")
}

// leaveBeforeTheAnswer leaves once the vendor has the request, before a byte came.
func (r *rig) leaveBeforeTheAnswer(t *testing.T, v *vendor) {
	ctx, cancel := context.WithCancel(t.Context())
	before := v.count()
	done := make(chan struct{})
	go func() {
		defer close(done)
		res, err := r.send(ctx, http.MethodPost, "/v1/messages", strings.NewReader(askMessagesStream))
		if err == nil {
			_ = res.Body.Close()
		}
	}()
	within(t, 5*time.Second, "the vendor has the request", func() bool { return v.count() > before })
	cancel()
	<-done
}

// TestCallerLeaves_NothingLeaks is field failure R29 in small: callers who leave
// at every stage keep neither goroutines nor upstream connections.
func TestCallerLeaves_NothingLeaks(t *testing.T) {
	var running atomic.Int32
	v := newVendor(t, func(w http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer running.Add(-1)
		if strings.Contains(r.Header.Get("Accept"), "json") {
			says(200, messageAnswer)(w, r)
			return
		}
		streams(messageStart, messageDelta("x"))(w, r)
		<-r.Context().Done() // one delta, then nothing, connection open
	})
	r := anthropicRig(t, v)
	r.ask(t, "/v1/messages", askMessages)
	r.Client().CloseIdleConnections()
	before := runtime.NumGoroutine()
	for range 40 {
		r.readOneDelta(t)
	}
	for range 10 {
		r.leaveBeforeTheAnswer(t, v)
	}
	within(t, 2*time.Second, "goroutines and upstream connections back to the baseline", func() bool {
		r.Client().CloseIdleConnections() // each time: the last one may not be idle yet
		return running.Load() == 0 && runtime.NumGoroutine() <= before+2
	})
	if got := r.ask(t, "/v1/messages", askMessages); got.status != 200 {
		t.Errorf("a normal request got %d", got.status)
	}
}
