package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/exchange"
	"github.com/spillway-llm/spillway/core/upstream"
)

// DefaultMaxBody is the largest request body in bytes, unless [Config] says
// otherwise.
const DefaultMaxBody = 32 << 20

// Config is what a transport needs. Only Engine is required.
type Config struct {
	Engine *core.Engine
	// Upstream calls the vendors; nil makes a client for the engine's catalog.
	Upstream *upstream.Client
	// Clock must be the engine's; nil means the real one.
	Clock core.Clock
	// Base takes every request that is no request for an answer, as it came, with
	// the SDK's own credentials: lists of models, files, batches. Nil means
	// [http.DefaultTransport].
	Base http.RoundTripper
	// UseCase is that of requests that name none; "" means
	// [core.DefaultUseCase], or the revision's first use case without that one.
	UseCase string
	// Facts, if not nil, may change what was understood of a request before a
	// decision is made. It must be safe for concurrent use, and must not keep the
	// facts or read the request's body.
	Facts func(r *http.Request, f *core.Facts)
	// MaxBody is the largest request body in bytes; 0 means [DefaultMaxBody].
	MaxBody int64
	// MaxEvent is the largest event of a streamed answer in bytes; 0 means
	// [exchange.DefaultMaxEvent].
	MaxEvent int
}

// Transport is an [http.RoundTripper] that answers an SDK's requests by way of
// the engine: plan, circuits, retries, fallback within and across vendors. It
// goes below the SDK's HTTP client, and the SDK's own retries must be off:
//
//	option.WithHTTPClient(&http.Client{Transport: t}), option.WithMaxRetries(0)
//
// It understands a POST to a path that ends in /v1/messages (Anthropic Messages)
// or /chat/completions (OpenAI Chat Completions), and answers in that format
// whoever answered. The request's host and credentials don't matter to it:
// vendors are called at the catalog's nodes with the catalog's keys, so that no
// credential of the SDK's reaches another vendor. A request may ask for more
// with the gateway's Spillway headers, which go no further.
//
// The program is its own operator: it is told everything, in the gateway's
// Spillway headers, unless [Config.Facts] names another audience. A failure is an
// answer with the status and the body of which the SDK makes its own typed error,
// and with x-should-retry: false, because the retries were made already (R4.5).
//
// A streamed answer is returned at its first content. What goes wrong before
// falls back; after it the body ends with an error event in the SDK's format and
// then with a [*core.Error] instead of [io.EOF]. Closing the body, or ending the
// request's context, ends the call to the vendor at once and settles the attempt
// as the caller's leaving. Each stream has one goroutine until its end, at the
// latest until Close has returned.
//
// A Transport is safe for concurrent use. It has no background work: there is
// nothing to close but idle connections.
type Transport struct {
	cfg       Config
	exchanges *exchange.Pool
	owner     atomic.Pointer[owner]
}

// owner is what the embedding program may ask for in one revision: everything.
type owner struct {
	revision *core.Revision
	grants   core.Grants
}

// New returns a transport. It fails without an engine, with a use case that the
// acting revision does not have, and with a catalog that can't be called.
func New(cfg Config) (*Transport, error) {
	if cfg.Engine == nil {
		return nil, errors.New("new transport: no engine")
	}
	if cfg.MaxBody < 0 || cfg.MaxEvent < 0 {
		return nil, fmt.Errorf("new transport: a limit is negative: body %d, event %d", cfg.MaxBody, cfg.MaxEvent)
	}
	rev := cfg.Engine.Revision()
	if _, ok := rev.Tables.UseCaseIndex(cfg.UseCase); !ok && cfg.UseCase != "" {
		return nil, fmt.Errorf("new transport: use case %q is not known: use one of %s",
			cfg.UseCase, strings.Join(useCases(rev, ""), ", "))
	}
	if cfg.Upstream == nil {
		cfg.Upstream = upstream.New(upstream.Config{})
		if err := cfg.Upstream.Replace(rev.Catalog); err != nil {
			return nil, fmt.Errorf("new transport: %w", err)
		}
	}
	if cfg.Clock == nil {
		cfg.Clock = core.NewSystemClock()
	}
	if cfg.Base == nil {
		cfg.Base = http.DefaultTransport
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = DefaultMaxBody
	}
	return &Transport{cfg: cfg, exchanges: exchange.NewPool(exchange.Config{
		Engine: cfg.Engine, Upstream: cfg.Upstream, Clock: cfg.Clock, MaxEvent: cfg.MaxEvent,
	})}, nil
}

