package exchange

import (
	"hash/maphash"
	"sync"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/stream"
	"github.com/spillway-llm/spillway/core/upstream"
	"github.com/spillway-llm/spillway/core/wire"
	"github.com/spillway-llm/spillway/core/wire/anthropic"
	"github.com/spillway-llm/spillway/core/wire/openai"
)

// DefaultMaxEvent is the largest event of a streamed answer in bytes, unless
// [Config] says otherwise.
const DefaultMaxEvent = 8 << 20

// Config is what exchanges need. Engine and Upstream are required.
type Config struct {
	Engine   *core.Engine
	Upstream *upstream.Client
	// Clock must be the engine's; nil means the real one.
	Clock core.Clock
	// MaxEvent is the largest event of a streamed answer in bytes; 0 means
	// [DefaultMaxEvent].
	MaxEvent int
	// ModelsAt is where callers find the models that they may name, "" for nowhere.
	ModelsAt string
}

// Pool lends exchanges. It is safe for concurrent use.
type Pool struct {
	cfg       Config
	anthropic wire.Format
	openai    wire.Format
	idle      sync.Pool
	seed      maphash.Seed // of affinity keys
}

// NewPool returns a pool.
func NewPool(cfg Config) *Pool {
	if cfg.Clock == nil {
		cfg.Clock = core.NewSystemClock()
	}
	if cfg.MaxEvent == 0 {
		cfg.MaxEvent = DefaultMaxEvent
	}
	p := &Pool{cfg: cfg, anthropic: anthropic.New(), openai: openai.New(), seed: maphash.MakeSeed()}
	p.idle.New = func() any { return p.newExchange() }
	return p
}

// Format returns the format of a wire.
func (p *Pool) Format(w core.Wire) wire.Format {
	if w == core.WireAnthropic {
		return p.anthropic
	}
	return p.openai
}

func (p *Pool) newExchange() *Exchange {
	return &Exchange{
		pool: p, pump: stream.NewPump(p.cfg.MaxEvent),
		followers: map[core.Wire]wire.Follower{
			core.WireAnthropic: p.anthropic.NewFollower(), core.WireOpenAI: p.openai.NewFollower(),
		},
	}
}

// Begin lends an exchange for a request in the format of a wire, whose answer
// goes to the sink. [Exchange.End] gives it back.
func (p *Pool) Begin(w core.Wire, s Sink) *Exchange {
	x := p.idle.Get().(*Exchange)
	x.format, x.sink = p.Format(w), s
	return x
}
