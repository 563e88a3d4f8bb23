package core

import (
	"fmt"
	"time"

	"github.com/spillway-llm/spillway/core/limit"
)

// ruleOutputCap is the code of a request that asks for more output than its
// key or use case allows.
const ruleOutputCap = "max_output_tokens"

// limitName names a limit by scope and rule, for the record.
func limitName(no limit.Refusal) string { return no.Scope.String() + " " + no.Rule.String() }

// limited is the error of a request that one of Spillway's own limits refuses.
// Its code is the rule's name.
func (f *flight) limited(no limit.Refusal) *Error {
	f.d.Limit = limitName(no)
	return &Error{
		Op: "run request", Kind: KindLimitLocal, Type: no.Scope.String(), Code: no.Rule.String(),
		Message: limitText(no), RetryAfter: no.RetryAfter, HintGiven: no.RetryAfter > 0, NoRetry: no.Never,
	}
}

// outputCap refuses a request for more output than allowed, and one that does
// not say how much it wants. Figures are compared at the two digits of facts.
func (f *flight) outputCap(scope limit.Scope, most int) *Error {
	asked := f.d.Facts.MaxTokens
	if most == 0 || asked > 0 && asked <= RoundUp2(most) {
		return nil
	}
	f.d.Limit = scope.String() + " " + ruleOutputCap
	text := fmt.Sprintf("%s allows at most %d output tokens a request", ownerText(scope), most)
	if asked == 0 {
		text += ", and the request does not say how many it wants: set max_tokens (max_completion_tokens in newer OpenAI clients)"
	} else {
		text += fmt.Sprintf(", and the request asks for about %d: ask for fewer, or ask the operator to raise the limit", asked)
	}
	return &Error{Op: "run request", Kind: KindInvalidRequest, Type: scope.String(), Code: ruleOutputCap, Message: text}
}

// limitText tells a caller which limit refused, whose it is, and what helps. It
// names no target: which one it would have been is not everybody's business.
func limitText(no limit.Refusal) string {
	switch no.Rule {
	case limit.RulePriceUnknown:
		return "A spend cap applies to " + ownerText(no.Scope) + " and the model has no price, so that its cost can't be held to the cap. " +
			"Ask for a model with a price, or ask the operator to give the target a price or the cap a fallback price."
	case limit.RuleSpendDay, limit.RuleSpendMonth:
		return limitSentence(no, func(pico int64) string { return fmt.Sprintf("$%g", float64(pico)/1e12) })
	default:
		return limitSentence(no, func(n int64) string { return fmt.Sprint(n) })
	}
}

func limitSentence(no limit.Refusal, figure func(int64) string) string {
	name := no.Rule.String()
	if no.Never {
		return fmt.Sprintf("The request asks for %s, more than the limit %s of %s ever allows: %s. "+
			"Ask for less, for example with a smaller max_tokens, or ask the operator to raise the limit.",
			figure(no.Asked), name, ownerText(no.Scope), figure(no.Cap))
	}
	return fmt.Sprintf("The limit %s of %s is reached: %s asked, %s of %s left. Try again in %s, or ask the operator to raise the limit.",
		name, ownerText(no.Scope), figure(no.Asked), figure(no.Left), figure(no.Cap), waitText(no.RetryAfter))
}

// ownerText is whose limit it is, in words.
func ownerText(s limit.Scope) string {
	switch s {
	case limit.ScopeKey:
		return "this key"
	case limit.ScopeUseCase:
		return "this use case"
	case limit.ScopeGroup:
		return "the model's quota group"
	default:
		return "the model"
	}
}

// waitText rounds a wait up to what people read.
func waitText(d time.Duration) string {
	up := func(unit time.Duration) int64 { return int64((d + unit - 1) / unit) }
	switch {
	case d <= 2*time.Minute:
		return fmt.Sprintf("%d s", up(time.Second))
	case d <= 2*time.Hour:
		return fmt.Sprintf("%d min", up(time.Minute))
	default:
		return fmt.Sprintf("%d h", up(time.Hour))
	}
}
