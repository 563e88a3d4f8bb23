package gateway_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/access"
	"github.com/spillway-llm/spillway/core/gateway"
	"github.com/spillway-llm/spillway/core/policy"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/core/upstream"
)

// The callers' keys of every rig.
const (
	freeKey  = "sw_free"
	paidKey  = "sw_paid"
	adminKey = "sw_admin"
)

// vendor is a scripted vendor on a real socket.
type vendor struct {
	*httptest.Server
	mu   sync.Mutex
	hits []hit
}

// hit is one request that a vendor received.
type hit struct {
	path, query string
	header      http.Header
	body        []byte
}

// newVendor starts a vendor that records its requests and answers by the script.
func newVendor(t testing.TB, script http.HandlerFunc) *vendor {
	t.Helper()
	v := &vendor{}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		v.mu.Lock()
		v.hits = append(v.hits, hit{r.URL.Path, r.URL.RawQuery, r.Header, b})
		v.mu.Unlock()
		script(w, r)
	}))
	t.Cleanup(v.Close)
	return v
}

func (v *vendor) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.hits)
}

func (v *vendor) last(t testing.TB) hit {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.hits) == 0 {
		t.Fatal("the vendor was not called")
	}
	return v.hits[len(v.hits)-1]
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

// tape keeps copies of the recorded decisions and transitions.
type tape struct {
	mu        sync.Mutex
	decisions []core.Decision
	cooldowns []core.Cooldown
	opened    int
	keys      []core.KeyState
	arrived   chan struct{}
}

func (p *tape) Record(ev core.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := ev.(type) {
	case *core.Decision:
		d := *e
		d.Attempts = append([]core.AttemptRecord(nil), e.Attempts...)
		d.Skips = append([]core.Skip(nil), e.Skips...)
		d.Warnings = append([]string(nil), e.Warnings...)
		p.decisions = append(p.decisions, d)
		p.arrived <- struct{}{}
	case *core.Transition:
		p.opened++
	case *core.Cooldown:
		p.cooldowns = append(p.cooldowns, *e)
	case *core.KeyState:
		p.keys = append(p.keys, *e)
	}
}

// decision waits for the n-th decision, counted from 1.
func (p *tape) decision(t testing.TB, n int) core.Decision {
	t.Helper()
	for {
		p.mu.Lock()
		if len(p.decisions) >= n {
			d := p.decisions[n-1]
			p.mu.Unlock()
			return d
		}
		p.mu.Unlock()
		select {
		case <-p.arrived:
		case <-time.After(10 * time.Second):
			t.Fatalf("decision %d was not recorded", n)
		}
	}
}

// rig is a gateway that can be reached, with its engine and recorder.
type rig struct {
	URL     string
	client  *http.Client
	gateway *gateway.Gateway
	engine  *core.Engine
	tape    *tape
}

// Client is how callers reach the gateway.
func (r *rig) Client() *http.Client { return r.client }

// target describes one target of a rig and the vendor behind it.
type target struct {
	id, model string
	wire      core.Wire
	vendor    *vendor
	key       string // the vendor's; "" for "key of <id>", "-" for none
}

// setup changes what a rig is made of; nil functions change nothing.
type setup struct {
	// policies are files that act instead of the compiled-in figures.
	policies policy.Files
	tables   func(*core.Tables)
	plan     func(*core.Plan)
	config   func(*gateway.Config)
	upstream func(*upstream.Config)
	// probes starts the engine's background work, with probes.
	probes bool
}

// planner changes the plans of another decider.
type planner struct {
	core.Decider
	change func(*core.Plan)
}

func (p planner) Decide(s *core.Snapshot, f *core.Facts) (*core.Plan, bool) {
	plan, memo := p.Decider.Decide(s, f)
	p.change(plan)
	return plan, memo
}

func newRig(t testing.TB, targets []target, changes ...setup) *rig {
	t.Helper()
	return rigOver(t, catalogOf(t, targets), nil, changes...)
}

