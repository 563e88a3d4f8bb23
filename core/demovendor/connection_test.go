package demovendor_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-llm/spillway/core/demovendor"
)

// listen serves the vendor on a real socket, until the test ends.
func listen(t *testing.T, v *demovendor.Vendor) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(v)
	s.Config.ConnState = v.ConnState
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// post sends a body over the socket.
func post(t *testing.T, s *httptest.Server, path, body string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Anthropic-Version", "2023-06-01")
	return s.Client().Do(r)
}

func TestCutOverASocket(t *testing.T) {
	t.Parallel()
	for _, body := range []string{claudeBody, streamed(claudeBody)} {
		v := demovendor.New(quick(demovendor.WireAnthropic))
		v.Script(demovendor.Step{End: demovendor.EndCut, After: 2})
		resp, err := post(t, listen(t, v), "/v1/messages", body)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) == 0 {
			t.Errorf("read %q, then %v, want a part and an unexpected end", got, err)
		}
	}
}

func TestClientThatLeavesIsCounted(t *testing.T) {
	t.Parallel()
	v := demovendor.New(quick(demovendor.WireAnthropic))
	s := listen(t, v)
	if err := v.Break(demovendor.Fault{Kind: demovendor.Timeout}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/messages", strings.NewReader(claudeBody))
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() {
		_, err := s.Client().Do(r)
		failed <- err
	}()
	until(t, func() bool { return v.Stats().Open == 1 })
	if n := v.Stats().Hits(demovendor.Count{Status: demovendor.NoStatus, Model: "m"}); n != 1 {
		t.Errorf("%d requests without a status, want 1", n)
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("client got %v, want its own cancel", err)
	}
	until(t, func() bool { st := v.Stats(); return st.ClientGone == 1 && st.Open == 0 && st.Connections == 0 })
}

// until waits for a state that other goroutines bring about.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the awaited state never came")
		}
	}
}

func TestRequestsAreRecordedAndBounded(t *testing.T) {
	t.Parallel()
	cfg := quick(demovendor.WireAnthropic)
	cfg.Record = 2
	v := demovendor.New(cfg)
	for _, header := range []string{"X-Api-Key", "Authorization", "Cookie"} {
		r := request(demovendor.WireAnthropic, claudeBody)
		r.Header.Set(header, "secret")
		ask(t, v, r)
	}
	kept := v.Requests()
	if len(kept) != 2 || kept[0].Number != 1 || string(kept[1].Body) != claudeBody || kept[1].Model != "m" {
		t.Fatalf("kept %+v, want the last two with body and model", kept)
	}
	if got := kept[0].Credentials(); len(got) != 1 || got[0] != "Authorization" {
		t.Errorf("credentials %v, want Authorization", got)
	}
	cfg.Record = 0
	v = demovendor.New(cfg)
	ask(t, v, request(demovendor.WireAnthropic, claudeBody))
	if n := len(v.Requests()); n != 0 {
		t.Errorf("%d requests kept, want none", n)
	}
}

func TestHitsByPathModelAndStatus(t *testing.T) {
	t.Parallel()
	v := demovendor.New(quick(demovendor.WireOpenAI))
	v.Script(demovendor.Step{}, demovendor.Step{Status: 500}, demovendor.Step{Status: 500})
	for range 3 {
		ask(t, v, request(demovendor.WireOpenAI, gptBody))
	}
	ask(t, v, request(demovendor.WireOpenAI, strings.Replace(gptBody, `"m"`, `"other"`, 1)))
	st := v.Stats()
	for _, c := range []struct {
		match demovendor.Count
		want  int
	}{
		{demovendor.Count{}, 4},
		{demovendor.Count{Model: "m"}, 3},
		{demovendor.Count{Status: 500}, 2},
		{demovendor.Count{Path: "/v1/chat/completions", Model: "other", Status: 404}, 1},
		{demovendor.Count{Path: "/v1/models"}, 0},
	} {
		if got := st.Hits(c.match); got != c.want {
			t.Errorf("hits(%+v) = %d, want %d", c.match, got, c.want)
		}
	}
}