// RoundTrip answers one request. Its error is the context's, or that of the
// request's own body; everything else is a response.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	w, path := understood(r)
	if w == "" {
		return t.cfg.Base.RoundTrip(r)
	}
	out := &reply{request: r}
	x := t.exchanges.Begin(w, out)
	refused, err := t.receive(x, r, path)
	if err != nil {
		x.End()
		return nil, err
	}
	if refused != nil {
		x.End()
		out.refuse(t.exchanges.Format(w), refused)
		return out.response, nil
	}
	if x.Streamed() {
		return t.stream(x, out)
	}
	err = x.Run(r.Context())
	x.End()
	return out.result(err)
}

// CloseIdleConnections closes connections that no request uses, to the vendors
// and those of Base. [http.Client.CloseIdleConnections] calls it.
func (t *Transport) CloseIdleConnections() {
	t.cfg.Upstream.CloseIdle()
	if c, ok := t.cfg.Base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// understood returns the format of a request for an answer and its path in the
// record, "" for any other request.
func understood(r *http.Request) (w core.Wire, path string) {
	const messages, completions = "/v1/messages", "/chat/completions"
	switch {
	case r.Method != http.MethodPost:
		return "", ""
	case strings.HasSuffix(r.URL.Path, messages):
		return core.WireAnthropic, messages
	case strings.HasSuffix(r.URL.Path, completions):
		return core.WireOpenAI, "/v1" + completions
	}
	return "", ""
}

// receive reads the request and turns it into facts. The refusal is for the
// SDK's eyes, the error is that of the request's body.
func (t *Transport) receive(x *exchange.Exchange, r *http.Request, path string) (refused *core.Error, err error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }() // an error after everything was read says nothing
		length := r.ContentLength
		if length == 0 {
			length = -1 // a RoundTripper's request says so when it doesn't know
		}
		err = x.Receive(r.Body, length, t.cfg.MaxBody)
	}
	switch {
	case errors.Is(err, exchange.ErrTooLong):
		return exchange.Refusal(core.KindTooLarge, http.StatusRequestEntityTooLarge,
			"the body is over this transport's limit of %d bytes: shorten the conversation, or refer to large files by URL",
			t.cfg.MaxBody), nil
	case err != nil:
		return nil, fmt.Errorf("read the request's body: %w", err)
	case len(x.Body()) == 0:
		return exchange.BadRequest("the body is empty: send a JSON object"), nil
	}
	if refused = x.Understand(r, path, "", t.grants()); refused != nil {
		return refused, nil
	}
	if t.cfg.Facts != nil {
		f := &x.Request.Facts
		t.cfg.Facts(r, f)
		// Equal requests must stay equal facts, or no decision is ever remembered.
		f.InputTokens, f.MaxTokens = core.RoundUp2(f.InputTokens), core.RoundUp2(f.MaxTokens)
		f.LatencyBudgetMS = core.RoundUp2(f.LatencyBudgetMS)
	}
	return nil, nil
}

// maxPriority is the highest priority that there is.
const maxPriority = 10

// grants are the owner's in the acting revision.
func (t *Transport) grants() *core.Grants {
	rev := t.cfg.Engine.Revision()
	o := t.owner.Load()
	if o == nil || o.revision != rev {
		o = &owner{rev, core.Grants{
			Audience: core.AudienceAdmin, UseCases: useCases(rev, t.cfg.UseCase), MaxPriority: maxPriority,
		}}
		t.owner.Store(o)
	}
	return &o.grants
}

// useCases are a revision's, the one for requests that name none first. One that
// was configured stays first when a later revision doesn't have it: its requests
// are refused then, and don't become another workload unnoticed.
func useCases(rev *core.Revision, configured string) []string {
	first := cmp.Or(configured, core.DefaultUseCase)
	ids := make([]string, 0, len(rev.Tables.UseCases)+1)
	for _, u := range rev.Tables.UseCases {
		ids = append(ids, u.ID)
	}
	switch i := slices.Index(ids, first); {
	case i > 0:
		ids[0], ids[i] = ids[i], ids[0]
	case i < 0 && configured != "":
		ids = slices.Insert(ids, 0, configured)
	}
	return ids
}

// stream answers with a stream, or with the failure that came before its first
// content.
func (t *Transport) stream(x *exchange.Exchange, out *reply) (*http.Response, error) {
	ctx, cancel := context.WithCancel(out.request.Context())
	out.stream, out.ready = newBody(cancel), make(chan struct{})
	var err error
	t.cfg.Clock.Go(func() {
		err = x.Run(ctx)
		x.End()
		cancel()
		out.stream.end(err)
		if !out.begun {
			close(out.ready)
		}
	})
	<-out.ready
	if out.begun {
		return out.response, nil
	}
	return out.result(err)
}
