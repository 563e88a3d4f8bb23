package core

import (
	"fmt"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/limit"
	"github.com/spillway-llm/spillway/core/retry"
)

// Next says which of the plan's remaining steps may follow a failure.
type Next string

// The ways on after a failure.
const (
	// NextAny takes the next step of the plan.
	NextAny Next = "any"
	// NextOtherVendor takes the next step at another vendor, and only without one the next of the plan.
	NextOtherVendor Next = "other_vendor_first"
	// NextSameVendor takes the next step at the same vendor, or stops.
	NextSameVendor Next = "same_vendor"
	// NextNone stops.
	NextNone Next = "none"
)

// Schedule names how long to wait before a retry on the same target.
type Schedule string

// The schedules (R4.2, R4.4).
const (
	// ScheduleExponential is full jitter: uniform in [0, min(max, base·2ⁿ)].
	ScheduleExponential Schedule = "exponential"
	// ScheduleConnect is min(2ⁿ, 20) + U(0, 1) seconds.
	ScheduleConnect Schedule = "connect"
	// ScheduleOverloaded is base · 2 · (1 + U(0, 1)).
	ScheduleOverloaded Schedule = "overloaded"
)

// Reaction is what the engine does about one kind of failure in one use case
// (R3.2). The zero value does nothing: the failure is the answer.
type Reaction struct {
	// Retries is how often the same target is tried again before the next step.
	Retries  int      `json:"retries"`
	Schedule Schedule `json:"schedule"`
	// BaseMS and MaxMS shape the schedule.
	BaseMS int `json:"base_ms"`
	MaxMS  int `json:"max_ms"`
	// MaxInlineWaitMS is the longest Retry-After that the request itself waits for.
	MaxInlineWaitMS int `json:"max_inline_wait_ms"`
	// PauseMS is waited before the next step.
	PauseMS int  `json:"pause_ms"`
	Next    Next `json:"next"`
}

// Pause is PauseMS as a duration.
func (r Reaction) Pause() time.Duration { return time.Duration(r.PauseMS) * time.Millisecond }

// MaxInlineWait is MaxInlineWaitMS as a duration.
func (r Reaction) MaxInlineWait() time.Duration {
	return time.Duration(r.MaxInlineWaitMS) * time.Millisecond
}

// OutagePath is what a tier does with a request that no target can serve.
type OutagePath string

// The outage paths (R10.1).
const (
	OutageQueue    OutagePath = "queue"
	OutageGraceful OutagePath = "graceful"
	OutageStatic   OutagePath = "static"
	OutageRefuse   OutagePath = "refuse"
)

// Tier is the recovery objective of a use case at one level.
type Tier struct {
	Name string `json:"name"`
	// RTOSeconds is the promised time to recovery.
	RTOSeconds int `json:"rto_s"`
	// RPOSeconds is the promised bound on loss: 0 loses nothing, -1 promises nothing.
	RPOSeconds int        `json:"rpo_s"`
	Outage     OutagePath `json:"outage"`
	// QueueBelow is the priority below which requests are queued while degraded.
	QueueBelow int `json:"queue_below"`
}

// Situation is what a caller may be told about (R11.2).
type Situation uint8

// The situations. SituationNone discloses nothing beyond the target.
const (
	SituationNone Situation = iota
	SituationFallback
	SituationRerouted
	SituationOverridden
	SituationTranslated
	SituationCached
	SituationContinued
	SituationQueued
	SituationStatic
	SituationDrill

	// SituationCount is the number of situations, for tables.
	SituationCount
)

var situationNames = [SituationCount]string{
	"none", "fallback", "rerouted", "overridden", "translated", "cached", "continued", "queued", "static", "drill",
}

// String returns the situation's name in policies, audit and console.
func (s Situation) String() string {
	if s >= SituationCount {
		return "unknown"
	}
	return situationNames[s]
}

// MarshalText writes the situation's name.
func (s Situation) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Detail is how much a caller is told.
type Detail string

// The details, least first. DetailAdmin is refused for any other audience at
// activation, so that no typo leaks it (R11.3).
const (
	DetailNone   Detail = "none"
	DetailTarget Detail = "target"
	DetailAdmin  Detail = "admin"
)

// Disclosure is one cell of the disclosure table. The zero value tells nothing.
type Disclosure struct {
	Detail Detail `json:"detail"`
	// Text is shown to the caller, with the placeholders {target}, {preferred},
	// {age}, {ticket} and {eta}. "" shows none.
	Text string `json:"text"`
	// AliasModel answers with the model that the caller asked for.
	AliasModel bool `json:"alias_model"`
}

