package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/anthropic"
	"github.com/spillway-llm/spillway/core/wire/wiretest"
)

type errorBody struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	RequestID *string `json:"request_id"`
}

func TestAppendError(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind   core.Kind
		status int // that the request was refused with
		want   int
		typ    string
	}{
		{core.KindInvalidRequest, 0, 400, "invalid_request_error"},
		{core.KindInvalidRequest, 401, 401, "authentication_error"},
		{core.KindInvalidRequest, 403, 403, "permission_error"},
		{core.KindInvalidRequest, 404, 404, "not_found_error"},
		{core.KindInvalidRequest, 405, 405, "invalid_request_error"},
		{core.KindInvalidRequest, 409, 409, "conflict_error"},
		{core.KindInvalidRequest, 413, 413, "request_too_large"},
		{core.KindInvalidRequest, 422, 422, "invalid_request_error"},
		{core.KindNotFound, 404, 404, "not_found_error"},
		{core.KindTooLarge, 413, 413, "request_too_large"},
		{core.KindContextExceeded, 400, 400, "invalid_request_error"},
		{core.KindRateLimited, 429, 429, "rate_limit_error"},
		{core.KindCoolingDown, 0, 429, "rate_limit_error"},
		{core.KindLimitLocal, 0, 429, "rate_limit_error"},
		{core.KindOverloaded, 503, 529, "overloaded_error"},
		{core.KindServerError, 502, 500, "api_error"},
		{core.KindAuthProvider, 401, 503, "api_error"},
		{core.KindBilling, 402, 503, "api_error"},
		{core.KindQuotaExhausted, 429, 503, "api_error"},
		{core.KindTimeoutFirstContent, 0, 504, "timeout_error"},
		{core.KindStreamCut, 0, 502, "api_error"},
		{core.KindBadResponse, 200, 502, "api_error"},
		{core.KindOpenCircuit, 0, 503, "overloaded_error"},
		{core.KindNoTarget, 0, 503, "overloaded_error"},
		{core.KindBudgetEmpty, 0, 503, "overloaded_error"},
		{core.KindNotPortable, 0, 400, "invalid_request_error"},
		{core.KindCount, 0, 500, "api_error"},
	} {
		body, status := anthropic.New().AppendError(nil, &core.Error{Kind: tc.kind, Status: tc.status}, "dec_1")
		var got errorBody
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%v: %s: %v", tc.kind, body, err)
		}
		if status != tc.want || got.Type != "error" || got.Error.Type != tc.typ || got.Error.Message == "" || *got.RequestID != "dec_1" {
			t.Errorf("%v refused with %d: %d %s, want %d %s", tc.kind, tc.status, status, body, tc.want, tc.typ)
		}
	}
}

// Which of the gateway's own limits refused is the one thing that the format has
// no word for.
func TestAppendError_NamesTheLimit(t *testing.T) {
	t.Parallel()
	for kind, want := range map[core.Kind]string{core.KindLimitLocal: "spend_per_day", core.KindRateLimited: ""} {
		body, status := anthropic.New().AppendError(nil, &core.Error{Kind: kind, Code: "spend_per_day"}, "dec_1")
		var got struct {
			Error struct{ Type, Code string } `json:"error"`
		}
		if err := json.Unmarshal(body, &got); err != nil || status != 429 || got.Error.Type != "rate_limit_error" || got.Error.Code != want {
			t.Errorf("%v: %d %s, %v", kind, status, body, err)
		}
	}
}

func TestAppendError_EveryKindHasAnAnswer(t *testing.T) {
	t.Parallel()
	for k := core.KindNone + 1; k < core.KindCount; k++ {
		body, status := anthropic.New().AppendError(nil, &core.Error{Kind: k}, "")
		if status < 400 || status == 401 || status == 403 || strings.Contains(string(body), `"type":""`) {
			t.Errorf("%v: %d %s", k, status, body)
		}
	}
}

func TestAppendErrorEvent(t *testing.T) {
	t.Parallel()
	e := &core.Error{Kind: core.KindStreamCut, Message: "cut \"here\"\n", Tried: []string{"a: stream_cut"}}
	raw := string(anthropic.New().AppendErrorEvent([]byte("data: x\n\n"), e, ""))
	events := wiretest.Events(t, raw)
	want := `{"type":"error","error":{"type":"api_error","message":"cut \"here\". Tried: a: stream_cut."},"request_id":null}`
	if len(events) != 2 || string(events[1].Name) != "error" || string(events[1].Data) != want || !events[1].Canonical {
		t.Errorf("got %q", raw)
	}
	f := anthropic.New().NewFollower()
	f.Follow(&events[1])
	if err := f.Err(); err == nil || err.Kind != core.KindStreamError {
		t.Errorf("our own event reads back as %v", err)
	}
}

func TestAppendPing(t *testing.T) {
	t.Parallel()
	events := wiretest.Events(t, string(anthropic.New().AppendPing(nil)))
	if len(events) != 1 || string(events[0].Name) != "ping" || string(events[0].Data) != `{"type": "ping"}` {
		t.Errorf("got %+v", events)
	}
}
