package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/access"
	"github.com/spillway-llm/spillway/core/exchange"
	"github.com/spillway-llm/spillway/core/upstream"
	"github.com/spillway-llm/spillway/core/wire"
)

// The defaults of [Config].
const (
	DefaultMaxBody      = 32 << 20
	DefaultMaxEvent     = exchange.DefaultMaxEvent
	DefaultSilence      = 10 * time.Second
	DefaultWriteTimeout = 30 * time.Second
)

// Config is what a gateway needs. Engine, Access and Upstream are required.
type Config struct {
	Engine   *core.Engine
	Access   *access.Table
	Upstream *upstream.Client
	// Clock must be the engine's; nil means the real one.
	Clock core.Clock
	// MaxBody is the largest request body in bytes; 0 means [DefaultMaxBody].
	MaxBody int64
	// MaxEvent is the largest event of a streamed answer in bytes; 0 means
	// [DefaultMaxEvent].
	MaxEvent int
	// Silence is after how long a streaming caller without news gets a sign of
	// life, and with the first of them the status 200 (R6.2, R6.6); 0 means
	// [DefaultSilence].
	Silence time.Duration
	// WriteTimeout is how long one write to a caller may take before the caller
	// counts as gone (R27); 0 means [DefaultWriteTimeout].
	WriteTimeout time.Duration
	// Simulated says in /health and /v1/models that the vendors are not real.
	Simulated bool
}

// Gateway is an [http.Handler] for the data plane. It is safe for concurrent use.
//
//	POST /v1/messages, /messages                    Anthropic Messages
//	POST /v1/chat/completions, /chat/completions    OpenAI Chat Completions
//	GET  /v1/models, /v1/models/{id}                in the format that anthropic-version asks for
//	POST /v1/plan                                   what would be done with a request
//	GET  /health, /livez, /readyz                   without a key
//
// The server around it must have no WriteTimeout: the gateway limits each write.
type Gateway struct {
	cfg       Config
	anthropic wire.Format
	openai    wire.Format
	keeper    keeper
	exchanges *exchange.Pool
	refused   atomic.Uint64
	draining  atomic.Bool
}

// New returns a gateway.
func New(cfg Config) (*Gateway, error) {
	if cfg.Engine == nil || cfg.Access == nil || cfg.Upstream == nil {
		return nil, errors.New("new gateway: engine, access and upstream are required")
	}
	if cfg.MaxBody < 0 || cfg.MaxEvent < 0 || cfg.Silence < 0 || cfg.WriteTimeout < 0 {
		return nil, fmt.Errorf("new gateway: a limit is negative: body %d, event %d, silence %v, write timeout %v",
			cfg.MaxBody, cfg.MaxEvent, cfg.Silence, cfg.WriteTimeout)
	}
	if cfg.Clock == nil {
		cfg.Clock = core.NewSystemClock()
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = DefaultMaxBody
	}
	if cfg.MaxEvent == 0 {
		cfg.MaxEvent = DefaultMaxEvent
	}
	if cfg.Silence == 0 {
		cfg.Silence = DefaultSilence
	}
	if cfg.WriteTimeout == 0 {
		cfg.WriteTimeout = DefaultWriteTimeout
	}
	pool := exchange.NewPool(exchange.Config{
		Engine: cfg.Engine, Upstream: cfg.Upstream, Clock: cfg.Clock, MaxEvent: cfg.MaxEvent, ModelsAt: pathModels,
	})
	return &Gateway{
		cfg: cfg, anthropic: pool.Format(core.WireAnthropic), openai: pool.Format(core.WireOpenAI),
		keeper: keeper{clock: cfg.Clock, silence: cfg.Silence}, exchanges: pool,
	}, nil
}

// Drain makes /readyz say that no new requests are wanted; those that come are
// served all the same.
func (g *Gateway) Drain() { g.draining.Store(true) }

// The paths under their own names; the aliases are what clients with /v1 in
// their base URL call.
const (
	pathMessages    = "/v1/messages"
	pathCompletions = "/v1/chat/completions"
	pathModels      = "/v1/models"
	pathPlan        = "/v1/plan"
)

// ServeHTTP answers one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case pathMessages, "/messages":
		g.complete(w, r, g.anthropic, pathMessages)
	case pathCompletions, "/chat/completions":
		g.complete(w, r, g.openai, pathCompletions)
	case pathPlan:
		g.plan(w, r)
	case "/health":
		g.get(w, r, g.health)
	case "/livez":
		g.get(w, r, g.live)
	case "/readyz":
		g.get(w, r, g.ready)
	default:
		g.models(w, r)
	}
}

// get serves a page that is only read.
func (g *Gateway) get(w http.ResponseWriter, r *http.Request, page http.HandlerFunc) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		g.refuse(w, r, g.spoken(r), wrongMethod(r, http.MethodGet))
		return
	}
	page(w, r)
}

// spoken guesses the format that a caller understands where the path doesn't
// say it.
func (g *Gateway) spoken(r *http.Request) wire.Format {
	if len(r.Header["Anthropic-Version"]) > 0 {
		return g.anthropic
	}
	return g.openai
}

// identify returns the caller, or why the request is refused.
func (g *Gateway) identify(r *http.Request) (*access.Caller, *core.Error) {
	key := access.Presented(r.Header)
	if key == "" {
		return nil, unauthenticated("no key: send this gateway's key as x-api-key, or as Authorization: Bearer")
	}
	c, ok := g.cfg.Access.Lookup(key)
	if !ok {
		return nil, unauthenticated("unknown key: use a key of this gateway, which starts with " + access.Prefix +
			", and not a vendor's")
	}
	return c, nil
}
