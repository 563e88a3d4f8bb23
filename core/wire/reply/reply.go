// Package reply says in plain words why a request failed and what to do.
package reply

import (
	"strings"

	"github.com/spillway-llm/spillway/core"
)

// Status is the HTTP status for e, given the one that its kind usually has. A
// caller's own mistake keeps the 4xx that it was refused with, so that a wrong
// key is a 401 and a wrong method a 405; the vendor's opinion of a provider key
// never reaches the caller as one (wire.md 3.5).
func Status(e *core.Error, usual int) int {
	if e.Kind.CallerFault() && e.Status >= 400 && e.Status <= 499 {
		return e.Status
	}
	return usual
}

// Text is the message for the caller: the vendor's or the gateway's own words
// if there are any, otherwise a sentence about the kind; and each step that was
// tried (R3.3).
func Text(e *core.Error) string {
	text := e.Message
	if text == "" {
		text = sentence(e.Kind)
	}
	if len(e.Tried) == 0 {
		return text
	}
	if text = strings.TrimSpace(text); !strings.ContainsAny(text[len(text)-1:], ".!?") {
		text += "."
	}
	return text + " Tried: " + strings.Join(e.Tried, "; ") + "."
}

// sentences say what happened and what the caller can do.
var sentences = [core.KindCount]string{
	core.KindConnect:             "No connection to the model's provider could be made. Try again shortly.",
	core.KindTimeoutConnect:      "The connection to the model's provider took too long. Try again shortly.",
	core.KindTimeoutFirstContent: "The model did not start to answer in time. Try again, or allow a longer latency budget.",
	core.KindTimeoutIdle:         "The model fell silent in the middle of its answer. Send the request again.",
	core.KindTimeoutWhole:        "The request ran out of time. Ask for a shorter answer, or send it again.",
	core.KindRateLimited:         "The provider's rate limit is reached. Wait as long as Retry-After says, then try again.",
	core.KindQuotaExhausted:      "The provider account's quota is used up. The operator must raise it or add another account.",
	core.KindBilling:             "The provider account has no credit. The operator must settle it or add another account.",
	core.KindOverloaded:          "The provider is overloaded. Try again shortly.",
	core.KindServerError:         "The provider failed to process the request. Try again shortly.",
	core.KindConflict:            "The provider is still busy with a conflicting request. Try again shortly.",
	core.KindStreamCut:           "The provider's answer was cut off before its end. Send the request again.",
	core.KindStreamError:         "The provider reported an error in the middle of its answer. Send the request again.",
	core.KindBadResponse:         "The provider's answer was not valid. Try again shortly.",
	core.KindInvalidRequest:      "The request is not valid. Correct it before sending it again.",
	core.KindContextExceeded:     "The prompt is longer than the model's context window. Shorten it, or ask for a model with a larger one.",
	core.KindTooLarge:            "The request body is too large. Send a smaller one.",
	core.KindAuthProvider:        "The provider refused the gateway's own credentials. The operator must renew them; your key is fine.",
	core.KindNotFound:            "The model or path does not exist. GET /v1/models lists what does.",
	core.KindRefusedByModel:      "The model's provider declined this request under its usage policy. Change the prompt before sending it again.",
	core.KindNotPortable:         "The request uses features that no available model of another vendor can take over. Try again when the usual model is back.",
	core.KindCallerGone:          "The request was cancelled by its caller.",
	core.KindOpenCircuit:         "The model is taken out of service for a moment after repeated failures. Try again shortly.",
	core.KindCoolingDown:         "The provider's rate limit is cooling down. Wait as long as Retry-After says, then try again.",
	core.KindLimitLocal:          "A limit of this gateway is reached. Wait as long as Retry-After says, then try again.",
	core.KindBudgetEmpty:         "The request failed, and too many retries are under way for another one. Try again later.",
	core.KindNoTarget:            "No model is available for this request right now. Try again shortly, or ask for fewer features.",
}

func sentence(k core.Kind) string {
	if k < core.KindCount && sentences[k] != "" {
		return sentences[k]
	}
	return "The request failed for an unknown reason. Send it again."
}
