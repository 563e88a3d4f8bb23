package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/openai"
	"github.com/spillway-llm/spillway/core/wire/wiretest"
)

type errorBody struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
}

func TestAppendError(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind      core.Kind
		status    int // that the request was refused with
		code      string
		want      int
		typ, says string
	}{
		{core.KindInvalidRequest, 0, "", 400, "invalid_request_error", ""},
		{core.KindInvalidRequest, 400, "unsupported_parameter", 400, "invalid_request_error", "unsupported_parameter"},
		{core.KindInvalidRequest, 401, "", 401, "invalid_request_error", "invalid_api_key"},
		{core.KindInvalidRequest, 403, "", 403, "invalid_request_error", "permission_denied"},
		{core.KindInvalidRequest, 404, "", 404, "invalid_request_error", "unknown_url"},
		{core.KindInvalidRequest, 405, "", 405, "invalid_request_error", "method_not_allowed"},
		{core.KindInvalidRequest, 422, "", 422, "invalid_request_error", ""},
		{core.KindNotFound, 404, "", 404, "invalid_request_error", "model_not_found"},
		{core.KindTooLarge, 413, "", 413, "invalid_request_error", "request_too_large"},
		{core.KindContextExceeded, 400, "", 400, "invalid_request_error", "context_length_exceeded"},
		{core.KindRateLimited, 429, "slow_down", 429, "rate_limit_exceeded", "rate_limit_exceeded"},
		{core.KindCoolingDown, 0, "", 429, "rate_limit_exceeded", "rate_limit_exceeded"},
		{core.KindOverloaded, 529, "", 503, "server_error", "server_is_overloaded"},
		{core.KindServerError, 500, "", 500, "server_error", ""},
		{core.KindAuthProvider, 401, "invalid_api_key", 503, "server_error", "provider_auth"},
		{core.KindQuotaExhausted, 429, "insufficient_quota", 503, "server_error", "provider_quota_exhausted"},
		{core.KindTimeoutWhole, 0, "", 504, "server_error", "timeout"},
		{core.KindStreamCut, 0, "", 502, "server_error", "stream_cut"},
		{core.KindNoTarget, 0, "", 503, "server_error", "server_is_overloaded"},
		{core.KindNotPortable, 0, "", 400, "invalid_request_error", "not_portable"},
		{core.KindCount, 0, "", 500, "server_error", ""},
	} {
		body, status := openai.New().AppendError(nil, &core.Error{Kind: tc.kind, Status: tc.status, Code: tc.code}, "dec_1")
		var got errorBody
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%v: %s: %v", tc.kind, body, err)
		}
		code := ""
		if got.Error.Code != nil {
			code = *got.Error.Code
		}
		if status != tc.want || got.Error.Type != tc.typ || code != tc.says || got.Error.Message == "" || got.Error.Param != nil {
			t.Errorf("%v refused with %d: %d %s, want %d %s %q", tc.kind, tc.status, status, body, tc.want, tc.typ, tc.says)
		}
	}
}

func TestAppendError_NamesTheLimit(t *testing.T) {
	t.Parallel()
	for kind, want := range map[core.Kind]string{core.KindLimitLocal: "spend_per_day", core.KindRateLimited: "rate_limit_exceeded"} {
		body, status := openai.New().AppendError(nil, &core.Error{Kind: kind, Code: "spend_per_day"}, "")
		var got struct {
			Error struct{ Type, Code string } `json:"error"`
		}
		if err := json.Unmarshal(body, &got); err != nil || status != 429 || got.Error.Type != "rate_limit_exceeded" || got.Error.Code != want {
			t.Errorf("%v: %d %s, %v", kind, status, body, err)
		}
	}
}

func TestAppendError_EveryKindHasAnAnswer(t *testing.T) {
	t.Parallel()
	for k := core.KindNone + 1; k < core.KindCount; k++ {
		body, status := openai.New().AppendError(nil, &core.Error{Kind: k}, "")
		if status < 400 || status == 401 || status == 403 || strings.Contains(string(body), `"type":""`) {
			t.Errorf("%v: %d %s", k, status, body)
		}
	}
}

func TestAppendErrorEvent(t *testing.T) {
	t.Parallel()
	e := &core.Error{Kind: core.KindOverloaded, Message: "busy\n\ndata: [DONE]"}
	raw := string(openai.New().AppendErrorEvent(nil, e, ""))
	events := wiretest.Events(t, raw)
	want := `{"error":{"message":"busy\n\ndata: [DONE]","type":"server_error","param":null,"code":"server_is_overloaded"}}`
	if len(events) != 1 || string(events[0].Data) != want || len(events[0].Name) != 0 {
		t.Errorf("got %q", raw)
	}
	f := openai.New().NewFollower()
	f.Follow(&events[0])
	if err := f.Err(); err == nil || err.Kind != core.KindOverloaded {
		t.Errorf("our own event reads back as %v", err)
	}
}

func TestAppendPing(t *testing.T) {
	t.Parallel()
	raw := string(openai.New().AppendPing(nil))
	if raw != ": ping\n\n" || len(wiretest.Events(t, raw)) != 0 {
		t.Errorf("got %q", raw)
	}
}