// Languages are the languages of disclosures, the default first.
func Languages() []string { return []string{"en", "ja"} }

// Grants bound what one caller's key may ask for.
type Grants struct {
	Tenant      string   `json:"tenant"`
	TenantClass string   `json:"tenant_class"`
	Audience    Audience `json:"audience"`
	// UseCases that the key may name; the first is its default.
	UseCases    []string `json:"use_cases"`
	MaxPriority int      `json:"max_priority"`
	Language    string   `json:"language"`
	// Limits bound the key's requests; they come from the limits policy.
	Limits CallerLimits `json:"limits"`
}

// UseCase is a named workload of a revision.
type UseCase struct {
	ID string `json:"id"`
	// Targets that serve it; empty means all of the catalog.
	Targets []string `json:"targets,omitempty"`
}

// Tables are everything that a revision decides over finite domains, evaluated
// once at activation over one catalog. They are immutable after [Tables.Check].
type Tables struct {
	UseCases []UseCase
	// Circuits and Budgets are indexed [use case][target].
	Circuits [][]circuit.Settings
	Budgets  [][]retry.BudgetSettings
	// Reactions is indexed [use case][kind][repeated][after first content].
	Reactions [][KindCount][2][2]Reaction
	// Tiers is indexed [use case][level].
	Tiers [][LevelCount]Tier
	// Disclosures is indexed [use case][audience][situation][language], in the
	// orders of Audiences and Languages.
	Disclosures [][3][SituationCount][2]Disclosure
	// TargetLimits is indexed [target], UseCaseLimits [use case], GroupRates by quota
	// group; what is missing is not limited.
	TargetLimits  []TargetLimits
	UseCaseLimits []CallerLimits
	GroupRates    map[string]limit.RateSettings
	// Served is indexed [use case][target]: whether the use case uses the target.
	Served [][]bool

	index map[string]int
}

// Check verifies that every dimension fits the catalog and indexes the use
// cases. It must be called once, before the tables are used.
func (t *Tables) Check(c *Catalog) error {
	n := len(t.UseCases)
	if n == 0 || len(t.Circuits) != n || len(t.Budgets) != n || len(t.Reactions) != n || len(t.Tiers) != n ||
		len(t.Disclosures) != n {
		return fmt.Errorf("check tables: %d use cases, and a table of another size", n)
	}
	t.index = make(map[string]int, n)
	t.Served = make([][]bool, n)
	for i, u := range t.UseCases {
		if len(t.Circuits[i]) != len(c.Targets) || len(t.Budgets[i]) != len(c.Targets) {
			return fmt.Errorf("check tables: use case %q: circuits or budgets not of %d targets", u.ID, len(c.Targets))
		}
		t.index[u.ID] = i
		served, err := servedTargets(u, c)
		if err != nil {
			return err
		}
		t.Served[i] = served
	}
	return t.checkLimits(c)
}

func servedTargets(u UseCase, c *Catalog) ([]bool, error) {
	served := make([]bool, len(c.Targets))
	for i := range served {
		served[i] = len(u.Targets) == 0
	}
	for _, id := range u.Targets {
		i, ok := c.TargetIndex(id)
		if !ok {
			return nil, fmt.Errorf("check tables: use case %q: target %q is not configured", u.ID, id)
		}
		served[i] = true
	}
	return served, nil
}

// UseCaseIndex returns the position of a use case.
func (t *Tables) UseCaseIndex(id string) (int, bool) {
	i, ok := t.index[id]
	return i, ok
}

// Reaction looks a reaction up. repeated says that this kind already met this
// request; afterContent that the caller has seen content.
func (t *Tables) Reaction(useCase int, k Kind, repeated, afterContent bool) Reaction {
	return t.Reactions[useCase][k][bit(repeated)][bit(afterContent)]
}

// Disclosure looks a disclosure up; unknown audiences and languages get the
// free audience's and the first language's cell.
func (t *Tables) Disclosure(useCase int, a Audience, s Situation, language string) Disclosure {
	ai, li := 0, 0
	for i, x := range Audiences() {
		if x == a {
			ai = i
		}
	}
	for i, x := range Languages() {
		if x == language {
			li = i
		}
	}
	return t.Disclosures[useCase][ai][s][li]
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
