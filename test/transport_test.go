package test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/demovendor"
	"github.com/spillway-llm/spillway/core/transport"
)

// sdkKey is the credential that the SDKs are given: the vendors refuse it.
const sdkKey = "sk-of-the-program"

// embedded is the engine below both official SDKs, in this process, between
// strict vendors on real sockets.
type embedded struct {
	anthropic, openai *demovendor.Vendor
	claude            anthropic.Client
	gpt               openai.Client
	engine            *core.Engine
	client            *http.Client

	mu        sync.Mutex
	decisions []core.Decision
}

// Record keeps the decisions.
func (e *embedded) Record(ev core.Event) {
	if d, ok := ev.(*core.Decision); ok {
		c := *d
		c.Attempts = append([]core.AttemptRecord(nil), d.Attempts...)
		e.mu.Lock()
		e.decisions = append(e.decisions, c)
		e.mu.Unlock()
	}
}

// last is the decision recorded last; there must have been n.
func (e *embedded) last(t *testing.T, n int) core.Decision {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.decisions) != n {
		t.Fatalf("%d decisions were recorded, want %d", len(e.decisions), n)
	}
	return e.decisions[n-1]
}

func embed(t *testing.T) *embedded {
	t.Helper()
	e := &embedded{}
	start := func(w demovendor.Wire) (*demovendor.Vendor, string) {
		cfg := demovendor.Preset(w)
		for i := range cfg.Models {
			cfg.Models[i].FirstContent, cfg.Models[i].PerChunk = time.Millisecond, time.Millisecond
		}
		cfg.Strict, cfg.RequireKey = true, "key of "+string(w)
		v := demovendor.New(cfg)
		s := httptest.NewServer(v)
		t.Cleanup(s.Close)
		return v, s.URL
	}
	var urls [2]string
	e.anthropic, urls[0] = start(demovendor.WireAnthropic)
	e.openai, urls[1] = start(demovendor.WireOpenAI)
	provider := func(w core.Wire, url string) core.Provider {
		return core.Provider{
			ID: string(w), Wire: w, Vendor: string(w), Nodes: []core.Node{{ID: "node", BaseURL: url}},
			Keys: []core.Key{{ID: "key", Secret: core.NewSecret("key of " + string(w))}},
		}
	}
	cat, err := core.NewCatalog(
		[]core.Provider{provider(core.WireAnthropic, urls[0]), provider(core.WireOpenAI, urls[1])},
		[]core.Target{
			{ID: "opus", Provider: "anthropic", Model: "claude-opus-5-5", ContextTokens: 1_000_000, MaxOutput: 128_000},
			{ID: "sol", Provider: "openai", Model: "gpt-6-sol", ContextTokens: 400_000, MaxOutput: 128_000},
		})
	if err != nil {
		t.Fatal(err)
	}
	if e.engine, err = core.New(core.Config{Revision: core.DefaultRevision(cat), Recorder: e}); err != nil {
		t.Fatal(err)
	}
	tr, err := transport.New(transport.Config{Engine: e.engine})
	if err != nil {
		t.Fatal(err)
	}
	e.client = &http.Client{Transport: tr}
	t.Cleanup(func() { e.client.CloseIdleConnections(); e.engine.Close() })
	// The SDKs keep their vendors' addresses: the transport never calls them.
	e.claude = anthropic.NewClient(anthropicoption.WithAPIKey(sdkKey), anthropicoption.WithBaseURL("https://api.anthropic.invalid"),
		anthropicoption.WithHTTPClient(e.client), anthropicoption.WithMaxRetries(0))
	e.gpt = openai.NewClient(openaioption.WithAPIKey(sdkKey), openaioption.WithBaseURL("https://api.openai.invalid/v1"),
		openaioption.WithHTTPClient(e.client), openaioption.WithMaxRetries(0))
	return e
}

func messageParams() anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: "claude-opus-5-5", MaxTokens: 64,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
	}
}

func chatParams() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: "gpt-6-sol", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
	}
}

// said is what an SDK made of an answer.
type said struct {
	text, model, end string
	err              error
}

