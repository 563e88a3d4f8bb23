package gateway_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/access"
	"github.com/spillway-llm/spillway/core/gateway"
	"github.com/spillway-llm/spillway/core/upstream"
)

// canned is a transport that answers at once from memory, so that what is
// counted is the gateway's own.
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

// sink is a response writer without a connection.
type sink struct {
	h      http.Header
	status int
	n      int
}

func (s *sink) Header() http.Header         { return s.h }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(b []byte) (int, error) { s.n += len(b); return len(b), nil }
func (s *sink) Flush()                      {}

func (s *sink) SetReadDeadline(time.Time) error  { return nil }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }

// benchGateway serves a 2 KB Messages request with a 1.6 KB answer.
func benchGateway(tb testing.TB) (serve func(), out *sink) {
	tb.Helper()
	answer := strings.Replace(messageAnswer, "Hello", strings.Repeat("Hello ", 200), 1)
	return benchServe(tb, askMessages, &canned{[]byte(answer), "application/json"})
}

// benchStream serves the same request with a stream of a hundred deltas.
func benchStream(tb testing.TB) (serve func(), out *sink) {
	tb.Helper()
	answer := messageStart + strings.Repeat(messageDelta("Hello "), 100) + messageEnd
	return benchServe(tb, askMessagesStream, &canned{[]byte(answer), "text/event-stream"})
}

func benchServe(tb testing.TB, ask string, vendor *canned) (serve func(), out *sink) {
	tb.Helper()
	cat, err := core.NewCatalog(
		[]core.Provider{{ID: "p", Wire: core.WireAnthropic, Keys: []core.Key{{ID: "k", Secret: core.NewSecret("s")}}, Nodes: []core.Node{{ID: "n", BaseURL: "http://vendor.example"}}}},
		[]core.Target{{ID: "claude", Provider: "p", Model: "claude-1"}})
	if err != nil {
		tb.Fatal(err)
	}
	engine, err := core.New(core.Config{Revision: core.DefaultRevision(cat), Seed: 1})
	if err != nil {
		tb.Fatal(err)
	}
	up := upstream.New(upstream.Config{Transport: vendor})
	if err := up.Replace(cat); err != nil {
		tb.Fatal(err)
	}
	keys, err := access.NewTable(entry(paidKey, core.AudiencePaid))
	if err != nil {
		tb.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Engine: engine, Access: keys, Upstream: up})
	if err != nil {
		tb.Fatal(err)
	}
	body := []byte(strings.Replace(ask, "hi", strings.Repeat("word ", 400), 1))
	base, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, "/v1/messages", nil)
	if err != nil {
		tb.Fatal(err)
	}
	base.Header = http.Header{
		"X-Api-Key": {paidKey}, "Content-Type": {"application/json"}, "User-Agent": {"bench"},
		"Anthropic-Version": {"2023-06-01"}, "Accept": {"*/*"}, "Content-Length": {strconv.Itoa(len(body))},
	}
	out = &sink{}
	rd := bytes.NewReader(nil)
	return func() {
		rd.Reset(body)
		r := *base
		r.Body, r.ContentLength = io.NopCloser(rd), int64(len(body))
		*out = sink{h: make(http.Header, 8)}
		g.ServeHTTP(out, &r)
	}, out
}

func BenchmarkJSON(b *testing.B) {
	serve, out := benchGateway(b)
	b.ReportAllocs()
	for b.Loop() {
		serve()
	}
	if out.status != 200 {
		b.Fatalf("status %d", out.status)
	}
}

// TestJSON_Allocations holds the JSON path's cost: every allocation here is paid
// for each request of every caller. The harness and the engine are included.
func TestJSON_Allocations(t *testing.T) {
	serve, out := benchGateway(t)
	serve()
	got := testing.AllocsPerRun(200, serve)
	if out.status != 200 || out.n == 0 {
		t.Fatalf("status %d, %d bytes", out.status, out.n)
	}
	const most = 40
	if got > most {
		t.Errorf("%v allocations a request, at most %d are allowed", got, most)
	}
	t.Logf("%v allocations", got)
}

// TestStream_Allocations holds the streaming path's cost, with a hundred deltas
// in the answer: none of them may cost an allocation.
func TestStream_Allocations(t *testing.T) {
	serve, out := benchStream(t)
	serve()
	got := testing.AllocsPerRun(200, serve)
	if out.status != 200 || out.n == 0 {
		t.Fatalf("status %d, %d bytes", out.status, out.n)
	}
	const most = 40
	if got > most {
		t.Errorf("%v allocations a stream, at most %d are allowed", got, most)
	}
	t.Logf("%v allocations", got)
}

func BenchmarkStream(b *testing.B) {
	serve, out := benchStream(b)
	b.ReportAllocs()
	for b.Loop() {
		serve()
	}
	if out.status != 200 {
		b.Fatalf("status %d", out.status)
	}
}
