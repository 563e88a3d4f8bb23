package demovendor_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-llm/spillway/core/demovendor"
)

// These tests hold that the vendor can play what vendors did in the field.

// TestDeltasAtAFixedPace is a stream of one delta every 100 ms whose readers
// leave after the first.
func TestDeltasAtAFixedPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := demovendor.New(quick(demovendor.WireAnthropic))
		chunks := make([]string, 50)
		for i := range chunks {
			chunks[i] = "part " + strconv.Itoa(i)
		}
		v.Always(demovendor.Step{Chunks: chunks, Gap: 100 * time.Millisecond})
		for range 6 {
			resp, err := v.RoundTrip(request(demovendor.WireAnthropic, streamed(claudeBody)))
			if err != nil {
				t.Fatal(err)
			}
			readUntil(t, resp.Body, "part 0")
			if err := resp.Body.Close(); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if st := v.Stats(); st.ClientGone != 6 || st.Open != 0 || st.Streams != 0 {
			t.Errorf("%+v, want six readers gone and nothing open", st)
		}
		start := time.Now()
		ask(t, v, request(demovendor.WireAnthropic, streamed(claudeBody)))
		if took := time.Since(start); took != 4900*time.Millisecond {
			t.Errorf("a whole stream took %v, want 4.9 s", took)
		}
	})
}

// readUntil reads a body up to a text.
func readUntil(t *testing.T, body io.Reader, text string) {
	t.Helper()
	buf, got := make([]byte, 64<<10), ""
	for !strings.Contains(got, text) {
		n, err := body.Read(buf)
		if err != nil {
			t.Fatalf("read %q, then %v, before %q", got, err, text)
		}
		got += string(buf[:n])
	}
}

// TestRetryAfterThatGrows is a vendor whose later refusals ask for more time than its first.
func TestRetryAfterThatGrows(t *testing.T) {
	t.Parallel()
	v := demovendor.New(quick(demovendor.WireOpenAI))
	refused := func(seconds string) demovendor.Step {
		return demovendor.Step{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {seconds}}}
	}
	v.Script(refused("1"))
	v.Always(refused("20"))
	for i, want := range []string{"1", "20", "20"} {
		resp, _ := ask(t, v, request(demovendor.WireOpenAI, gptBody))
		if got := resp.Header.Get("Retry-After"); resp.StatusCode != http.StatusTooManyRequests || got != want {
			t.Errorf("answer %d: %d with Retry-After %q, want 429 with %q", i, resp.StatusCode, got, want)
		}
	}
}

// TestKeysThatRecover is a pool of five keys of which four are out for 3 s.
func TestKeysThatRecover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg, start := quick(demovendor.WireOpenAI), time.Now()
		cfg.Respond = func(r *demovendor.Request) *demovendor.Step {
			if r.Header.Get("Authorization") != "Bearer key-5" && time.Since(start) < 3*time.Second {
				return &demovendor.Step{Status: http.StatusPaymentRequired}
			}
			return nil
		}
		v := demovendor.New(cfg)
		working := func() (n int) {
			for i := range 5 {
				r := request(demovendor.WireOpenAI, gptBody)
				r.Header.Set("Authorization", "Bearer key-"+strconv.Itoa(i+1))
				if resp, _ := ask(t, v, r); resp.StatusCode == http.StatusOK {
					n++
				}
			}
			return n
		}
		if n := working(); n != 1 {
			t.Errorf("%d keys work at first, want one", n)
		}
		time.Sleep(3 * time.Second) // virtual
		if n := working(); n != 5 {
			t.Errorf("%d keys work after 3 s, want all five", n)
		}
	})
}

// TestAnswerHeldBack is a JSON answer that takes 1.5 s, and one that never gets past its half.
func TestAnswerHeldBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := demovendor.New(quick(demovendor.WireOpenAI))
		v.Script(demovendor.Step{FirstContent: 1500 * time.Millisecond}, demovendor.Step{End: demovendor.EndStall})
		start := time.Now()
		ask(t, v, request(demovendor.WireOpenAI, gptBody))
		if took := time.Since(start); took != 1500*time.Millisecond {
			t.Errorf("took %v, want 1.5 s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		resp, err := v.RoundTrip(request(demovendor.WireOpenAI, gptBody).WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if err == nil || !strings.HasPrefix(string(got), `{"id":`) || time.Since(start) < time.Hour {
			t.Errorf("read %q, %v, after %v, want half an answer and then silence", got, err, time.Since(start))
		}
	})
}

// TestLifecycleBeforeOverload is a 200 whose stream opens, waits and then fails
// without content: the gateway may still fall back.
func TestLifecycleBeforeOverload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := demovendor.New(quick(demovendor.WireAnthropic))
		v.Script(demovendor.Step{FirstContent: 8 * time.Second, End: demovendor.EndErrorEvent})
		start := time.Now()
		resp, err := v.RoundTrip(request(demovendor.WireAnthropic, streamed(claudeBody)))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		readUntil(t, resp.Body, "event: ping")
		if opened := time.Since(start); opened != 0 {
			t.Errorf("the lifecycle came after %v, want at once", opened)
		}
		readUntil(t, resp.Body, "event: error")
		if failed := time.Since(start); failed != 8*time.Second {
			t.Errorf("the error came after %v, want 8 s", failed)
		}
	})
}

// TestEverythingAtOnce is for the race detector: requests while faults, scripts and figures change.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	v := demovendor.New(quick(demovendor.WireAnthropic))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 20 {
				resp, err := v.RoundTrip(request(demovendor.WireAnthropic, claudeBody))
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body) // a fault may cut it
				_ = resp.Body.Close()
			}
		})
		all.Go(func() {
			kind := demovendor.Kinds()[i]
			if kind == demovendor.Timeout || kind == demovendor.Slow {
				kind = demovendor.ServerError // the others would never end
			}
			for range 20 {
				if err := v.Break(demovendor.Fault{Kind: kind}); err != nil {
					t.Error(err)
				}
				v.Script(demovendor.Step{Status: 503})
				_, _, _ = v.Fault(), v.Stats(), v.Requests()
				v.Heal()
			}
		})
	}
	all.Wait()
	if st := v.Stats(); st.Hits(demovendor.Count{}) != 160 {
		t.Errorf("%d requests counted, want 160", st.Hits(demovendor.Count{}))
	}
}
