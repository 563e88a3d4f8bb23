package transport_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/core/transport"
	"github.com/spillway-llm/spillway/core/upstream"
)

// sdkKey is the credential that the SDK was given; no vendor may see it.
const sdkKey = "sk-of-the-sdk"

// vendor is a scripted vendor on a real socket.
type vendor struct {
	*httptest.Server
	mu   sync.Mutex
	hits []hit
}

type hit struct {
	path   string
	header http.Header
	body   string
}

func newVendor(t testing.TB, script http.HandlerFunc) *vendor {
	t.Helper()
	v := &vendor{}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		v.mu.Lock()
		v.hits = append(v.hits, hit{r.URL.Path, r.Header, string(b)})
		v.mu.Unlock()
		script(w, r)
	}))
	t.Cleanup(v.Close)
	return v
}

func (v *vendor) seen() []hit {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]hit(nil), v.hits...)
}

// says answers with a JSON body.
func says(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// streams answers with an event stream, one flush a part.
func streams(parts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, p := range parts {
			_, _ = io.WriteString(w, p)
			w.(http.Flusher).Flush()
		}
	}
}

// hangs streams the parts and then waits for the caller to leave, which it tells
// to left.
func hangs(left chan<- struct{}, parts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		streams(parts...)(w, r)
		<-r.Context().Done()
		close(left)
	}
}

// tape keeps copies of the recorded decisions.
type tape struct {
	mu        sync.Mutex
	decisions []core.Decision
	off       bool // keeps nothing
}

func (p *tape) Record(ev core.Event) {
	d, ok := ev.(*core.Decision)
	if !ok || p.off {
		return
	}
	c := *d
	c.Attempts = append([]core.AttemptRecord(nil), d.Attempts...)
	c.Skips = append([]core.Skip(nil), d.Skips...)
	p.mu.Lock()
	p.decisions = append(p.decisions, c)
	p.mu.Unlock()
}

// only returns the one decision that was recorded by now.
func (p *tape) only(t testing.TB) core.Decision {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.decisions) != 1 {
		t.Fatalf("%d decisions were recorded, want 1", len(p.decisions))
	}
	return p.decisions[0]
}

func (p *tape) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.decisions)
}

// rig is a transport between a client and two vendors.
type rig struct {
	*http.Client
	transport *transport.Transport
	engine    *core.Engine
	tape      *tape
}

// newRig serves claude from the one vendor and gpt from the other.
func newRig(t testing.TB, claude, gpt *vendor, change ...func(*transport.Config)) *rig {
	t.Helper()
	return rigOver(t, claude.URL, gpt.URL, upstream.Config{}, change...)
}

