package openai

import (
	"net/http"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/classify"
)

// table says what the errors of OpenAI and of compatible servers mean (wire.md
// 2.3 and 3.5, R1.3). Rows that name a status are about answers only; the others
// hold for error events inside streams as well.
var table = []classify.Rule{
	// The account's own trouble, whatever status it comes with: a spent quota
	// is a 429 here, which waiting does not help.
	{Code: "insufficient_quota", Kind: core.KindQuotaExhausted},
	{Type: "insufficient_quota", Kind: core.KindQuotaExhausted},
	{Code: "credit_balance_exhausted", Kind: core.KindQuotaExhausted},
	{Code: "organization_usage_limit_exceeded", Kind: core.KindQuotaExhausted},
	{Code: "billing_hard_limit_reached", Kind: core.KindQuotaExhausted},
	{Code: "billing_not_active", Kind: core.KindBilling},
	{Type: "billing_error", Kind: core.KindBilling},
	{Status: 402, Kind: core.KindBilling},
	{Code: "402", Kind: core.KindBilling},

	{Code: "context_length_exceeded", Kind: core.KindContextExceeded},
	{Code: "model_not_found", Kind: core.KindNotFound},
	{Code: "content_filter", Kind: core.KindRefusedByModel},
	{Code: "content_policy_violation", Kind: core.KindRefusedByModel},
	{Code: "invalid_prompt", Kind: core.KindRefusedByModel},

	{Code: "server_is_overloaded", Kind: core.KindOverloaded},
	{Type: "server_is_overloaded", Kind: core.KindOverloaded},
	{Type: "overloaded_error", Kind: core.KindOverloaded},
	{Status: 503, Kind: core.KindOverloaded},
	{Status: 529, Kind: core.KindOverloaded},
	{Code: "503", Kind: core.KindOverloaded},
	{Code: "529", Kind: core.KindOverloaded},
	{Code: "rate_limit_exceeded", Kind: core.KindRateLimited},
	{Code: "slow_down", Kind: core.KindRateLimited},
	{Type: "rate_limit_error", Kind: core.KindRateLimited},
	{Status: 429, Kind: core.KindRateLimited},
	{Code: "429", Kind: core.KindRateLimited},

	{Code: "invalid_api_key", Kind: core.KindAuthProvider},
	{Type: "authentication_error", Kind: core.KindAuthProvider},
	{Status: 401, Kind: core.KindAuthProvider},
	{Status: 403, Kind: core.KindAuthProvider},

	{Status: 404, Kind: core.KindNotFound},
	{Status: 409, Kind: core.KindConflict},
	{Status: 413, Kind: core.KindTooLarge},

	// A vendor that ran out of its own time may do better at once.
	{Status: 408, Kind: core.KindServerError},
	{Type: "invalid_request_error", Kind: core.KindInvalidRequest},
}

// Classify turns an error answer into a failure, by status, type and code.
func (*Format) Classify(status int, h http.Header, doc []byte, now time.Time) *core.Error {
	return classify.Answer(table, status, h, doc, now)
}