// rigOver is a rig over a catalog; nil is the upstream's own transport.
func rigOver(t testing.TB, cat *core.Catalog, transport http.RoundTripper, changes ...setup) *rig {
	t.Helper()
	r := build(t, cat, transport, changes)
	srv := httptest.NewServer(r.gateway)
	r.URL, r.client = srv.URL, srv.Client()
	t.Cleanup(srv.Close)
	return r
}

// revision is what acts before the changes.
func revision(t testing.TB, cat *core.Catalog, changes []setup) *core.Revision {
	t.Helper()
	for _, c := range changes {
		if c.policies == nil {
			continue
		}
		p, problems := policy.Build(c.policies, cat, policy.Options{Deadline: -1})
		if problems.Failed() {
			t.Fatal(problems.Error())
		}
		return p.Revision
	}
	return core.DefaultRevision(cat)
}

// build makes all of a rig but the way to it.
func build(t testing.TB, cat *core.Catalog, transport http.RoundTripper, changes []setup) *rig {
	t.Helper()
	r := &rig{tape: &tape{arrived: make(chan struct{}, 10_000)}}
	rev := revision(t, cat, changes)
	for _, c := range changes {
		if c.tables != nil {
			c.tables(rev.Tables)
		}
		if c.plan != nil {
			rev.Decider = planner{rev.Decider, c.plan}
		}
	}
	to := upstream.Config{UserAgent: "spillway-test", Transport: transport}
	for _, c := range changes {
		if c.upstream != nil {
			c.upstream(&to)
		}
	}
	up := upstream.New(to)
	if err := up.Replace(cat); err != nil {
		t.Fatal(err)
	}
	engine := core.Config{Revision: rev, Recorder: r.tape, Seed: 1}
	background := slices.ContainsFunc(changes, func(c setup) bool { return c.probes })
	if background {
		engine.Prober = up
	}
	var err error
	if r.engine, err = core.New(engine); err != nil {
		t.Fatal(err)
	}
	if background {
		r.engine.Start()
	}
	keys, err := access.NewTable(
		entry(freeKey, core.AudienceFree), entry(paidKey, core.AudiencePaid), entry(adminKey, core.AudienceAdmin))
	if err != nil {
		t.Fatal(err)
	}
	cfg := gateway.Config{Engine: r.engine, Access: keys, Upstream: up}
	for _, c := range changes {
		if c.config != nil {
			c.config(&cfg)
		}
	}
	if r.gateway, err = gateway.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { up.CloseIdle(); r.engine.Close() })
	return r
}

func catalogOf(t testing.TB, targets []target) *core.Catalog {
	t.Helper()
	var providers []core.Provider
	var list []core.Target
	for _, x := range targets {
		key := x.key
		switch key {
		case "":
			key = "key of " + x.id
		case "-":
			key = ""
		}
		providers = append(providers, core.Provider{
			ID: "p-" + x.id, Wire: x.wire, Vendor: string(x.wire),
			Keys: []core.Key{{ID: "k1", Secret: core.NewSecret(key)}}, Nodes: []core.Node{{ID: "n-" + x.id, BaseURL: x.vendor.URL}},
		})
		list = append(list, core.Target{
			ID: x.id, Provider: "p-" + x.id, Model: x.model, ContextTokens: 1_000_000, MaxOutput: 64_000,
			Capabilities: core.Capabilities{Tools: true, Images: true, Documents: true, JSONSchema: true, Thinking: true, Prefill: true},
			Price:        price.Table{Input: 3_000_000, Output: 15_000_000, AsOf: "2026-11-29"},
		})
	}
	cat, err := core.NewCatalog(providers, list)
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func entry(key string, a core.Audience) access.Entry {
	return access.Entry{Hash: sha256.Sum256([]byte(key)), Caller: access.Caller{
		KeyID: string(a), Grants: core.Grants{
			Tenant: "tenant-" + string(a), Audience: a, UseCases: []string{"assistant", "batch"}, MaxPriority: 8,
		},
	}}
}

// reply is an answer that was read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

// ask sends a body and reads the whole answer.
func (r *rig) ask(t testing.TB, path, body string, header ...string) reply {
	t.Helper()
	return r.do(t, http.MethodPost, path, strings.NewReader(body), header...)
}

func (r *rig) do(t testing.TB, method, path string, body io.Reader, header ...string) reply {
	t.Helper()
	res, err := r.send(t.Context(), method, path, body, header...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("read the answer: %v, after %q", err, b)
	}
	return reply{res.StatusCode, res.Header, string(b)}
}

// send sends a request and returns at the headers. Without a key header it uses
// the paid one.
func (r *rig) send(ctx context.Context, method, path string, body io.Reader, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.URL+path, body)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	req.Header.Set("X-Api-Key", paidKey)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		if header[i+1] == "" {
			req.Header.Del(header[i])
		} else {
			req.Header.Set(header[i], header[i+1])
		}
	}
	return r.Client().Do(req)
}

