package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/upstream"
)

func TestStream_Whole(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f format, own, _ int) {
		v := pair(t, own, streams(f.start, f.delta, f.delta, f.end), fails(t))
		r := newRig(t, v[0], v[1])
		got := r.ask(t, f.path, f.askStream)
		if want := f.start + f.delta + f.delta + f.end; got.StatusCode != 200 || got.text != want || got.err != nil {
			t.Fatalf("%d %q %v, want the vendor's own events", got.StatusCode, got.text, got.err)
		}
		d := r.tape.only(t) // the end of the body comes after the record
		if got.Header.Get("Content-Type") != "text/event-stream" || got.Header.Get("Spillway-Decision") != d.ID || got.ContentLength != -1 {
			t.Errorf("header %v", got.Header)
		}
		if d.Outcome != core.KindNone || d.FirstContent <= 0 || d.Usage.Output != 5 {
			t.Errorf("decision %+v", d)
		}
	})
}

// The first event is readable while the vendor still writes.
func TestStream_Live(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f format, own, _ int) {
		more := make(chan struct{})
		v := pair(t, own, func(w http.ResponseWriter, r *http.Request) {
			streams(f.start, f.delta)(w, r)
			<-more
			streams(f.end)(w, r)
		}, fails(t))
		r := newRig(t, v[0], v[1])
		res, err := r.send(t.Context(), f.path, f.askStream)
		if err != nil {
			t.Fatal(err)
		}
		first := readUntil(t, res.Body, "Hello")
		close(more)
		rest, err := io.ReadAll(res.Body)
		if err != nil || first+string(rest) != f.start+f.delta+f.end {
			t.Errorf("%q, then %q, %v", first, rest, err)
		}
		_ = res.Body.Close()
	})
}

// An overload after the status 200 and before content still falls back (R6.2).
func TestStream_FallsBackBeforeContent(t *testing.T) {
	t.Parallel()
	failing := map[string]string{
		"messages":    "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}\n\n",
		"completions": `data: {"error":{"message":"m","type":"server_error","code":"server_is_overloaded"}}` + "\n\n",
	}
	each(t, func(t *testing.T, f format, own, other int) {
		o := formats()[other]
		for name, script := range map[string]http.HandlerFunc{
			"error event": streams(f.start, failing[f.name]), "cut": streams(f.start), "status": says(529, `{}`),
		} {
			v := pair(t, own, script, streams(o.start, o.delta, o.end))
			r := newRig(t, v[0], v[1])
			got := r.ask(t, f.path, f.askStream)
			end := map[string]string{"messages": "event: message_stop\n", "completions": "data: [DONE]\n"}[f.name]
			if got.StatusCode != 200 || got.err != nil || strings.Count(got.text, "Hello") != 1 || !strings.Contains(got.text, end) {
				t.Errorf("%s: %d %q %v", name, got.StatusCode, got.text, got.err)
			}
			if got.Header.Get("Spillway-Fallback") != "true" || len(r.tape.only(t).Attempts) != 2 {
				t.Errorf("%s: header %v", name, got.Header)
			}
		}
	})
}

// A cut is an error twice over, as an event and as the body's end: never a clean
// end (R6.2).
func TestStream_Cut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f format, own, _ int) {
		v := pair(t, own, streams(f.start, f.delta), fails(t))
		r := newRig(t, v[0], v[1])
		got := r.ask(t, f.path, f.askStream)
		var e *core.Error
		if !errors.As(got.err, &e) || e.Kind != core.KindStreamCut {
			t.Errorf("the body ended with %v", got.err)
		}
		told := strings.TrimPrefix(got.text, f.start+f.delta)
		if got.StatusCode != 200 || !strings.HasPrefix(told, f.errorEvent) || !strings.HasSuffix(told, "\n\n") {
			t.Errorf("%d %q", got.StatusCode, got.text)
		}
		for _, end := range []string{"message_stop", "[DONE]", "end_turn", `"stop"`} {
			if strings.Contains(got.text, end) {
				t.Errorf("%q is in %q", end, got.text)
			}
		}
		if d := r.tape.only(t); d.Outcome != core.KindStreamCut || d.Status != 200 || len(d.Attempts) != 1 {
			t.Errorf("decision %+v", d)
		}
	})
}

