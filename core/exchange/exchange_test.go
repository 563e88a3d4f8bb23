package exchange_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/exchange"
	"github.com/spillway-llm/spillway/core/upstream"
)

// sink notes what it is told, in order.
type sink struct {
	calls  []string
	header http.Header
	begun  bool
	gone   error // what writes return
}

func (s *sink) Announce(n exchange.Notice) {
	s.header = http.Header{}
	n.Headers(s.header)
	s.calls = append(s.calls, "announce")
}

func (s *sink) Whole(status int, body []byte) (bool, error) {
	if s.begun {
		s.calls = append(s.calls, "whole, too late")
		return false, nil
	}
	s.calls = append(s.calls, "whole "+http.StatusText(status)+" "+string(body))
	return true, s.gone
}

func (s *sink) Events(b []byte, last bool) error {
	s.begun = true
	s.calls = append(s.calls, "events "+string(b))
	return s.gone
}

func (s *sink) Cut(b []byte) error {
	s.calls = append(s.calls, "cut "+string(b))
	return s.gone
}

// vendors is what both vendors of a pool answer, by host.
type vendors map[string]func() (status int, kind, body string)

func (v vendors) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	httptrace.ContextClientTrace(r.Context()).WroteRequest(httptrace.WroteRequestInfo{Err: err})
	status, kind, body := v[r.URL.Host]()
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {kind}}, ContentLength: -1,
		Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, err
}

func says(status int, kind, body string) func() (int, string, string) {
	return func() (int, string, string) { return status, kind, body }
}