// Bodies of the simplest requests.
const (
	askMessages       = `{"model":"claude","max_tokens":64,"messages":[{"role":"user","content":"hi"}]}`
	askMessagesStream = `{"model":"claude","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"hi"}]}`
	askChat           = `{"model":"gpt","messages":[{"role":"user","content":"hi"}]}`
	askChatStream     = `{"model":"gpt","stream":true,"messages":[{"role":"user","content":"hi"}]}`
)

// Answers as the vendors give them, with fields that nobody documented.
const (
	messageAnswer = `{"id":"msg_1", "type":"message","role":"assistant","model":"claude-1","novel":{"a":[1, 2]},` +
		`"content":[{"type":"text","text":"Hello [#end]"}],"stop_reason":"end_turn","stop_sequence":null,` +
		`"usage":{"input_tokens":12,"output_tokens":5}}`
	chatAnswer = `{"id":"chatcmpl-1", "object":"chat.completion","created":1,"model":"gpt-1","novel":{"a":[1, 2]},` +
		`"choices":[{"index":0,"message":{"role":"assistant","content":"Hello [#end]"},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17}}`
)

// messageStart begins a Messages stream; it is no content.
const messageStart = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\"," +
	"\"role\":\"assistant\",\"model\":\"claude-1\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null," +
	"\"usage\":{\"input_tokens\":12,\"output_tokens\":1}}}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
	"event: ping\ndata: {\"type\": \"ping\"}\n\n"

// messageDelta is one piece of content.
func messageDelta(text string) string {
	return "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" +
		text + "\"}}\n\n"
}

// messageEnd ends a Messages stream properly.
const messageEnd = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
	"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":5}}\n\n" +
	"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

// withoutPings is what a caller gets when content comes at once: the pings
// before it are the gateway's own business.
func withoutPings(s string) string {
	return strings.ReplaceAll(s, "event: ping\ndata: {\"type\": \"ping\"}\n\n", "")
}

// chatChunk is one chunk of a Chat Completions stream.
func chatChunk(delta, finish string) string {
	return `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-1","choices":[{"index":0,"delta":` +
		delta + `,"finish_reason":` + finish + "}]}\n\n"
}

const (
	chatRole  = `{"role":"assistant","content":""}`
	chatUsage = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-1","choices":[],` +
		`"usage":{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17}}` + "\n\n"
	chatDone = "data: [DONE]\n\n"
)

// contains fails unless all parts are in the text.
func contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in %q", p, text)
		}
	}
}

// readUntil reads until the text appeared, and returns what was read.
func readUntil(t testing.TB, r io.Reader, text string) string {
	t.Helper()
	var got bytes.Buffer
	b := make([]byte, 1024)
	for !strings.Contains(got.String(), text) {
		n, err := r.Read(b)
		got.Write(b[:n])
		if err != nil && !strings.Contains(got.String(), text) {
			t.Fatalf("read: %v, after %q", err, got.String())
		}
	}
	return got.String()
}
