package anthropic_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/anthropic"
)

func vendorError(typ, message, code string) string {
	details := ""
	if code != "" {
		details = fmt.Sprintf(`,"details":{"error_code":%q}`, code)
	}
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q%s},"request_id":"req_1"}`, typ, message, details)
}

func TestClassify(t *testing.T) {
	t.Parallel()
	const credit = "Your credit balance is too low to access the Anthropic API."
	for _, tc := range []struct {
		status             int
		typ, message, code string
		want               core.Kind
	}{
		{400, "invalid_request_error", "max_tokens: field required", "", core.KindInvalidRequest},
		{400, "invalid_request_error", credit, "", core.KindBilling},
		{400, "invalid_request_error", "credit balance is too low", "", core.KindBilling},
		{400, "invalid_request_error", "messages.0: " + credit, "", core.KindInvalidRequest}, // a prompt may quote it
		{429, "rate_limit_error", credit, "", core.KindRateLimited},
		{400, "billing_error", "m", "", core.KindBilling},
		{402, "", "m", "", core.KindBilling},
		{400, "invalid_request_error", "m", "enforced_spend_limit_reached", core.KindQuotaExhausted},
		{429, "rate_limit_error", "m", "enforced_spend_limit_reached", core.KindQuotaExhausted},
		{429, "rate_limit_error", "m", "contract_spend_limit_reached", core.KindQuotaExhausted},
		{403, "permission_error", "m", "user_profile_billing_not_authorized", core.KindBilling},
		{400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", "", core.KindContextExceeded},
		{400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 1", "", core.KindContextExceeded},
		{401, "authentication_error", "m", "", core.KindAuthProvider},
		{403, "permission_error", "m", "", core.KindAuthProvider},
		{404, "not_found_error", "model: nope", "", core.KindNotFound},
		{408, "timeout_error", "m", "", core.KindServerError},
		{409, "conflict_error", "m", "", core.KindConflict},
		{413, "request_too_large", "m", "", core.KindTooLarge},
		{413, "invalid_request_error", "m", "request_body_too_large_after_decoding", core.KindTooLarge},
		{422, "", "m", "", core.KindInvalidRequest},
		{429, "rate_limit_error", "m", "", core.KindRateLimited},
		{499, "invalid_request_error", "m", "", core.KindInvalidRequest},
		{500, "api_error", "m", "", core.KindServerError},
		{500, "overloaded_error", "m", "", core.KindOverloaded},
		{501, "invalid_request_error", "m", "", core.KindInvalidRequest},
		{502, "", "m", "", core.KindServerError},
		{503, "api_error", "m", "", core.KindOverloaded},
		{504, "timeout_error", "m", "", core.KindServerError},
		{529, "overloaded_error", "m", "", core.KindOverloaded},
		{302, "", "m", "", core.KindBadResponse},
	} {
		e := anthropic.New().Classify(tc.status, nil, []byte(vendorError(tc.typ, tc.message, tc.code)), time.Time{})
		if e.Kind != tc.want || e.Status != tc.status || e.Type != tc.typ || e.Code != tc.code {
			t.Errorf("%d %s %q %s: %+v, want %v", tc.status, tc.typ, tc.message, tc.code, e, tc.want)
		}
	}
}

func TestClassify_WithoutABody(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]core.Kind{
		400: core.KindInvalidRequest, 401: core.KindAuthProvider, 404: core.KindNotFound, 413: core.KindTooLarge,
		429: core.KindRateLimited, 500: core.KindServerError, 502: core.KindServerError, 529: core.KindOverloaded,
	} {
		for _, body := range []string{"", "<html>502 Bad Gateway</html>", "null", `{"type":"error","error":`} {
			h := http.Header{"Retry-After": {"7"}}
			e := anthropic.New().Classify(status, h, []byte(body), time.Time{})
			if e.Kind != want || e.Message != "" || e.RetryAfter != 7*time.Second {
				t.Errorf("%d with %q: %+v, want %v", status, body, e, want)
			}
		}
	}
}
