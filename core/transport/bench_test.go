package transport_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core/upstream"
)

// canned is a vendor that answers at once from memory, so that what is counted
// is the transport's own.
type canned struct {
	body []byte
	kind string
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	httptrace.ContextClientTrace(r.Context()).WroteRequest(httptrace.WroteRequestInfo{Err: err})
	return &http.Response{
		StatusCode: 200, ContentLength: int64(len(c.body)), Body: io.NopCloser(bytes.NewReader(c.body)),
		Header: http.Header{"Content-Type": {c.kind}, "Request-Id": {"req_1"}},
	}, err
}

// benchRoundTrip sends a 2 KB Messages request and reads the answer.
func benchRoundTrip(tb testing.TB, ask string, c *canned) func() {
	tb.Helper()
	r := rigOver(tb, "http://a.example", "http://b.example", upstream.Config{Transport: c})
	r.tape.off = true
	body := strings.Replace(ask, "hi", strings.Repeat("word ", 400), 1)
	base, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, "https://vendor.example/v1/messages", nil)
	if err != nil {
		tb.Fatal(err)
	}
	base.Header = http.Header{"X-Api-Key": {sdkKey}, "Anthropic-Version": {"2023-06-01"}}
	buf := make([]byte, 32<<10)
	return func() {
		req := *base
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		res, err := r.transport.RoundTrip(&req)
		if err != nil || res.StatusCode != 200 {
			tb.Fatal(res, err)
		}
		for err == nil {
			_, err = res.Body.Read(buf)
		}
		if err != io.EOF {
			tb.Fatal(err)
		}
		_ = res.Body.Close()
	}
}

func benchWhole(tb testing.TB) func() {
	f := formats()[0]
	return benchRoundTrip(tb, f.ask, &canned{[]byte(f.answer), "application/json"})
}

func benchStream(tb testing.TB) func() {
	f := formats()[0]
	return benchRoundTrip(tb, f.askStream, &canned{[]byte(f.start + strings.Repeat(f.delta, 100) + f.end), "text/event-stream"})
}

// TestRoundTrip_Allocations holds the cost of a request below an SDK. The
// harness and the engine are included; the race detector, which empties pools, adds
// a few.
func TestRoundTrip_Allocations(t *testing.T) {
	for name, tt := range map[string]struct {
		run  func()
		most float64
	}{
		"whole": {benchWhole(t), 55}, "a stream of a hundred deltas": {benchStream(t), 70},
	} {
		tt.run()
		got := testing.AllocsPerRun(200, tt.run)
		if got > tt.most {
			t.Errorf("%s: %v allocations, at most %v are allowed", name, got, tt.most)
		}
		t.Logf("%s: %v allocations", name, got)
	}
}

func BenchmarkRoundTrip_Whole(b *testing.B) {
	run := benchWhole(b)
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
}

func BenchmarkRoundTrip_Stream(b *testing.B) {
	run := benchStream(b)
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
}