// asked are the four ways in which the SDKs ask.
func (e *embedded) asked(ctx context.Context) map[string]func() said {
	return map[string]func() said{
		"anthropic plain": func() said {
			m, err := e.claude.Messages.New(ctx, messageParams())
			if err != nil {
				return said{err: err}
			}
			return messageSaid(m)
		},
		"anthropic streamed": func() said {
			stream := e.claude.Messages.NewStreaming(ctx, messageParams())
			defer stream.Close()
			var m anthropic.Message
			for stream.Next() {
				if err := m.Accumulate(stream.Current()); err != nil {
					return said{err: err}
				}
			}
			s := messageSaid(&m)
			s.err = stream.Err()
			return s
		},
		"openai plain": func() said {
			c, err := e.gpt.Chat.Completions.New(ctx, chatParams())
			if err != nil {
				return said{err: err}
			}
			return said{c.Choices[0].Message.Content, c.Model, c.Choices[0].FinishReason, nil}
		},
		"openai streamed": func() said {
			stream := e.gpt.Chat.Completions.NewStreaming(ctx, chatParams())
			defer stream.Close()
			var c openai.ChatCompletionAccumulator
			for stream.Next() {
				c.AddChunk(stream.Current())
			}
			s := said{model: c.Model, err: stream.Err()}
			if len(c.Choices) > 0 {
				s.text, s.end = c.Choices[0].Message.Content, c.Choices[0].FinishReason
			}
			return s
		},
	}
}

func messageSaid(m *anthropic.Message) said {
	s := said{model: string(m.Model), end: string(m.StopReason)}
	if len(m.Content) > 0 {
		s.text = m.Content[0].Text
	}
	return s
}

// Both official SDKs, plain and streamed: with both vendors alive, with their own
// dead and the other one answering.
func TestTransport_OfficialSDKs(t *testing.T) {
	t.Parallel()
	for name := range embed(t).asked(t.Context()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := embed(t)
			own, of, model, other := e.anthropic, "anthropic", "claude-opus-5-5", "gpt-6-sol"
			if strings.HasPrefix(name, "openai") {
				own, of, model, other = e.openai, "openai", "gpt-6-sol", "claude-opus-5-5"
			}
			ask := e.asked(t.Context())[name]
			if s := ask(); s.err != nil || s.text == "" || s.end == "" || !strings.HasPrefix(s.model, model) {
				t.Errorf("healthy: %+v", s)
			}
			if d := e.last(t, 1); string(d.Wire) != of || d.Outcome != core.KindNone || len(d.Attempts) != 1 {
				t.Errorf("healthy: decision %+v", d)
			}
			if err := own.Break(demovendor.Fault{Kind: demovendor.Overloaded}); err != nil {
				t.Fatal(err)
			}
			if s := ask(); s.err != nil || s.text == "" || s.end == "" || !strings.HasPrefix(s.model, other) {
				t.Errorf("own vendor dead: %+v", s)
			}
			if d := e.last(t, 2); d.Situation != core.SituationFallback || len(d.Attempts) != 2 {
				t.Errorf("own vendor dead: decision %+v", d)
			}
		})
	}
}

// A stream that breaks after content is an error to the SDK: never an answer that
// looks whole.
func TestTransport_CutMidStream(t *testing.T) {
	t.Parallel()
	for _, end := range []demovendor.End{demovendor.EndCut, demovendor.EndSilent, demovendor.EndErrorEvent} {
		e := embed(t)
		for n, name := range []string{"anthropic streamed", "openai streamed"} {
			e.anthropic.Script(demovendor.Step{End: end, After: 2})
			e.openai.Script(demovendor.Step{End: end, After: 2})
			s := e.asked(t.Context())[name]()
			if s.err == nil || s.text == "" || s.end != "" {
				t.Errorf("end %d, %s: %+v", end, name, s)
			}
			if d := e.last(t, n+1); d.Outcome == core.KindNone || d.Outcome == core.KindCallerGone || len(d.Attempts) != 1 {
				t.Errorf("end %d, %s: decision %+v", end, name, d)
			}
			e.anthropic.Heal()
			e.openai.Heal()
		}
	}
}

// A program that closes a stream in the middle ends the call to the vendor.
func TestTransport_CallerCloses(t *testing.T) {
	t.Parallel()
	e := embed(t)
	e.anthropic.Always(demovendor.Step{End: demovendor.EndStall, After: 2})
	e.openai.Always(demovendor.Step{End: demovendor.EndStall, After: 2})
	messages := e.claude.Messages.NewStreaming(t.Context(), messageParams())
	if !messages.Next() {
		t.Fatal(messages.Err())
	}
	if err := messages.Close(); err != nil {
		t.Fatal(err)
	}
	if d := e.last(t, 1); d.Outcome != core.KindCallerGone || d.Attempts[0].Kind != core.KindCallerGone {
		t.Errorf("anthropic: decision %+v", d)
	}
	chat := e.gpt.Chat.Completions.NewStreaming(t.Context(), chatParams())
	if !chat.Next() {
		t.Fatal(chat.Err())
	}
	if err := chat.Close(); err != nil {
		t.Fatal(err)
	}
	if d := e.last(t, 2); d.Outcome != core.KindCallerGone {
		t.Errorf("openai: decision %+v", d)
	}
	for name, v := range map[string]*demovendor.Vendor{"anthropic": e.anthropic, "openai": e.openai} {
		eventually(t, 10*time.Second, name+" notices", func() bool {
			s := v.Stats()
			return s.ClientGone == 1 && s.Open == 0
		})
	}
}

