package core

import (
	"time"

	"github.com/spillway-llm/spillway/core/price"
)

// Decision is the audited record of one request. The engine fills it; whoever
// received the request adds what the caller saw. It is reused between requests:
// a [Recorder] must not keep it.
type Decision struct {
	// ID sorts by time.
	ID string
	At time.Time
	// KeyID and Tenant name the caller's key; never the key itself.
	KeyID, Tenant string
	// Wire and Path are how the request came; "go" for an embedded call.
	Wire Wire
	Path string
	Tags string

	Facts    Facts
	UseCase  int // position in the revision's tables
	Snapshot *Snapshot
	Plan     *Plan
	Memo     bool // the plan came from the memo
	Revision string
	Catalog  string // configuration digest
	Level    Level
	Tier     string

	Attempts []AttemptRecord
	Skips    []Skip

	// Target is who answered, "" if nobody did.
	Target string
	// Model is the model named in the answer.
	Model string
	// Outcome is KindNone when the caller got a whole answer.
	Outcome Kind
	// Limit names the one of Spillway's own limits that ended the request, by scope
	// and rule; "" for none.
	Limit string
	// Status is the HTTP status that the caller got, 0 when embedded.
	Status    int
	Situation Situation
	// Disclosed is what the caller was told.
	Disclosed Disclosed
	Warnings  []string
	// FirstContent and Duration count from the request's arrival; FirstContent
	// is 0 without content.
	FirstContent, Duration time.Duration
	Usage                  price.Usage
	// Cost is in picodollars over all attempts; CostKnown is false when any
	// part of it is not known.
	Cost      int64
	CostKnown bool
}

// Disclosed is what the caller was told about a decision.
type Disclosed struct {
	Detail Detail
	Text   string
}

// AttemptRecord is one call to one node of one target.
type AttemptRecord struct {
	Number int // from 1
	Step   int // from 0
	Target string
	Node   string
	Key    string
	// Start counts from the request's arrival, FirstContent and Duration from Start.
	Start, FirstContent, Duration time.Duration
	// Wait is what was waited before the attempt: backoff, hint or pause.
	Wait       time.Duration
	Kind       Kind
	Status     int
	Type, Code string
	RetryAfter time.Duration
	// Probe reports that the attempt was a half-open circuit's probe.
	Probe bool
	// UpstreamID is the vendor's own id of the request.
	UpstreamID string
	Usage      price.Usage
	Cost       int64
	CostKnown  bool
	PriceAsOf  string
}

// Skip is a step that was not attempted, and why.
type Skip struct {
	Step   int
	Target string
	Kind   Kind
	// Detail names the blocker, or the field that is not portable.
	Detail string
	// Wait is how long the reason lasts, 0 when that is not known.
	Wait time.Duration
}

// Reset empties the decision for the next request and keeps its memory.
func (d *Decision) Reset() {
	*d = Decision{Attempts: d.Attempts[:0], Skips: d.Skips[:0], Warnings: d.Warnings[:0]}
}

// tally sums usage and cost of the attempts.
func (d *Decision) tally() {
	d.CostKnown, d.Cost, d.Usage = len(d.Attempts) > 0, 0, price.Usage{}
	for i := range d.Attempts {
		at := &d.Attempts[i]
		if at.Kind == KindNone {
			d.Usage = at.Usage
		}
		if at.CostKnown {
			d.Cost += at.Cost
		} else if at.Kind == KindNone || at.FirstContent > 0 {
			// A refusal costs nothing; what produced content and gave no usage does.
			d.CostKnown = false
		}
	}
}

// Fallback reports whether an attempt failed before the one that answered.
func (d *Decision) Fallback() bool { return d.Situation == SituationFallback }

// Last returns the last attempt, nil when there was none.
func (d *Decision) Last() *AttemptRecord {
	if len(d.Attempts) == 0 {
		return nil
	}
	return &d.Attempts[len(d.Attempts)-1]
}
