package simulate

import (
	"fmt"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
)

// Scenario is an outage to run policies through: vendors, traffic, and what
// goes wrong when. It is read by [Parse] from the JSON form that its tags name
// and docs/wind-tunnel.md describes, and is immutable afterwards.
type Scenario struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Text says what the scenario shows and how to read its table.
	Text string `json:"text"`
	// Seed fixes every draw; it is not 0.
	Seed uint64 `json:"seed"`
	// DurationS is how long requests arrive. The run goes on until each has its answer.
	DurationS float64    `json:"duration_s"`
	Providers []Provider `json:"providers"`
	Targets   []Target   `json:"targets"`
	Traffic   []Traffic  `json:"traffic"`
	// Phases are the troubles, over healthy vendors.
	Phases []Phase `json:"phases"`
}

// Provider is a vendor's endpoint.
type Provider struct {
	ID     string    `json:"id"`
	Vendor string    `json:"vendor"` // "": the id
	Wire   core.Wire `json:"wire"`
	Keys   []string  `json:"keys"`  // none: one, "default"
	Nodes  []Node    `json:"nodes"` // none: one, "default"
}

// Node is one base URL of a provider.
type Node struct {
	ID     string `json:"id"`
	Region string `json:"region"`
	Weight int    `json:"weight"` // 0 means 1
}

// Target is a model at a provider, with its healthy speed.
type Target struct {
	ID            string `json:"id"`
	Provider      string `json:"provider"`
	Family        string `json:"family"`
	QuotaGroup    string `json:"quota_group"` // "": the provider's
	ContextTokens int    `json:"context_tokens"`
	// FirstContentMS is the time to the first content.
	FirstContentMS Spread `json:"first_content_ms"`
	// MSPerToken is the time of each further token.
	MSPerToken float64 `json:"ms_per_token"`
	// USDPerMillion is the price; without it the cost is unknown.
	USDPerMillion *Price `json:"usd_per_million"`
}

// Price is dollars per million tokens.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
}

// Spread is a log-normal distribution by two of its percentiles.
type Spread struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// Traffic is the requests of one use case: a Poisson stream.
type Traffic struct {
	UseCase  string        `json:"use_case"`
	Audience core.Audience `json:"audience"` // "": paid
	// Rate is the requests per second, each from its time on until the next one's.
	Rate []Rate `json:"rate"`
	// Mix is what the requests are.
	Mix []RequestKind `json:"mix"`
	// PatienceS is after how long callers leave; 0: never.
	PatienceS float64 `json:"patience_s"`
}

// Rate is a rate from a moment on.
type Rate struct {
	FromS float64 `json:"from_s"`
	PerS  float64 `json:"per_s"`
}

// RequestKind is one kind of request. All requests of a kind have the same facts, as
// facts are rounded anyway; their answers' lengths differ.
type RequestKind struct {
	// Share weighs the kind within its mix; 0 means 1.
	Share           float64      `json:"share"`
	Task            core.Task    `json:"task"`     // "": simple
	Quality         core.Quality `json:"quality"`  // "": balanced
	Priority        int          `json:"priority"` // 0 means 5
	LatencyBudgetMS int          `json:"latency_budget_ms"`
	InputTokens     int          `json:"input_tokens"`
	MaxTokens       int          `json:"max_tokens"`
	// OutputTokens is the mean length of an answer; lengths are uniform from half to one and a half of it.
	OutputTokens int  `json:"output_tokens"`
	Stream       bool `json:"stream"`
}

// Phase is a trouble of some of the calls for some time. The first five fields
// after the times choose the calls; "" matches all.
type Phase struct {
	Name     string  `json:"name"`
	FromS    float64 `json:"from_s"`
	ToS      float64 `json:"to_s"`
	Provider string  `json:"provider"`
	Node     string  `json:"node"`
	Region   string  `json:"region"`
	Target   string  `json:"target"`
	Key      string  `json:"key"`
	// Failures are the shares of the calls that fail, by kind. They add up to at most 1.
	Failures map[core.Kind]float64 `json:"failures"`
	// FailAfterMS is how long a failure takes; without it 120 ms, 400 ms at the 95th percentile.
	FailAfterMS *Spread `json:"fail_after_ms"`
	// RetryAfterS is the hint of failures that carry one; 0: none.
	RetryAfterS float64 `json:"retry_after_s"`
	// Limit refuses calls beyond a capacity.
	Limit *Limit `json:"limit"`
	// FirstContentFactor and TokenFactor slow answers down; 0 means 1.
	FirstContentFactor float64 `json:"first_content_factor"`
	TokenFactor        float64 `json:"token_factor"`
	// Dead asks how long it took until calls no longer came here.
	Dead bool `json:"dead"`
}

// Limit is how many calls each key of a provider may make in a time.
type Limit struct {
	Calls int     `json:"calls"`
	PerS  float64 `json:"per_s"`
	// Kind is what calls beyond the limit get: rate_limited, with a Retry-After
	// until the time is over, or overloaded.
	Kind core.Kind `json:"kind"`
}

// start is the wall time at which every simulation begins: a Monday morning.
func start() time.Time { return time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC) }

// duration converts seconds.
func duration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Catalog builds what the engine and policies know of the scenario's vendors.
func (s *Scenario) Catalog() (*core.Catalog, error) {
	var providers []core.Provider
	for _, p := range s.Providers {
		x := core.Provider{ID: p.ID, Wire: p.Wire, Vendor: p.Vendor, Simulated: true}
		if x.Vendor == "" {
			x.Vendor = p.ID
		}
		for _, k := range p.keys() {
			x.Keys = append(x.Keys, core.Key{ID: k})
		}
		for _, n := range p.nodes() {
			x.Nodes = append(x.Nodes, core.Node{
				ID: n.ID, BaseURL: "sim://" + p.ID + "/" + n.ID, Region: n.Region, Weight: n.Weight,
			})
		}
		providers = append(providers, x)
	}
	var targets []core.Target
	for _, t := range s.Targets {
		targets = append(targets, t.catalog())
	}
	c, err := core.NewCatalog(providers, targets)
	if err != nil {
		return nil, fmt.Errorf("scenario %q: %w", s.Name, err)
	}
	return c, nil
}

func (p *Provider) keys() []string {
	if len(p.Keys) == 0 {
		return []string{"default"}
	}
	return p.Keys
}

func (p *Provider) nodes() []Node {
	if len(p.Nodes) == 0 {
		return []Node{{ID: "default"}}
	}
	return p.Nodes
}

func (t *Target) catalog() core.Target {
	able := core.Capabilities{Tools: true, Images: true, Documents: true, JSONSchema: true, Thinking: true}
	x := core.Target{
		ID: t.ID, Provider: t.Provider, Model: t.ID, Family: t.Family, QuotaGroup: t.QuotaGroup,
		ContextTokens: t.ContextTokens, Capabilities: able,
	}
	if p := t.USDPerMillion; p != nil {
		x.Price = price.Table{
			Input: price.PerMillion(p.Input), Output: price.PerMillion(p.Output), AsOf: start().Format(time.DateOnly),
		}
	}
	return x
}
