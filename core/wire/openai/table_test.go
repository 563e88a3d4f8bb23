package openai_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/openai"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status    int
		typ, code string
		want      core.Kind
	}{
		{400, "invalid_request_error", "", core.KindInvalidRequest},
		{400, "invalid_request_error", "context_length_exceeded", core.KindContextExceeded},
		{400, "invalid_request_error", "invalid_prompt", core.KindRefusedByModel},
		{400, "", "content_filter", core.KindRefusedByModel},
		{400, "billing_error", "", core.KindBilling},
		{400, "invalid_request_error", "billing_not_active", core.KindBilling},
		{400, "insufficient_quota", "", core.KindQuotaExhausted},
		{401, "invalid_request_error", "invalid_api_key", core.KindAuthProvider},
		{402, "", "", core.KindBilling},
		{403, "", "", core.KindAuthProvider},
		{403, "invalid_request_error", "model_not_found", core.KindNotFound},
		{404, "invalid_request_error", "model_not_found", core.KindNotFound},
		{404, "", "", core.KindNotFound},
		{408, "", "", core.KindServerError},
		{409, "conflict", "", core.KindConflict},
		{413, "invalid_request_error", "", core.KindTooLarge},
		{422, "extra_forbidden", "", core.KindInvalidRequest},
		{429, "tokens", "rate_limit_exceeded", core.KindRateLimited},
		{429, "", "slow_down", core.KindRateLimited},
		{503, "", "slow_down", core.KindOverloaded},
		{429, "insufficient_quota", "insufficient_quota", core.KindQuotaExhausted},
		{429, "", "credit_balance_exhausted", core.KindQuotaExhausted},
		{429, "", "billing_hard_limit_reached", core.KindQuotaExhausted},
		{429, "", "organization_usage_limit_exceeded", core.KindQuotaExhausted},
		{429, "", "", core.KindRateLimited},
		{500, "server_error", "", core.KindServerError},
		{500, "server_error", "server_is_overloaded", core.KindOverloaded},
		{502, "", "", core.KindServerError},
		{503, "server_error", "", core.KindOverloaded},
		{504, "", "timeout", core.KindServerError},
		{301, "", "", core.KindBadResponse},
	} {
		body := fmt.Sprintf(`{"error":{"message":"m","type":%q,"param":null,"code":%q}}`, tc.typ, tc.code)
		e := openai.New().Classify(tc.status, nil, []byte(body), time.Time{})
		if e.Kind != tc.want || e.Status != tc.status || e.Type != tc.typ || e.Code != tc.code {
			t.Errorf("%d %s %s: %+v, want %v", tc.status, tc.typ, tc.code, e, tc.want)
		}
	}
}

func TestClassify_NoMessageDecides(t *testing.T) {
	t.Parallel()
	body := `{"error":{"message":"You exceeded your current quota, credit balance is too low","type":"invalid_request_error"}}`
	if e := openai.New().Classify(400, nil, []byte(body), time.Time{}); e.Kind != core.KindInvalidRequest {
		t.Errorf("%v", e.Kind)
	}
}

func TestClassify_Hint(t *testing.T) {
	t.Parallel()
	e := openai.New().Classify(429, http.Header{"Retry-After-Ms": {"250"}}, []byte(`rate limited`), time.Time{})
	if e.Kind != core.KindRateLimited || e.RetryAfter != 250*time.Millisecond || !e.HintGiven {
		t.Errorf("%+v", e)
	}
}
