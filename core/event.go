package core

import (
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/limit"
)

// Event is something that happened: one of the types in this file, or a
// [*Decision].
type Event interface{ event() }

// Recorder receives every event. Record is called on the request's path: it
// must not block, and it must not keep ev or anything that ev points to except
// the immutable Snapshot and Plan. It is safe for concurrent use.
type Recorder interface {
	// Record takes note of an event.
	Record(ev Event)
}

// Transition is a circuit's change of state, with its cause (R1.6).
type Transition struct {
	At       time.Time
	Target   string
	UseCase  string
	From, To circuit.State
	// Cause is a failure kind, "time", "probes", "operator" or "restart".
	Cause string
	// Failures and Calls are the window's counts at the change.
	Failures, Calls int
	// Until is when an open circuit lets a probe through.
	Until time.Time
	// Opens counts the openings in a row.
	Opens int
	// Effective is the state with the operator's hold.
	Effective circuit.State
	Revision  string
}

// Cooldown is the start, or an extension, of a quota group's cooldown (R1.4).
type Cooldown struct {
	At         time.Time
	QuotaGroup string
	Key        string
	Target     string // whose answer started it
	Until      time.Time
	// Hinted reports that the vendor named the time.
	Hinted bool
}

// BudgetSample is the state of one retry budget (R5.2).
type BudgetSample struct {
	At       time.Time
	Target   string
	UseCase  string
	Tokens   float64
	Capacity float64
	// ZeroSeconds is the time spent without a whole token since the start.
	ZeroSeconds float64
}

// SpendSample is what a caller's key or a use case with a spend cap has spent
// (R13.1).
type SpendSample struct {
	At    time.Time
	Scope limit.Scope // of a key or of a use case
	ID    string
	limit.Spent
	// DayCapPico and MonthCapPico are the caps in picodollars, 0 for none.
	DayCapPico, MonthCapPico int64
}

// LevelChange is a use case's change of level.
type LevelChange struct {
	At       time.Time
	UseCase  string
	From, To Level
}

// KeyState is a provider key that left service or came back.
type KeyState struct {
	At       time.Time
	Provider string
	Key      string
	Usable   bool
	Kind     Kind
	By       string // "vendor", "time" or the operator
	Reason   string // the operator's own words
	// Left of the provider's Total keys are in service after the change. A pool
	// that only shrinks decays into an outage: see [ProviderLive.FewKeys].
	Left, Total int
}

// Override is an operator's hold on circuits, or its end (R1.8). A release
// inside a wider hold has an Until as well: that of the wider one.
type Override struct {
	At      time.Time
	Target  string // "" for all targets of the use case
	UseCase string // "" for all use cases of the target
	Hold    circuit.Hold
	By      string // the operator, or ByTime
	Reason  string
	Until   time.Time
}

// PolicyChange is an activation or roll-back (R17.4).
type PolicyChange struct {
	At       time.Time
	Action   string // "activate", "rollback", "poisoned"
	Revision string
	Previous string
	Number   int
	By       string
	Reason   string
}

// ConfigChange is a configuration that came into force, or was refused.
type ConfigChange struct {
	At      time.Time
	Digest  string
	By      string
	Refused string // why it was refused, "" when it is in force
}

// FaultChange is a simulated vendor that was broken or healed by hand.
type FaultChange struct {
	At     time.Time
	Vendor string
	Fault  string // "" for healed
	By     string
}

func (*Decision) event()     {}
func (*Transition) event()   {}
func (*Cooldown) event()     {}
func (*BudgetSample) event() {}
func (*SpendSample) event()  {}
func (*LevelChange) event()  {}
func (*KeyState) event()     {}
func (*Override) event()     {}
func (*PolicyChange) event() {}
func (*ConfigChange) event() {}
func (*FaultChange) event()  {}

// Recorders passes each event to every one of them, in order.
type Recorders []Recorder

// Record passes ev on.
func (r Recorders) Record(ev Event) {
	for _, x := range r {
		x.Record(ev)
	}
}

// Discard is the recorder that an embedder gets without choosing one.
type Discard struct{}

// Record forgets the event.
func (Discard) Record(Event) {}

// State is what must survive a restart (architecture.md).
type State struct {
	Circuits  []CircuitState
	Cooldowns []CooldownState
	Budgets   []BudgetState
	Keys      []KeyState
	Overrides []Override
	Spends    []SpendState
}

// CircuitState is an open or half-open circuit to restore.
type CircuitState struct {
	Target, UseCase string
	Since, Until    time.Time
	Cause           string
	Opens           int
}

// CooldownState is a running cooldown to restore.
type CooldownState struct {
	QuotaGroup, Key string
	Until           time.Time
}

// BudgetState is a retry budget's level to restore.
type BudgetState struct {
	Target, UseCase string
	Tokens          float64
}

// SpendState is what a caller's key or a use case has spent, to restore.
type SpendState struct {
	Scope limit.Scope
	ID    string
	limit.Spent
}
