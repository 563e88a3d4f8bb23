package limit

import (
	"fmt"
	"time"
)

// Rule names the limit that refused (R13.1).
type Rule uint8

// The rules. The zero value is none.
const (
	RuleNone Rule = iota
	// RuleConcurrency bounds the attempts at once.
	RuleConcurrency
	// RuleRequests bounds the requests a minute.
	RuleRequests
	// RuleInputTokens bounds the input tokens a minute.
	RuleInputTokens
	// RuleOutputTokens bounds the output tokens a minute.
	RuleOutputTokens
	// RuleTokens bounds the input and output tokens a minute together.
	RuleTokens
	// RuleSpendDay bounds the money of a UTC day.
	RuleSpendDay
	// RuleSpendMonth bounds the money of a UTC calendar month.
	RuleSpendMonth
	// RulePriceUnknown refuses what has no price where a spend cap applies.
	RulePriceUnknown
)

// String returns the rule's name in errors, audit and console.
func (r Rule) String() string {
	switch r {
	case RuleNone:
		return "none"
	case RuleConcurrency:
		return "concurrency"
	case RuleRequests:
		return "requests_per_minute"
	case RuleInputTokens:
		return "input_tokens_per_minute"
	case RuleOutputTokens:
		return "output_tokens_per_minute"
	case RuleTokens:
		return "tokens_per_minute"
	case RuleSpendDay:
		return "spend_per_day"
	case RuleSpendMonth:
		return "spend_per_month"
	case RulePriceUnknown:
		return "price_unknown"
	}
	return "unknown"
}

// money reports whether the rule counts picodollars.
func (r Rule) money() bool { return r == RuleSpendDay || r == RuleSpendMonth }

// Scope says whose limit refused.
type Scope uint8

// The scopes. A limit that is asked by itself, outside a [Set], has none.
const (
	ScopeNone Scope = iota
	// ScopeKey is the caller's key.
	ScopeKey
	// ScopeUseCase is the use case.
	ScopeUseCase
	// ScopeGroup is the target's quota group.
	ScopeGroup
	// ScopeTarget is the target.
	ScopeTarget
)

// String returns the scope's name in errors, audit and console.
func (s Scope) String() string {
	switch s {
	case ScopeNone:
		return "none"
	case ScopeKey:
		return "key"
	case ScopeUseCase:
		return "use_case"
	case ScopeGroup:
		return "quota_group"
	case ScopeTarget:
		return "target"
	}
	return "unknown"
}

// Refusal says which limit stands in the way, by how much and for how long. The
// zero value is no refusal.
type Refusal struct {
	Rule  Rule
	Scope Scope
	// Asked, Left and Cap are in the rule's unit: attempts, requests, tokens, or
	// picodollars. Left is never negative.
	Asked, Left, Cap int64
	// RetryAfter is when to come back: the time until the limit allows as much if
	// nobody else asks, or by the measured drain rate for concurrency. 0 with Never.
	RetryAfter time.Duration
	// Never tells that waiting doesn't help: more was asked for than the limit
	// ever allows, or the price is unknown.
	Never bool
	// Shed tells that the request had a place in the queue and lost it to a higher
	// priority (R13.3).
	Shed bool
}

// Refused reports whether there is a refusal.
func (r Refusal) Refused() bool { return r.Rule != RuleNone }

// Over is by how much the request exceeds what is left.
func (r Refusal) Over() int64 { return max(0, r.Asked-r.Left) }

// picoPerUSD is one dollar.
const picoPerUSD = 1e12

// String tells the refusal in one line, without anything a caller wrote.
func (r Refusal) String() string {
	if !r.Refused() {
		return "admitted"
	}
	name := r.Rule.String()
	if r.Scope != ScopeNone {
		name = r.Scope.String() + " " + name
	}
	switch {
	case r.Rule == RulePriceUnknown:
		name += ": a spend cap applies and the cost can't be estimated"
	case r.Rule.money():
		name += fmt.Sprintf(": $%g asked, $%g of $%g left",
			float64(r.Asked)/picoPerUSD, float64(r.Left)/picoPerUSD, float64(r.Cap)/picoPerUSD)
	default:
		name += fmt.Sprintf(": %d asked, %d of %d left", r.Asked, r.Left, r.Cap)
	}
	if r.Never {
		return name + ", never possible"
	}
	return name + fmt.Sprintf(", %d s left", (r.RetryAfter+time.Second-1)/time.Second)
}

// before reports whether r is the one to tell of two refusals: what never goes
// away, else what lasts longer. Concurrency comes last, because a caller may
// wait for that one in its queue, and must not wait in vain.
func (r Refusal) before(o Refusal) bool {
	switch {
	case !o.Refused() || !r.Refused():
		return r.Refused()
	case r.Never != o.Never:
		return r.Never
	case (r.Rule == RuleConcurrency) != (o.Rule == RuleConcurrency):
		return o.Rule == RuleConcurrency
	}
	return r.RetryAfter > o.RetryAfter
}

// and joins two refusals: the one to tell, with the longer wait of both.
func (r Refusal) and(o Refusal) Refusal {
	told := r
	if o.before(r) {
		told = o
	}
	if !told.Never {
		told.RetryAfter = max(r.RetryAfter, o.RetryAfter)
	}
	return told
}
