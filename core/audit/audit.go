// Package audit holds what can be asked of the recorded history: the filters
// and the read models that stores fill and consoles show.
package audit

import (
	"encoding/json"
	"time"
)

// Filter selects decisions. Its zero value selects all, newest first.
type Filter struct {
	UseCase  string
	Target   string // who answered
	Outcome  string // a failure kind, "none" for answered, "failed" for all others
	Audience string
	Revision string
	KeyID    string
	Query    string // part of a decision id, a model or tags
	Degraded bool   // only fallbacks and reroutes
	From, To time.Time
	// Before and After are sequence numbers for paging and for live tails; 0 is unbounded.
	Before, After int64
	Limit         int // 0 means 50, at most 500
}

// Decision is one row of the decision list.
type Decision struct {
	Seq       int64
	ID        string
	At        time.Time
	UseCase   string
	Audience  string
	KeyID     string
	Tenant    string
	Wire      string
	Asked     string // model asked for
	Target    string // who answered, "" for nobody
	Outcome   string
	Status    int
	Situation string
	Level     string
	Revision  string
	Source    string
	Attempts  []Attempt
	Skips     []Skip
	Cost      int64 // picodollars
	CostKnown bool
	Duration  time.Duration
	// FirstContent is 0 without content.
	FirstContent time.Duration
}

// Attempt is one recorded attempt.
type Attempt struct {
	Number       int    `json:"number"`
	Step         int    `json:"step"`
	Target       string `json:"target"`
	Node         string `json:"node"`
	Key          string `json:"key"`
	StartMS      int64  `json:"start_ms"`
	FirstMS      int64  `json:"first_content_ms"`
	DurationMS   int64  `json:"duration_ms"`
	WaitMS       int64  `json:"wait_ms"`
	Kind         string `json:"kind"`
	Status       int    `json:"status"`
	Type         string `json:"type"`
	Code         string `json:"code"`
	RetryAfterMS int64  `json:"retry_after_ms"`
	Probe        bool   `json:"probe"`
	UpstreamID   string `json:"upstream_id"`
	Input        int64  `json:"input_tokens"`
	CacheRead    int64  `json:"cache_read_tokens"`
	CacheWrite   int64  `json:"cache_write_tokens"`
	Output       int64  `json:"output_tokens"`
	Cost         int64  `json:"cost_picousd"`
	CostKnown    bool   `json:"cost_known"`
	PriceAsOf    string `json:"price_as_of"`
}

// Skip is one recorded step that was not attempted.
type Skip struct {
	Step   int    `json:"step"`
	Target string `json:"target"`
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
	WaitMS int64  `json:"wait_ms"`
}

// Detail is everything recorded about one decision.
type Detail struct {
	Decision
	// Facts, Plan and Snapshot are the canonical documents; see core.Facts,
	// core.Plan and core.SnapshotDocument.
	Facts, Plan, Snapshot json.RawMessage
	// Body is the event as it stands in the database.
	Body          json.RawMessage
	Catalog       string
	Warnings      []string
	DisclosedAs   string
	DisclosedText string
	// Previous and Next are the neighbours' ids, "" at the ends.
	Previous, Next string
}

// Event is one row of the event feed: anything recorded but a decision.
type Event struct {
	Seq     int64
	At      time.Time
	Kind    string // event type: "transition", "cooldown", "level", "policy", …
	Subject string // target, use case, key or revision
	// Body is the event's JSON, as documented in docs/audit-schema.md.
	Body json.RawMessage
}
