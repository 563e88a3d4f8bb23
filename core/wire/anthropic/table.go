package anthropic

import (
	"net/http"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/classify"
)

// table says what Anthropic's errors mean (wire.md 1.8, R1.3). Codes are the
// documented values of error.details.error_code. Rows that name a status are
// about answers only; the others hold for error events inside streams as well.
var table = []classify.Rule{
	// The account's own trouble, whatever status it comes with.
	{Type: "billing_error", Kind: core.KindBilling},
	{Status: 402, Kind: core.KindBilling},
	{Code: "linked_organization_billing_unavailable", Kind: core.KindBilling},
	{Code: "user_profile_billing_not_authorized", Kind: core.KindBilling},
	{Code: "enforced_spend_limit_reached", Kind: core.KindQuotaExhausted},
	{Code: "contract_spend_limit_reached", Kind: core.KindQuotaExhausted},
	{Code: "linked_organization_spend_limit_reached", Kind: core.KindQuotaExhausted},

	// Messages that are the only sign: an account without credit and a prompt
	// over the window are plain invalid_request_errors otherwise.
	{Status: 400, Type: "invalid_request_error", Prefix: "Your credit balance is too low", Kind: core.KindBilling},
	{Status: 400, Type: "invalid_request_error", Prefix: "credit balance is too low", Kind: core.KindBilling},
	{Status: 400, Type: "invalid_request_error", Prefix: "prompt is too long", Kind: core.KindContextExceeded},
	{Status: 400, Type: "invalid_request_error", Prefix: "input length and `max_tokens` exceed context limit", Kind: core.KindContextExceeded},

	{Type: "request_too_large", Kind: core.KindTooLarge},
	{Code: "request_body_too_large_after_decoding", Kind: core.KindTooLarge},
	{Status: 413, Kind: core.KindTooLarge},

	{Type: "overloaded_error", Kind: core.KindOverloaded},
	{Status: 529, Kind: core.KindOverloaded},
	{Status: 503, Kind: core.KindOverloaded},
	{Type: "rate_limit_error", Kind: core.KindRateLimited},
	{Status: 429, Kind: core.KindRateLimited},

	{Type: "authentication_error", Kind: core.KindAuthProvider},
	{Type: "permission_error", Kind: core.KindAuthProvider},
	{Status: 401, Kind: core.KindAuthProvider},
	{Status: 403, Kind: core.KindAuthProvider},

	{Type: "not_found_error", Kind: core.KindNotFound},
	{Status: 404, Kind: core.KindNotFound},
	{Type: "conflict_error", Kind: core.KindConflict},
	{Status: 409, Kind: core.KindConflict},

	// A vendor that ran out of its own time may do better at once.
	{Status: 408, Kind: core.KindServerError},
	{Type: "invalid_request_error", Kind: core.KindInvalidRequest},
}

// Classify turns an error answer into a failure, by status, type and code.
func (*Format) Classify(status int, h http.Header, doc []byte, now time.Time) *core.Error {
	return classify.Answer(table, status, h, doc, now)
}