func TestCountsAreBounded(t *testing.T) {
	t.Parallel()
	v := demovendor.New(quick(demovendor.WireOpenAI))
	for i := range 1500 {
		ask(t, v, request(demovendor.WireOpenAI, strings.Replace(gptBody, `"m"`, `"nope-`+strconv.Itoa(i)+`"`, 1)))
	}
	st := v.Stats()
	if len(st.Counts) > 1001 || st.Hits(demovendor.Count{}) != 1500 || st.Hits(demovendor.Count{Status: 404}) != 1500 {
		t.Errorf("%d counts of %d requests, %d answered 404, want at most 1001 counts of 1500 requests",
			len(st.Counts), st.Hits(demovendor.Count{}), st.Hits(demovendor.Count{Status: 404}))
	}
}

// TestPace holds the shipped models' pace, in virtual time.
func TestPace(t *testing.T) {
	t.Parallel()
	for model, mean := range map[string]time.Duration{
		"claude-opus-5-5": 900 * time.Millisecond, "claude-sonnet-5": 450 * time.Millisecond, "claude-haiku-5-5": 220 * time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			v := demovendor.New(demovendor.Preset(demovendor.WireAnthropic))
			start := time.Now()
			resp, err := v.RoundTrip(request(demovendor.WireAnthropic, streamed(strings.Replace(claudeBody, `"m"`, `"`+model+`"`, 1))))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			opened := time.Since(start)
			buf, got := make([]byte, 64<<10), ""
			for !strings.Contains(got, "content_block_delta") {
				n, err := resp.Body.Read(buf)
				if err != nil {
					t.Fatal(err)
				}
				got += string(buf[:n])
			}
			first := time.Since(start)
			if first < mean*8/10 || first > mean*13/10 || opened >= first {
				t.Errorf("%s: status after %v, first content after %v, want about %v", model, opened, first, mean)
			}
			if _, err := io.ReadAll(resp.Body); err != nil {
				t.Fatal(err)
			}
			if rest := time.Since(start) - first; rest < 200*time.Millisecond || rest > 3*time.Second {
				t.Errorf("%s: the rest took %v", model, rest)
			}
		})
	}
}

func TestSlowVendorTakesItsTime(t *testing.T) {
	t.Parallel()
	for want, fault := range map[time.Duration]demovendor.Fault{
		20 * time.Second: {Kind: demovendor.Slow},
		3 * time.Second:  {Kind: demovendor.Slow, DelayMS: 3000},
	} {
		synctest.Test(t, func(t *testing.T) {
			v := demovendor.New(quick(demovendor.WireOpenAI))
			if err := v.Break(fault); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			ask(t, v, request(demovendor.WireOpenAI, streamed(gptBody)))
			if took := time.Since(start); took != want {
				t.Errorf("took %v, want %v", took, want)
			}
		})
	}
}

// TestSameSeedSameAnswers holds that a run can be repeated.
func TestSameSeedSameAnswers(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) (texts string, took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			cfg := demovendor.Preset(demovendor.WireAnthropic)
			cfg.Seed = seed
			v := demovendor.New(cfg)
			start := time.Now()
			for range 5 {
				_, got := ask(t, v, request(demovendor.WireAnthropic, strings.Replace(claudeBody, `"m"`, `"claude-opus-5-5"`, 1)))
				texts += got
			}
			took = time.Since(start)
		})
		return texts, took
	}
	text1, took1 := run(7)
	text2, took2 := run(7)
	text3, took3 := run(8)
	if text1 != text2 || took1 != took2 {
		t.Errorf("two runs of seed 7 differ: %v and %v", took1, took2)
	}
	if text1 == text3 || took1 == took3 {
		t.Error("runs of different seeds are the same")
	}
}

func TestRoundTripEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := demovendor.New(quick(demovendor.WireOpenAI))
		v.Always(demovendor.Silence())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := v.RoundTrip(request(demovendor.WireOpenAI, gptBody).WithContext(ctx))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("round trip to a silent vendor: %v, want the deadline", err)
		}
		synctest.Wait()
		if st := v.Stats(); st.Open != 0 || st.ClientGone != 1 {
			t.Errorf("%d open, %d gone, want 0 and 1", st.Open, st.ClientGone)
		}
	})
}