// With both vendors down each SDK makes its own typed error of the answer, asks
// once and is told the whole story.
func TestTransport_Exhausted(t *testing.T) {
	t.Parallel()
	e := embed(t)
	for _, v := range []*demovendor.Vendor{e.anthropic, e.openai} {
		v.Always(demovendor.Step{Status: 503, Header: http.Header{"Retry-After": {"9"}}})
	}
	for name, ask := range e.asked(t.Context()) {
		err := ask().err
		var res *http.Response
		var told string
		var a *anthropic.Error
		var o *openai.Error
		switch {
		case errors.As(err, &a):
			res, told = a.Response, a.RawJSON()
		case errors.As(err, &o):
			res, told = o.Response, o.Message
		default:
			t.Fatalf("%s: %T %v", name, err, err)
		}
		if (a != nil) != strings.HasPrefix(name, "anthropic") {
			t.Errorf("%s: %T", name, err)
		}
		if res.StatusCode < 500 || res.Header.Get("X-Should-Retry") != "false" || res.Header.Get("Spillway-Decision") == "" {
			t.Errorf("%s: %d %v", name, res.StatusCode, res.Header)
		}
		for _, step := range []string{"opus: overloaded (503)", "sol: overloaded (503)"} {
			if !strings.Contains(told, step) {
				t.Errorf("%s: %q is not told in %q", name, step, told)
			}
		}
	}
	if n := e.anthropic.Stats().Hits(demovendor.Count{}); n != 4 {
		t.Errorf("%d calls of anthropic for 4 requests", n)
	}
}

// A throttled vendor's time reaches the SDK's error.
func TestTransport_RetryAfter(t *testing.T) {
	t.Parallel()
	e := embed(t)
	if err := e.anthropic.Break(demovendor.Fault{Kind: demovendor.RateLimited, RetryAfterS: 33}); err != nil {
		t.Fatal(err)
	}
	_, err := e.claude.Messages.New(t.Context(), messageParams())
	var a *anthropic.Error
	if !errors.As(err, &a) || a.StatusCode != 429 || a.Response.Header.Get("Retry-After") != "33" {
		t.Errorf("%v", err)
	}
}

// The caller's own mistake is the vendor's own answer, and nobody else is asked.
func TestTransport_CallersMistake(t *testing.T) {
	t.Parallel()
	e := embed(t)
	e.anthropic.Script(demovendor.Step{Status: 400})
	_, err := e.claude.Messages.New(t.Context(), messageParams())
	var a *anthropic.Error
	if !errors.As(err, &a) || a.StatusCode != 400 || e.openai.Stats().Hits(demovendor.Count{}) != 0 {
		t.Errorf("%v", err)
	}
}

// Nothing of a stream is left when the SDK has read it or closed it. It does not
// run beside other tests, which have goroutines of their own.
func TestTransport_NothingIsLeft(t *testing.T) {
	e := embed(t)
	settled := func(what string) {
		eventually(t, 10*time.Second, what, func() bool {
			return e.anthropic.Stats().Open+e.openai.Stats().Open == 0 && !running("core/transport.", "core/exchange.", "core/upstream.")
		})
	}
	for name, ask := range e.asked(t.Context()) {
		if s := ask(); s.err != nil {
			t.Fatal(s.err)
		}
		settled("after " + name)
	}
	e.anthropic.Always(demovendor.Step{End: demovendor.EndStall, After: 1})
	res, err := e.client.Post("https://api.anthropic.invalid/v1/messages", "application/json",
		strings.NewReader(strings.Replace(anthropicBody, `"max_tokens"`, `"stream":true,"max_tokens"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAtLeast(res.Body, make([]byte, 1), 1); err != nil {
		t.Fatal(err)
	}
	if !running("core/transport.") {
		t.Error("no goroutine serves an open stream: this test sees nothing")
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	settled("after a close")
}