// Closing ends the call to the vendor at once, and the attempt is the caller's
// leaving: no failure of the vendor's (R1.3, R6.7).
func TestStream_Closed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f format, own, _ int) {
		left := make(chan struct{})
		v := pair(t, own, hangs(left, f.start, f.delta), fails(t))
		r := newRig(t, v[0], v[1])
		res, err := r.send(t.Context(), f.path, f.askStream)
		if err != nil {
			t.Fatal(err)
		}
		readUntil(t, res.Body, "Hello")
		if err := res.Body.Close(); err != nil {
			t.Fatal(err)
		}
		d := r.tape.only(t) // it was recorded before Close returned
		if d.Outcome != core.KindCallerGone || d.Attempts[0].Kind != core.KindCallerGone || d.Status != 499 {
			t.Errorf("decision %+v", d)
		}
		within(t, left, "the vendor notices the caller's leaving")
		if _, err := res.Body.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
			t.Errorf("a read after the close: %v", err)
		}
		if err := res.Body.Close(); err != nil {
			t.Errorf("closed again: %v", err)
		}
	})
}

func TestStream_ContextEnds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f format, own, _ int) {
		left := make(chan struct{})
		v := pair(t, own, hangs(left, f.start, f.delta), fails(t))
		r := newRig(t, v[0], v[1])
		ctx, cancel := context.WithCancel(t.Context())
		res, err := r.send(ctx, f.path, f.askStream)
		if err != nil {
			t.Fatal(err)
		}
		readUntil(t, res.Body, "Hello")
		cancel()
		if rest, err := io.ReadAll(res.Body); !errors.Is(err, context.Canceled) || len(rest) != 0 {
			t.Errorf("%q, %v", rest, err)
		}
		within(t, left, "the vendor notices the caller's leaving")
		if d := r.tape.only(t); d.Outcome != core.KindCallerGone {
			t.Errorf("decision %+v", d)
		}
		_ = res.Body.Close()
	})
}

// A context that ends before there is an answer is RoundTrip's error.
func TestRoundTrip_ContextEnds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f format, own, _ int) {
		for _, ask := range []string{f.ask, f.askStream} {
			ctx, cancel := context.WithCancel(t.Context())
			left := make(chan struct{})
			v := pair(t, own, func(_ http.ResponseWriter, r *http.Request) {
				cancel()
				<-r.Context().Done()
				close(left)
			}, fails(t))
			r := newRig(t, v[0], v[1])
			if res, err := r.send(ctx, f.path, ask); !errors.Is(err, context.Canceled) {
				t.Errorf("%v, %v", res, err)
			}
			if d := r.tape.only(t); d.Outcome != core.KindCallerGone {
				t.Errorf("decision %+v", d)
			}
			within(t, left, "the vendor notices the caller's leaving")
		}
	})
}

// memory is a vendor without a connection, for virtual time: it sends its parts,
// then waits for as long as it is told, then ends.
type memory struct {
	parts []string
	wait  time.Duration
}

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) {
	pr, pw := io.Pipe()
	go func() {
		for _, p := range m.parts {
			_, _ = io.WriteString(pw, p)
		}
		select {
		case <-time.After(m.wait):
		case <-r.Context().Done():
		}
		_ = pw.CloseWithError(r.Context().Err())
	}()
	return &http.Response{
		StatusCode: 200, Body: pr, ContentLength: -1, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
	}, nil
}