const (
	jsonKind   = "application/json"
	streamKind = "text/event-stream"

	ask       = `{"model":"claude","max_tokens":64,"messages":[{"role":"user","content":"hi"}]}`
	askStream = `{"model":"claude","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"hi"}]}`
	answer    = `{"id":"msg_1","model":"claude-1","content":[{"type":"text","text":"Hello"}],"usage":{"input_tokens":1,"output_tokens":2}}`
	delta     = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n"
	stop      = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

// newPool serves claude and gpt, both in Messages format, from hosts a and b.
func newPool(t testing.TB, v vendors, change ...func(*exchange.Config)) *exchange.Pool {
	t.Helper()
	provider := func(id string) core.Provider {
		return core.Provider{
			ID: id, Vendor: id, Wire: core.WireAnthropic, Nodes: []core.Node{{ID: "n-" + id, BaseURL: "http://" + id}},
			Keys: []core.Key{{ID: "k", Secret: core.NewSecret("s")}},
		}
	}
	cat, err := core.NewCatalog([]core.Provider{provider("a"), provider("b")}, []core.Target{
		{ID: "claude", Provider: "a", Model: "claude-1"}, {ID: "gpt", Provider: "b", Model: "gpt-1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := core.New(core.Config{Revision: core.DefaultRevision(cat), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	up := upstream.New(upstream.Config{Transport: v})
	if err := up.Replace(cat); err != nil {
		t.Fatal(err)
	}
	cfg := exchange.Config{Engine: engine, Upstream: up}
	for _, c := range change {
		c(&cfg)
	}
	return exchange.NewPool(cfg)
}

func admin() *core.Grants {
	return &core.Grants{Tenant: "t", Audience: core.AudienceAdmin, UseCases: []string{"assistant", "batch"}, MaxPriority: 10}
}

// begin receives and understands a body.
func begin(t testing.TB, p *exchange.Pool, s exchange.Sink, body string) *exchange.Exchange {
	t.Helper()
	x := p.Begin(core.WireAnthropic, s)
	if err := x.Receive(strings.NewReader(body), int64(len(body)), 1<<20); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/messages", nil)
	if err != nil {
		t.Fatal(err)
	}
	if e := x.Understand(r, "/v1/messages", "key", admin()); e != nil {
		t.Fatal(e.Message)
	}
	return x
}

func TestRun_Whole(t *testing.T) {
	t.Parallel()
	s := &sink{}
	x := begin(t, newPool(t, vendors{"a": says(200, jsonKind, answer)}), s, ask)
	if err := x.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"announce", "whole OK " + answer}; !slices.Equal(s.calls, want) {
		t.Errorf("the sink was told %q, want %q", s.calls, want)
	}
	d := &x.Request.Decision
	if d.Status != 200 || d.KeyID != "key" || d.Tenant != "t" || d.Disclosed.Detail != core.DetailAdmin || s.header.Get("Spillway-Decision") != d.ID {
		t.Errorf("decision %+v, header %v", d, s.header)
	}
	if string(x.Body()) != ask {
		t.Errorf("the caller's body became %s", x.Body())
	}
	x.End()
}

func TestRun_FailsOver(t *testing.T) {
	t.Parallel()
	s := &sink{}
	x := begin(t, newPool(t, vendors{"a": says(529, jsonKind, `{}`), "b": says(200, jsonKind, answer)}), s, ask)
	defer x.End()
	if err := x.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"announce", "announce", "whole OK " + answer}; !slices.Equal(s.calls, want) {
		t.Errorf("the sink was told %q, want %q", s.calls, want)
	}
	if s.header.Get("Spillway-Fallback") != "true" || s.header.Get("Spillway-Attempts") != "2; claude=overloaded; gpt" {
		t.Errorf("header %v", s.header)
	}
}

// A failure is an answer of its own, or the end of a stream that began.
func TestRun_Fails(t *testing.T) {
	t.Parallel()
	down := says(529, jsonKind, `{}`)
	for name, tt := range map[string]struct {
		body   string
		a      func() (int, string, string)
		kind   core.Kind
		status int
		want   []string // beginnings
	}{
		"whole": {ask, down, core.KindOverloaded, 529, []string{"announce", "announce", "announce", "whole  {"}},
		"cut": {askStream, says(200, streamKind, delta), core.KindStreamCut, 200, []string{
			"announce", "events " + delta, "announce", "whole, too late", "cut event: error\n",
		}},
		"no content":      {askStream, says(200, streamKind, ""), core.KindOverloaded, 529, []string{"announce", "announce", "announce", "whole  {"}},
		"stream, no wish": {ask, says(200, streamKind, delta+stop), core.KindOverloaded, 529, []string{"announce", "announce", "announce", "whole  {"}},
		"JSON, no wish":   {askStream, says(200, jsonKind, answer), core.KindOverloaded, 529, []string{"announce", "announce", "announce", "whole  {"}},
		"caller's fault":  {ask, says(400, jsonKind, `{"error":{"type":"invalid_request_error","message":"m"}}`), core.KindInvalidRequest, 400, []string{"announce", "announce", "whole Bad Request {"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sink{}
			x := begin(t, newPool(t, vendors{"a": tt.a, "b": down}), s, tt.body)
			defer x.End()
			err := x.Run(t.Context())
			if core.KindOf(err) != tt.kind || x.Request.Decision.Status != tt.status {
				t.Errorf("%v, status %d, want %v, %d", err, x.Request.Decision.Status, tt.kind, tt.status)
			}
			if len(s.calls) != len(tt.want) {
				t.Fatalf("the sink was told %q, want %q", s.calls, tt.want)
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(s.calls[i], want) {
					t.Errorf("call %d is %q, want %q", i, s.calls[i], want)
				}
			}
		})
	}
}

// A sink that fails is a caller that is gone: nobody else is tried and nothing
// more is written.
func TestRun_CallerGone(t *testing.T) {
	t.Parallel()
	gone := errors.New("broken pipe")
	for name, tt := range map[string]struct {
		body string
		a    func() (int, string, string)
		want int
	}{
		"whole":   {ask, says(200, jsonKind, answer), 2},
		"stream":  {askStream, says(200, streamKind, delta+stop), 2},
		"failure": {ask, says(400, jsonKind, `{}`), 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sink{gone: gone}
			x := begin(t, newPool(t, vendors{"a": tt.a}), s, tt.body)
			defer x.End()
			err := x.Run(t.Context())
			if x.Request.Decision.Status != 499 || len(s.calls) != tt.want {
				t.Errorf("status %d, the sink was told %q", x.Request.Decision.Status, s.calls)
			}
			if name != "failure" && (core.KindOf(err) != core.KindCallerGone || !errors.Is(err, gone)) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Nothing of one request reaches the next one that borrows the same exchange.
func TestPool_NothingStays(t *testing.T) {
	t.Parallel()
	p := newPool(t, vendors{"a": says(200, jsonKind, answer), "b": says(200, jsonKind, answer)})
	for range 20 {
		x := begin(t, p, &sink{}, ask)
		if err := x.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		x.End()
		y := p.Begin(core.WireOpenAI, nil)
		d := &y.Request.Decision
		if len(y.Body()) != 0 || y.Streamed() || y.Request.KeyID != "" || y.Request.Facts != (core.Facts{}) || d.ID != "" || len(d.Attempts) != 0 {
			t.Fatalf("a borrowed exchange holds %s and %+v", y.Body(), &y.Request)
		}
		y.End()
	}
}

func TestReceive(t *testing.T) {
	t.Parallel()
	p := newPool(t, vendors{})
	broken := errors.New("broken")
	long := strings.Repeat("x", 100_000)
	for name, tt := range map[string]struct {
		body   io.Reader
		length int64
		limit  int64
		want   error
		got    string
	}{
		"length known":     {strings.NewReader(long), int64(len(long)), 1 << 20, nil, long},
		"length unknown":   {strings.NewReader(long), -1, 1 << 20, nil, long},
		"exactly":          {strings.NewReader(long), -1, int64(len(long)), nil, long},
		"said to be long":  {strings.NewReader(long), int64(len(long)), 99_999, exchange.ErrTooLong, ""},
		"is long":          {strings.NewReader(long), -1, 99_999, exchange.ErrTooLong, ""},
		"broken":           {io.MultiReader(strings.NewReader("x"), failing{broken}), -1, 10, broken, ""},
		"longer than said": {strings.NewReader(long), 5, 1 << 20, nil, long},
	} {
		x := p.Begin(core.WireAnthropic, nil)
		err := x.Receive(tt.body, tt.length, tt.limit)
		if !errors.Is(err, tt.want) || tt.want == nil && string(x.Body()) != tt.got {
			t.Errorf("%s: %v, %d bytes", name, err, len(x.Body()))
		}
		x.End()
	}
}

type failing struct{ err error }

func (b failing) Read([]byte) (int, error) { return 0, b.err }

// A format may show only with the body: what is spoken decides how it is read.
func TestSpeak(t *testing.T) {
	t.Parallel()
	x := newPool(t, vendors{}).Begin(core.WireAnthropic, nil)
	defer x.End()
	chat := `{"model":"gpt","messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}],"max_completion_tokens":7}`
	if err := x.Receive(strings.NewReader(chat), -1, 1<<20); err != nil {
		t.Fatal(err)
	}
	x.Speak(core.WireOpenAI)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if e := x.Understand(r, "/v1/chat/completions", "", admin()); e != nil {
		t.Fatal(e.Message)
	}
	if f := x.Request.Facts; f.MaxTokens != 7 || f.Target != "gpt" || x.Request.Wire != core.WireOpenAI {
		t.Errorf("facts %+v", f)
	}
}
