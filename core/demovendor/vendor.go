// Package demovendor is a simulated LLM vendor that speaks either wire format and can be told to misbehave in every way that vendors do.
package demovendor

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Wire is the protocol that a simulated vendor speaks.
type Wire string

// The wire protocols.
const (
	WireAnthropic Wire = "anthropic"
	WireOpenAI    Wire = "openai"
)

// MarkHeader is set on every answer, so that nobody takes one for a real vendor's.
const MarkHeader = "X-Simulated-Vendor"

// Clock is what the vendor needs of time; core.Clock has it. Implementations
// are safe for concurrent use.
type Clock interface {
	// Sleep waits for d or until ctx ends, and returns ctx's error in that case.
	Sleep(ctx context.Context, d time.Duration) error
	// Wall is the calendar time, for the created fields of answers.
	Wall() time.Time
}

// Model is one model that the vendor serves, with its pace.
type Model struct {
	// Name is what requests call it.
	Name string
	// DisplayName is its name in the list of models; empty means Name.
	DisplayName string
	// FirstContent is the mean time to the first content; single requests vary
	// from 0.8 to 1.3 of it. 0 answers at once.
	FirstContent time.Duration
	// PerChunk is the mean time between two chunks of content; single ones vary
	// from 0.6 to 1.6 of it. 0 sends them all at once.
	PerChunk time.Duration
	// ContextTokens is the window over prompt and answer; 0 means no limit.
	ContextTokens int
	// MaxOutput is the most output tokens a request may ask for; 0 means no limit.
	MaxOutput int
}

// Config says what a vendor is. Its zero value but for Wire serves no model.
type Config struct {
	Wire   Wire
	Models []Model
	// Clock paces the answers; nil is the real time.
	Clock Clock
	// Seed makes latencies and texts repeat: they depend on it and the request's number alone.
	Seed uint64
	// RequireKey is the only key that is let in, as a bearer token or, in
	// Anthropic's format, as x-api-key. Empty lets everybody in.
	RequireKey string
	// Strict refuses what the real services refuse beyond the fields they need:
	// unknown fields, parameters that newer models gave up, prefilled answers.
	Strict bool
	// Record is how many of the last requests are kept for Requests. 0 keeps
	// none: they hold prompts and keys.
	Record int
	// Respond, when set, may choose the step of a request that no script took;
	// nil leaves it to the fault. It is called concurrently.
	Respond func(*Request) *Step
}

// Vendor is a simulated vendor: an http.Handler and an http.RoundTripper. It is
// safe for concurrent use; make one with [New].
type Vendor struct {
	cfg    Config
	wire   dialect
	ledger ledger
	seq    atomic.Uint64
	fault  atomic.Pointer[Fault]

	mu     sync.Mutex // guards script and always
	script []Step
	always *Step
}

var (
	_ http.Handler      = (*Vendor)(nil)
	_ http.RoundTripper = (*Vendor)(nil)
)

// New returns a healthy vendor. A wire that is not OpenAI's is Anthropic's.
func New(cfg Config) *Vendor {
	if cfg.Clock == nil {
		cfg.Clock = realTime{}
	}
	v := &Vendor{cfg: cfg, wire: anthropicWire{}}
	if cfg.Wire == WireOpenAI {
		v.wire = openaiWire{}
	}
	v.ledger.keep = cfg.Record
	return v
}

// ConnState counts open connections; assign it to http.Server.ConnState.
func (v *Vendor) ConnState(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		v.ledger.connections.Add(1)
	case http.StateClosed, http.StateHijacked:
		v.ledger.connections.Add(-1)
	}
}

// Stats returns what has happened so far.
func (v *Vendor) Stats() Stats { return v.ledger.stats() }

// Requests returns the last requests that Config.Record keeps, oldest first.
func (v *Vendor) Requests() []Request { return v.ledger.requests() }

// model returns the model of that name, or nil.
func (v *Vendor) model(name string) *Model {
	for i := range v.cfg.Models {
		if v.cfg.Models[i].Name == name {
			return &v.cfg.Models[i]
		}
	}
	return nil
}

// realTime is the clock of a vendor that was given none.
type realTime struct{}

func (realTime) Wall() time.Time { return time.Now() }

func (realTime) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// draw returns a number in [0, 1) that depends on the seed, the request's number and the purpose.
func (v *Vendor) draw(n uint64, purpose int) float64 {
	z := v.cfg.Seed ^ n*0x9e3779b97f4a7c15 ^ uint64(purpose)*0xd1342543de82ef95
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(z>>11) / (1 << 53)
}

// The purposes of draws; chunks count up from drawChunk.
const (
	drawFirst = iota
	drawFault
	drawText
	drawChunk = 1000
)