func rigOver(t testing.TB, claude, gpt string, up upstream.Config, change ...func(*transport.Config)) *rig {
	t.Helper()
	cat := catalogOf(t, claude, gpt)
	r := &rig{tape: &tape{}}
	var err error
	r.engine, err = core.New(core.Config{Revision: core.DefaultRevision(cat), Recorder: r.tape, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	client := upstream.New(up)
	if err := client.Replace(cat); err != nil {
		t.Fatal(err)
	}
	cfg := transport.Config{Engine: r.engine, Upstream: client, Base: refusesAll{}}
	for _, c := range change {
		c(&cfg)
	}
	if r.transport, err = transport.New(cfg); err != nil {
		t.Fatal(err)
	}
	r.Client = &http.Client{Transport: r.transport}
	t.Cleanup(func() { r.CloseIdleConnections(); r.engine.Close() })
	return r
}

// refusesAll is the base of rigs that must not need one.
type refusesAll struct{}

func (refusesAll) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("%s %s was passed on", r.Method, r.URL)
}

func catalogOf(t testing.TB, claude, gpt string) *core.Catalog {
	t.Helper()
	provider := func(id, url string, w core.Wire) core.Provider {
		return core.Provider{
			ID: id, Wire: w, Vendor: id, Keys: []core.Key{{ID: "k", Secret: core.NewSecret("key of " + id)}},
			Nodes: []core.Node{{ID: "node-" + id, BaseURL: url}},
		}
	}
	target := func(id, provider, model string) core.Target {
		return core.Target{
			ID: id, Provider: provider, Model: model, ContextTokens: 1_000_000, MaxOutput: 64_000,
			Price: price.Table{Input: 3_000_000, Output: 15_000_000, AsOf: "2026-11-29"},
		}
	}
	cat, err := core.NewCatalog(
		[]core.Provider{provider("anthropic", claude, core.WireAnthropic), provider("openai", gpt, core.WireOpenAI)},
		[]core.Target{target("claude", "anthropic", "claude-1"), target("gpt", "openai", "gpt-1")})
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// format is one SDK's way to ask, with the answers of its own vendor.
type format struct {
	name, path, ask, askStream string
	// answer is a whole answer, start, delta and end are a stream's parts.
	answer, start, delta, end string
	// failure is what every error of the format holds.
	failure string
	// errorEvent is what an error inside a stream holds.
	errorEvent string
	// idHeader is where the SDK looks for the request's id.
	idHeader string
}

func formats() []format {
	return []format{
		{
			name: "messages", path: "/v1/messages", idHeader: "Request-Id",
			ask:       `{"model":"claude","max_tokens":64,"messages":[{"role":"user","content":"hi"}]}`,
			askStream: `{"model":"claude","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"hi"}]}`,
			answer: `{"id":"msg_1", "type":"message","role":"assistant","model":"claude-1","novel":[1, 2],` +
				`"content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn","usage":{"input_tokens":12,"output_tokens":5}}`,
			start: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\"," +
				"\"role\":\"assistant\",\"model\":\"claude-1\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":12,\"output_tokens\":1}}}\n\n" +
				"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
			delta: "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n",
			end: "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
				"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n" +
				"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
			failure: `"type":"error"`, errorEvent: "event: error\ndata: {\"type\":\"error\"",
		},
		{
			name: "completions", path: "/v1/chat/completions", idHeader: "X-Request-Id",
			ask:       `{"model":"gpt","messages":[{"role":"user","content":"hi"}]}`,
			askStream: `{"model":"gpt","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`,
			answer: `{"id":"chatcmpl-1", "object":"chat.completion","created":1,"model":"gpt-1","novel":[1, 2],` +
				`"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],` +
				`"usage":{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17}}`,
			start: chunk(`{"role":"assistant","content":""}`, "null"),
			delta: chunk(`{"content":"Hello"}`, "null"),
			end: chunk(`{}`, `"stop"`) +
				`data: {"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17}}` + "\n\n" +
				"data: [DONE]\n\n",
			failure: `"param":null`, errorEvent: `data: {"error":{`,
		},
	}
}

func chunk(delta, finish string) string {
	return `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-1","choices":[{"index":0,"delta":` +
		delta + `,"finish_reason":` + finish + "}]}\n\n"
}

// each runs a test for both formats: own is the vendor of the format, other the
// other one.
func each(t *testing.T, test func(t *testing.T, f format, own, other int)) {
	t.Helper()
	for i, f := range formats() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			test(t, f, i, 1-i)
		})
	}
}

// send sends a body as an SDK would, and returns at the headers.
func (r *rig) send(ctx context.Context, path, body string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.vendor.example"+path, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	req.Header.Set("X-Api-Key", sdkKey)
	req.Header.Set("Authorization", "Bearer "+sdkKey)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return r.Do(req)
}

// answer is a response that was read to its end.
type answer struct {
	*http.Response
	text string
	err  error // of reading
}

func (r *rig) ask(t testing.TB, path, body string, header ...string) answer {
	t.Helper()
	res, err := r.send(t.Context(), path, body, header...)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(res.Body)
	if e := res.Body.Close(); e != nil {
		t.Errorf("close: %v", e)
	}
	return answer{res, string(b), err}
}

// readUntil reads until the text appeared.
func readUntil(t testing.TB, r io.Reader, text string) string {
	t.Helper()
	var got strings.Builder
	b := make([]byte, 512)
	for !strings.Contains(got.String(), text) {
		n, err := r.Read(b)
		got.Write(b[:n])
		if err != nil && !strings.Contains(got.String(), text) {
			t.Fatalf("read: %v, after %q", err, got.String())
		}
	}
	return got.String()
}

// within fails when the channel is not closed in time.
func within(t testing.TB, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Fatalf("not in time: %s", what)
	}
}
