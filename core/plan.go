package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"time"
)

// Source is where a plan came from.
type Source string

// The sources of a plan, from the normal one to the last resort.
const (
	SourceEvaluated    Source = "evaluated"
	SourceMemo         Source = "memo"
	SourceLastDecision Source = "last_good_decision"
	SourceLastRevision Source = "last_good_revision"
	SourceSafe         Source = "safe_plan"
)

// Plan is a routing policy's answer for one set of facts in one snapshot. It is
// immutable and may be shared by many requests.
type Plan struct {
	Revision string `json:"revision"`
	Source   Source `json:"source"`
	// Steps are the targets to try, in order.
	Steps []Step `json:"steps"`
	// Excluded says why the other targets are no step.
	Excluded []Exclusion `json:"excluded"`
	// Scores explains the order, term by term.
	Scores []Score `json:"scores"`
	// Preferred is the target that would come first with nominal live figures
	// and no live exclusions (R2.5); "" when no target is able at all.
	Preferred string `json:"preferred"`
	// NoTarget says why there are no steps, "" when there are some.
	NoTarget string `json:"no_target,omitempty"`
	Limits   Limits `json:"limits"`
	// PauseBeforeVendorSwitchMS is waited before a step at another vendor.
	PauseBeforeVendorSwitchMS int  `json:"pause_before_vendor_switch_ms"`
	AllowContinuation         bool `json:"allow_continuation"`
	AllowHedge                bool `json:"allow_hedge"`
	// Fired are the labels of the rules that decided.
	Fired []string `json:"fired,omitempty"`
	// PolicyError is why the acting revision's own answer was not used: a stable
	// code, with the place after it. "" when it was.
	PolicyError string `json:"policy_error,omitempty"`
	// BuiltinErrors are errors of built-in functions, which Rego makes undefined.
	BuiltinErrors []string `json:"builtin_errors,omitempty"`
	// EvalSteps is the evaluation's length in steps, the same on every machine.
	EvalSteps int `json:"eval_steps"`

	once     sync.Once
	digest   string
	document []byte
}

// Step is one target of a plan.
type Step struct {
	// Index is the target's position in the catalog.
	Index  int    `json:"-"`
	Target string `json:"target"`
	// FirstContentMS limits the wait for the first content (R3.1).
	FirstContentMS int `json:"first_content_ms"`
	// IdleMS limits a stream's silence.
	IdleMS int `json:"idle_ms"`
}

// Exclusion is a target that is no step, and why.
type Exclusion struct {
	Target  string   `json:"target"`
	Reasons []string `json:"reasons"`
}

// Score is one candidate's place, in thousandths of a point.
type Score struct {
	Target string `json:"target"`
	Total  int64  `json:"total"`
	Terms  []Term `json:"terms"`
}

// Term is one summand of a score, in thousandths of a point.
type Term struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

// Limits bound a whole request.
type Limits struct {
	MaxHops     int `json:"max_hops"`     // changes of target after the first attempt
	MaxAttempts int `json:"max_attempts"` // over all targets, the first included
	TotalMS     int `json:"total_ms"`
}

// Total is TotalMS as a duration.
func (l Limits) Total() time.Duration { return time.Duration(l.TotalMS) * time.Millisecond }

// DefaultLimits are R3.1's figures.
func DefaultLimits() Limits { return Limits{MaxHops: 3, MaxAttempts: 4, TotalMS: 600_000} }

// The default limits of a step (R3.1): the first one waits longer.
const (
	DefaultFirstContentMS = 30_000
	DefaultNextContentMS  = 15_000
	DefaultIdleMS         = 30_000
)

// Document returns the plan as JSON and the hex SHA-256 of it. It is computed
// once, on first use; callers must not change the bytes.
func (p *Plan) Document() (digest string, body []byte) {
	p.once.Do(func() {
		p.document, _ = json.Marshal(p)
		sum := sha256.Sum256(p.document)
		p.digest = hex.EncodeToString(sum[:])
	})
	return p.digest, p.document
}

// Decider turns facts and a snapshot into a plan. Implementations are safe for
// concurrent use.
type Decider interface {
	// Decide returns the plan. It always returns one: a policy that fails is
	// replaced by the last good one and at last by [SafePlan], with
	// Plan.PolicyError set. memo reports that the plan was decided before for
	// equal facts in the same snapshot. It must not keep facts.
	Decide(snap *Snapshot, facts *Facts) (plan *Plan, memo bool)
	// Prepare readies the decider for a snapshot before requests meet it, so
	// that none of them pays for it.
	Prepare(snap *Snapshot)
}

// Revision is an acting version of the policies over one catalog. It is
// immutable.
type Revision struct {
	// ID is the hex SHA-256 over modules and data.
	ID      string
	Catalog *Catalog
	Tables  *Tables
	Decider Decider
}
