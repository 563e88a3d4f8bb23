package core

import (
	"errors"
	"fmt"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
)

// Kind is why an attempt or a request did not succeed. The list is closed:
// circuits, budgets, reactions and reports read the kind and never a message.
type Kind uint8

// The failure kinds. The zero value, KindNone, is success.
const (
	// KindNone is success: there is nothing to react to.
	KindNone Kind = iota
	// KindConnect is a refused, reset or unresolvable connection before an answer: another node or target may work at once.
	KindConnect
	// KindTimeoutConnect is a connection that was not made in time.
	KindTimeoutConnect
	// KindTimeoutFirstContent is an answer whose first content did not come in time (R3.1).
	KindTimeoutFirstContent
	// KindTimeoutIdle is a stream that fell silent for longer than its idle limit.
	KindTimeoutIdle
	// KindTimeoutWhole is the end of the time that the whole request has.
	KindTimeoutWhole
	// KindRateLimited is a 429: a cooldown of the quota group and key, never a circuit's evidence (R1.4).
	KindRateLimited
	// KindQuotaExhausted is a spent allowance: waiting does not help, another account may.
	KindQuotaExhausted
	// KindBilling is an account without credit, whatever status it came with (R1.3).
	KindBilling
	// KindOverloaded is the vendor's word for "too busy" (529, 503 or an error event).
	KindOverloaded
	// KindServerError is any other 5xx.
	KindServerError
	// KindConflict is a 409: retryable once the vendor's lock is gone.
	KindConflict
	// KindStreamCut is a stream that ended without its end marker.
	KindStreamCut
	// KindStreamError is an error event inside a 200 stream.
	KindStreamError
	// KindBadResponse is an answer that is not what the format promises.
	KindBadResponse
	// KindInvalidRequest is the caller's mistake: repeating or rerouting it can't help.
	KindInvalidRequest
	// KindContextExceeded is a prompt longer than the model's window.
	KindContextExceeded
	// KindTooLarge is a body over the vendor's or the gateway's size limit.
	KindTooLarge
	// KindAuthProvider is a refused provider key: the operator's trouble, not the caller's.
	KindAuthProvider
	// KindNotFound is a model or path that the vendor does not know.
	KindNotFound
	// KindRefusedByModel is a model's own refusal to answer.
	KindRefusedByModel
	// KindNotPortable is a request that can't be put in the target's form without loss.
	KindNotPortable
	// KindCallerGone is a caller that left before the answer was whole.
	KindCallerGone
	// KindOpenCircuit is a step skipped because its circuit is open.
	KindOpenCircuit
	// KindCoolingDown is a step skipped because every key of its quota group cools down.
	KindCoolingDown
	// KindLimitLocal is a refusal by one of Spillway's own limits.
	KindLimitLocal
	// KindBudgetEmpty is a retry that the retry budget did not allow (R5.1).
	KindBudgetEmpty
	// KindNoTarget is a request for which no target is left.
	KindNoTarget

	// KindCount is the number of kinds, for tables indexed by Kind.
	KindCount
)

var kindNames = [KindCount]string{
	"none", "connect", "timeout_connect", "timeout_first_content", "timeout_idle", "timeout_whole",
	"rate_limited", "quota_exhausted", "billing", "overloaded", "server_error", "conflict", "stream_cut",
	"stream_error", "bad_response", "invalid_request", "context_exceeded", "too_large", "auth_provider",
	"not_found", "refused_by_model", "not_portable", "caller_gone", "open_circuit", "cooling_down",
	"limit_local", "budget_empty", "no_target",
}

// String returns the kind's name in policies, audit and console.
func (k Kind) String() string {
	if k >= KindCount {
		return "unknown"
	}
	return kindNames[k]
}

// MarshalText writes the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a kind's name and refuses any other word.
func (k *Kind) UnmarshalText(b []byte) error {
	for i, name := range kindNames {
		if name == string(b) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("read failure kind: %q is not one", b)
}

// Outcome is what the kind tells a circuit (R1.3). A 429 and the account's
// troubles say nothing about the target's health; the caller's mistakes prove
// that the transport works.
func (k Kind) Outcome() circuit.Outcome {
	switch k {
	case KindNone:
		return circuit.Success
	case KindConnect, KindTimeoutConnect, KindTimeoutFirstContent, KindTimeoutIdle, KindOverloaded,
		KindServerError, KindStreamCut, KindStreamError, KindBadResponse:
		return circuit.Failure
	case KindInvalidRequest, KindContextExceeded, KindTooLarge, KindNotFound, KindRefusedByModel:
		return circuit.Answered
	default:
		return circuit.Neutral
	}
}

// AccountFault reports whether the kind takes the provider key out of service
// until an operator acts: a refused key, no credit, or a spent quota.
func (k Kind) AccountFault() bool {
	return k == KindAuthProvider || k == KindBilling || k == KindQuotaExhausted
}

// CallerFault reports whether the caller's own request is the reason, so that
// no other target is tried and the vendor's answer is passed on.
func (k Kind) CallerFault() bool {
	return k == KindInvalidRequest || k == KindContextExceeded || k == KindTooLarge || k == KindNotFound
}

// Error is the failure of an attempt or a request.
type Error struct {
	// Op is what was being done, for example "attempt claude-opus-5-5".
	Op string
	// Kind is the closed reason; never KindNone.
	Kind Kind
	// Status is the vendor's HTTP status, 0 when there was none.
	Status int
	// Type and Code are the vendor's own words for the error, from its closed lists; "" when absent.
	Type, Code string
	// Message is the vendor's text for the caller. It may quote the prompt, so
	// it is never logged nor recorded.
	Message string
	// RetryAfter is the hint to wait, 0 without one.
	RetryAfter time.Duration
	// HintGiven reports that the vendor gave a hint, even one of 0.
	HintGiven bool
	// NoRetry rules out a repetition on the same target: the vendor said so, or
	// an error event inside a stream did (R6.5). The next step is still tried.
	NoRetry bool
	// Spent reports that Spillway made its own retries, or was refused them by
	// their budget, so that the caller's layer must not retry on top (R4.5).
	Spent bool
	// Tried lists the earlier attempts and skipped steps of an exhausted request (R3.3), in order.
	Tried []string
	// Err is the cause, for errors.Is and logs.
	Err error
}

// Error describes the failure without the vendor's message.
func (e *Error) Error() string {
	s := e.Op + ": " + e.Kind.String()
	if e.Status != 0 {
		s += fmt.Sprintf(" (status %d)", e.Status)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of err: KindNone for nil, the kind of the first
// [*Error] in its chain, otherwise KindServerError, because an error that
// nobody classified must not pass for a success.
func KindOf(err error) Kind {
	if err == nil {
		return KindNone
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindServerError
}