// A vendor that falls silent in the middle is cut off by the idle limit.
func TestStream_VendorSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := formats()[0]
		r := rigOver(t, "http://a.example", "http://b.example", upstream.Config{Transport: memory{[]string{f.start, f.delta}, time.Hour}})
		start := time.Now()
		got := r.ask(t, f.path, f.askStream)
		var e *core.Error
		if took := time.Since(start); !errors.As(got.err, &e) || e.Kind != core.KindTimeoutIdle || took != 30*time.Second {
			t.Errorf("ended with %v after %v", got.err, took)
		}
		if !strings.Contains(got.text, f.errorEvent) || r.tape.only(t).Outcome != core.KindTimeoutIdle {
			t.Errorf("%q", got.text)
		}
	})
}

// A program that doesn't read for an hour gets the whole answer, and the vendor
// is not blamed for it.
func TestStream_ReaderSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := formats()[0]
		long := strings.Repeat(f.delta, 5_000)
		r := rigOver(t, "http://a.example", "http://b.example", upstream.Config{Transport: memory{[]string{f.start, long, f.end}, 0}})
		res, err := r.send(t.Context(), f.path, f.askStream)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // virtual
		d := r.tape.only(t)
		if d.Outcome != core.KindNone || d.Duration > time.Minute {
			t.Errorf("outcome %v after %v", d.Outcome, d.Duration)
		}
		b, err := io.ReadAll(res.Body)
		if err != nil || string(b) != f.start+long+f.end {
			t.Errorf("%d bytes, %v", len(b), err)
		}
		_ = res.Body.Close()
	})
}

// Nothing is left of a stream once it was closed or read to its end, and nothing
// of an engine after Close: a goroutine that outlives its test fails the bubble.
func TestNothingIsLeft_Bubble(t *testing.T) {
	t.Parallel()
	f := formats()[0]
	for name, m := range map[string]memory{
		"whole": {[]string{f.start, f.delta, f.end}, 0}, "cut": {[]string{f.start, f.delta}, 0},
		"closed": {[]string{f.start, f.delta}, time.Hour}, "no content": {[]string{f.start}, time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := rigOver(t, "http://a.example", "http://b.example", upstream.Config{Transport: m})
			r.engine.Start()
			res, err := r.send(t.Context(), f.path, f.askStream)
			if err != nil {
				t.Fatal(err)
			}
			if name == "closed" {
				readUntil(t, res.Body, "Hello")
			} else {
				_, _ = io.Copy(io.Discard, res.Body)
			}
			if err := res.Body.Close(); err != nil {
				t.Error(err)
			}
			r.engine.Close()
			if n := r.tape.count(); n != 1 {
				t.Errorf("%s: %d decisions", name, n)
			}
		})
	}
}

// The same over real connections. It does not run beside other tests, which have
// goroutines of their own.
func TestNothingIsLeft(t *testing.T) {
	for _, f := range formats() {
		left := make(chan struct{})
		for name, script := range map[string]http.HandlerFunc{
			"whole": streams(f.start, f.delta, f.end), "cut": streams(f.start, f.delta),
			"closed": hangs(left, f.start, f.delta), "failed": says(500, `{}`),
		} {
			before := runtime.NumGoroutine()
			v := [2]*vendor{newVendor(t, script), newVendor(t, script)}
			r := newRig(t, v[0], v[1])
			r.engine.Start()
			res, err := r.send(t.Context(), f.path, f.askStream)
			if err != nil {
				t.Fatal(err)
			}
			if name == "closed" {
				readUntil(t, res.Body, "Hello")
				_ = res.Body.Close()
			} else {
				_, _ = io.Copy(io.Discard, res.Body)
			}
			r.engine.Close()
			r.CloseIdleConnections()
			v[0].Close()
			v[1].Close()
			// Connections need a moment to notice that they were closed.
			for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
				runtime.Gosched()
			}
			if n := runtime.NumGoroutine(); n > before {
				b := make([]byte, 1<<20)
				t.Fatalf("%s, %s: %d goroutines are left\n%s", f.name, name, n-before, b[:runtime.Stack(b, true)])
			}
		}
	}
}
