package circuit

import (
	"errors"
	"fmt"
	"time"
)

// State is one of the circuit's three states.
type State uint8

// The states. The zero value is Closed.
const (
	// Closed lets every call through.
	Closed State = iota
	// HalfOpen lets a few probes through to find out.
	HalfOpen
	// Open refuses every call until its time is up.
	Open
)

// String returns the state's name in policies, audit and console.
func (s State) String() string {
	switch s {
	case Closed:
		return "closed"
	case HalfOpen:
		return "half_open"
	case Open:
		return "open"
	}
	return "unknown"
}

// Outcome is what a finished call says about the callee.
type Outcome uint8

// The outcomes. The zero value is Neutral: it gives the permit back and votes
// for nothing.
const (
	// Neutral is no evidence: the caller left, a local refusal, a 429.
	Neutral Outcome = iota
	// Success is a whole answer.
	Success
	// Answered is a refusal of the caller's own mistake: it counts as a success
	// for a half-open probe, because the transport works, and else not (R1.3).
	Answered
	// Failure is evidence against the callee.
	Failure
)

// Hold is an operator's state beside the computed one (R1.8).
type Hold uint8

// The holds. The zero value is none.
const (
	// HoldNone leaves the computed state in force.
	HoldNone Hold = iota
	// HoldOpen refuses every call.
	HoldOpen
	// HoldClosed lets every call through and goes on computing: an operator trusts
	// the callee more than its circuit.
	HoldClosed
	// HoldObserve lets every call through and goes on computing and reporting what
	// the circuit would do: settings are watched before they may act.
	HoldObserve
	// HoldEmergency raises the thresholds to [EmergencyFailures] and
	// [EmergencyRatePermille] where they are lower, so that a vendor that works
	// badly is used as long as it works at all.
	HoldEmergency
)

// The emergency preset of R1.8. The rate is then judged over the last 20
// outcomes and no fewer, because 10 failures in a row are a rate of 1 and would
// open the circuit before the 20 failures that the preset allows.
const (
	EmergencyFailures     = 20
	EmergencyRatePermille = 900
)

// Holds returns the holds that an operator can put on a circuit.
func Holds() []Hold { return []Hold{HoldOpen, HoldClosed, HoldObserve, HoldEmergency} }

// String returns the hold's name in audit and console.
func (h Hold) String() string {
	switch h {
	case HoldOpen:
		return "forced_open"
	case HoldClosed:
		return "forced_closed"
	case HoldObserve:
		return "observe"
	case HoldEmergency:
		return "emergency"
	}
	return "none"
}

// passes reports whether the hold lets every call through.
func (h Hold) passes() bool { return h == HoldClosed || h == HoldObserve }

// effective is the state in force over a computed one.
func (h Hold) effective(computed State) State {
	switch {
	case h == HoldOpen:
		return Open
	case h.passes():
		return Closed
	}
	return computed
}

// Settings shape a circuit. [Settings.WithDefaults] fills the figures that are
// zero; settings are comparable.
type Settings struct {
	// FailureThreshold consecutive failures open the circuit when the first of
	// them lies inside Window (5).
	FailureThreshold int `json:"failure_threshold"`
	// WindowMS is how long an outcome counts (60,000).
	WindowMS int `json:"window_ms"`
	// ErrorRatePermille of the last 20 outcomes inside the window opens the
	// circuit once there are MinCalls of them (500).
	ErrorRatePermille int `json:"error_rate_permille"`
	// MinCalls guards the rate (10).
	MinCalls int `json:"min_calls"`
	// OpenForMS is the first open time (30,000); it doubles up to OpenForMaxMS (300,000).
	OpenForMS    int `json:"open_for_ms"`
	OpenForMaxMS int `json:"open_for_max_ms"`
	// HalfOpenPermits probes may run at a time (3).
	HalfOpenPermits int `json:"half_open_permits"`
	// SuccessThreshold successful probes in a row close the circuit (2).
	SuccessThreshold int `json:"success_threshold"`
	// SlowCallMS is the time beyond which a call is slow (0: none is). A stream's
	// time is that to its first content, because the rest is the answer's length.
	SlowCallMS int `json:"slow_call_ms,omitempty"`
	// SlowRatePermille of the last 20 outcomes inside the window being slow opens
	// the circuit like failures do, once there are MinCalls of them, and a slow
	// probe opens it again (R1.1). It goes with SlowCallMS.
	SlowRatePermille int `json:"slow_rate_permille,omitempty"`
	// LeaseMS returns the permit of a probe that never reported (660,000: longer than any request).
	LeaseMS int `json:"lease_ms"`
}

// DefaultSettings are the shipped figures of R1.1.
func DefaultSettings() Settings {
	return Settings{
		FailureThreshold: 5, WindowMS: 60_000, ErrorRatePermille: 500, MinCalls: 10,
		OpenForMS: 30_000, OpenForMaxMS: 300_000, HalfOpenPermits: 3, SuccessThreshold: 2, LeaseMS: 660_000,
	}
}

// ErrSettings marks settings that can't be used.
var ErrSettings = errors.New("unusable circuit settings")

// Check reports the first figure that is out of range.
func (s Settings) Check() error {
	type bound struct {
		name       string
		got, least int
		most       int
	}
	for _, b := range []bound{
		{"failure_threshold", s.FailureThreshold, 1, 1000},
		{"window_ms", s.WindowMS, 1000, 3_600_000},
		{"error_rate_permille", s.ErrorRatePermille, 1, 1000},
		{"min_calls", s.MinCalls, 1, rateOutcomes},
		{"open_for_ms", s.OpenForMS, 100, 3_600_000},
		{"open_for_max_ms", s.OpenForMaxMS, s.OpenForMS, maxMillis},
		{"half_open_permits", s.HalfOpenPermits, 1, maxProbes},
		{"success_threshold", s.SuccessThreshold, 1, 100},
		{"lease_ms", s.LeaseMS, 1000, maxMillis},
		{"slow_call_ms", s.SlowCallMS, 0, maxMillis},
		{"slow_rate_permille", s.SlowRatePermille, min(s.SlowCallMS, 1), 1000},
	} {
		if b.got < b.least || b.got > b.most {
			return fmt.Errorf("%s is %d, not in %d..%d: %w", b.name, b.got, b.least, b.most, ErrSettings)
		}
	}
	if s.SlowCallMS == 0 && s.SlowRatePermille != 0 {
		return fmt.Errorf("slow_rate_permille is %d without slow_call_ms: %w", s.SlowRatePermille, ErrSettings)
	}
	return nil
}

func millis(n int) time.Duration { return time.Duration(n) * time.Millisecond }
