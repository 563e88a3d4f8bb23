package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
)

// Level is how well a use case is served by its targets (R8.1).
type Level uint8

// The levels, best first.
const (
	Healthy Level = iota
	Degraded
	Unhealthy

	// LevelCount is the number of levels, for tables indexed by Level.
	LevelCount
)

var levelNames = [LevelCount]string{"healthy", "degraded", "unhealthy"}

// String returns the level's name in policies, audit and console.
func (l Level) String() string {
	if l >= LevelCount {
		return "unknown"
	}
	return levelNames[l]
}

// MarshalText writes the level's name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a level's name and refuses any other word.
func (l *Level) UnmarshalText(b []byte) error {
	for i, name := range levelNames {
		if name == string(b) {
			*l = Level(i)
			return nil
		}
	}
	return fmt.Errorf("read level: %q is not one", b)
}

// Live is the state of one target in a snapshot. Figures are quantised, so that
// a new snapshot appears only when something really moved.
type Live struct {
	// Circuits has one entry per use case, in the order of Snapshot.UseCases.
	Circuits []CircuitLive
	// SuccessPermille is the moving average of success (R2.3), 1000 before data.
	SuccessPermille int
	// P95MS is the 95th percentile to the last byte, two significant digits.
	P95MS int
	// FirstContentP95MS is the same to the first content.
	FirstContentP95MS int
	// RequestsPerMinute counts attempts over the last 60 s, two significant digits.
	RequestsPerMinute int
	// InFlight counts running attempts in coarse steps.
	InFlight int
	// CooldownUntil is when the first usable key is back, zero when not cooling down.
	CooldownUntil time.Time
	CoolingDown   bool
	// Healthy is false when no key or no node is usable.
	Healthy bool
	// Unusable says why Healthy is false, "" otherwise.
	Unusable string
	// Overridden reports an operator's hold on any of the target's circuits.
	Overridden bool
}

// CircuitLive is the state of one circuit in a snapshot.
type CircuitLive struct {
	State circuit.State
	// Computed is the state without the operator's hold.
	Computed circuit.State
	// Held is the operator's hold in force, with its reach, who put it there, why
	// and until when; nil without one. It must not be changed.
	Held *Override
	// Until is when a circuit that is open in effect lets a probe through, zero
	// otherwise.
	Until time.Time
	// Since is the time of the last change, zero if there was none.
	Since time.Time
	// Cause is the kind of the failure that opened it, "" otherwise.
	Cause string
	// BudgetPermille is what is left of the retry budget.
	BudgetPermille int
	// BudgetTokens is the same in tokens.
	BudgetTokens float64
}

// Snapshot is an immutable picture of all live state. It is safe for
// concurrent use.
type Snapshot struct {
	// Epoch grows with every snapshot of one engine.
	Epoch uint64
	// Time is the only clock that a policy sees.
	Time time.Time
	// Mono is the engine's monotonic time of the picture.
	Mono time.Duration
	// ValidUntil is the earliest moment at which time alone changes the
	// picture: an open circuit's end, a cooldown's end, a hold's expiry. Zero: never.
	ValidUntil time.Duration
	Revision   string
	Catalog    *Catalog
	UseCases   []string
	// Levels has one entry per use case.
	Levels []Level
	// Targets has one entry per target of the catalog.
	Targets []Live
	// Providers has one entry per provider of the catalog. Policies don't see it,
	// and latencies and counts of probes make no new snapshot: [Engine.Providers]
	// has the newest.
	Providers []ProviderLive

	// world is the state that the picture was taken of, so that a request never
	// mixes one revision's plan with another's settings.
	world *world

	once     sync.Once
	digest   string
	document []byte
}

// UseCaseIndex returns the position of a use case, -1 when it is not known.
func (s *Snapshot) UseCaseIndex(id string) int {
	for i, u := range s.UseCases {
		if u == id {
			return i
		}
	}
	return -1
}

// Document returns the snapshot as canonical JSON and the hex SHA-256 of it.
// It is computed once, on first use; callers must not change the bytes.
func (s *Snapshot) Document() (digest string, body []byte) {
	s.once.Do(func() {
		s.document, _ = json.Marshal(s.export())
		sum := sha256.Sum256(s.document)
		s.digest = hex.EncodeToString(sum[:])
	})
	return s.digest, s.document
}

// SnapshotDocument is the recorded form of a snapshot: what routing read as
// data.live, data.level and data.now. Map keys are target and use case ids.
type SnapshotDocument struct {
	TimeMS   int64                   `json:"time_ms"`
	Revision string                  `json:"revision"`
	Catalog  string                  `json:"catalog"`
	Levels   map[string]Level        `json:"levels"`
	Live     map[string]LiveDocument `json:"live"`
}

// LiveDocument is the recorded form of one target's state.
type LiveDocument struct {
	Circuit           map[string]string `json:"circuit"`
	BudgetPermille    map[string]int    `json:"budget_permille"`
	SuccessPermille   int               `json:"success_permille"`
	P95MS             int               `json:"p95_ms"`
	FirstTokenP95MS   int               `json:"first_token_p95_ms"`
	RequestsPerMinute int               `json:"requests_per_minute"`
	InFlight          int               `json:"in_flight"`
	CoolingDown       bool              `json:"cooling_down"`
	Healthy           bool              `json:"healthy"`
	Overridden        bool              `json:"overridden"`
}

func (s *Snapshot) export() SnapshotDocument {
	d := SnapshotDocument{
		TimeMS: s.Time.UnixMilli(), Revision: s.Revision, Catalog: s.Catalog.Digest,
		Levels: make(map[string]Level, len(s.UseCases)),
		Live:   make(map[string]LiveDocument, len(s.Targets)),
	}
	for i, u := range s.UseCases {
		d.Levels[u] = s.Levels[i]
	}
	for i := range s.Targets {
		d.Live[s.Catalog.Targets[i].ID] = s.exportLive(&s.Targets[i])
	}
	return d
}

func (s *Snapshot) exportLive(l *Live) LiveDocument {
	d := LiveDocument{
		Circuit: make(map[string]string, len(s.UseCases)), BudgetPermille: make(map[string]int, len(s.UseCases)),
		SuccessPermille: l.SuccessPermille, P95MS: l.P95MS, FirstTokenP95MS: l.FirstContentP95MS,
		RequestsPerMinute: l.RequestsPerMinute, InFlight: l.InFlight, CoolingDown: l.CoolingDown,
		Healthy: l.Healthy, Overridden: l.Overridden,
	}
	for i, u := range s.UseCases {
		d.Circuit[u] = l.Circuits[i].State.String()
		d.BudgetPermille[u] = l.Circuits[i].BudgetPermille
	}
	return d
}
