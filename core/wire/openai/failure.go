package openai

import (
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/reply"
)

// answer is how a failure looks to a caller of this format.
type answer struct {
	status    int
	typ, code string
}

// answers has a row for every kind (wire.md 3.5). What is wrong with a
// provider's account is never a 401 or 403: the caller's key is fine.
var answers = [core.KindCount]answer{
	core.KindNone:                {500, "server_error", ""},
	core.KindConnect:             {502, "server_error", ""},
	core.KindTimeoutConnect:      {504, "server_error", "timeout"},
	core.KindTimeoutFirstContent: {504, "server_error", "timeout"},
	core.KindTimeoutIdle:         {504, "server_error", "timeout"},
	core.KindTimeoutWhole:        {504, "server_error", "timeout"},
	core.KindRateLimited:         {429, "rate_limit_exceeded", "rate_limit_exceeded"},
	core.KindQuotaExhausted:      {503, "server_error", "provider_quota_exhausted"},
	core.KindBilling:             {503, "server_error", "provider_billing"},
	core.KindOverloaded:          {503, "server_error", "server_is_overloaded"},
	core.KindServerError:         {500, "server_error", ""},
	core.KindConflict:            {409, "conflict", ""},
	core.KindStreamCut:           {502, "server_error", "stream_cut"},
	core.KindStreamError:         {502, "server_error", "stream_error"},
	core.KindBadResponse:         {502, "server_error", "bad_response"},
	core.KindInvalidRequest:      {400, "invalid_request_error", ""},
	core.KindContextExceeded:     {400, "invalid_request_error", "context_length_exceeded"},
	core.KindTooLarge:            {413, "invalid_request_error", "request_too_large"},
	core.KindAuthProvider:        {503, "server_error", "provider_auth"},
	core.KindNotFound:            {404, "invalid_request_error", "model_not_found"},
	core.KindRefusedByModel:      {400, "invalid_request_error", "content_policy_violation"},
	core.KindNotPortable:         {400, "invalid_request_error", "not_portable"},
	core.KindCallerGone:          {499, "invalid_request_error", "caller_gone"},
	core.KindOpenCircuit:         {503, "server_error", "server_is_overloaded"},
	core.KindCoolingDown:         {429, "rate_limit_exceeded", "rate_limit_exceeded"},
	core.KindLimitLocal:          {429, "rate_limit_exceeded", "rate_limit_exceeded"},
	core.KindBudgetEmpty:         {503, "server_error", "server_is_overloaded"},
	core.KindNoTarget:            {503, "server_error", "server_is_overloaded"},
}

// look returns how e looks. The code of the caller's own mistake, and of a limit
// of the gateway's own, is the one that it was refused with, if any.
func look(e *core.Error) answer {
	a := answers[core.KindNone]
	if e.Kind < core.KindCount {
		a = answers[e.Kind]
	}
	if status := reply.Status(e, a.status); status != a.status {
		a = answer{status, "invalid_request_error", refusal(status)}
	}
	if (e.Kind.CallerFault() || e.Kind == core.KindLimitLocal) && e.Code != "" {
		a.code = e.Code
	}
	return a
}

// refusal is the code that goes with a 4xx status.
func refusal(status int) string {
	switch status {
	case 401:
		return "invalid_api_key"
	case 403:
		return "permission_denied"
	case 404:
		return "unknown_url"
	case 405:
		return "method_not_allowed"
	default:
		return ""
	}
}

// AppendError appends the error body for e and returns its status.
func (*Format) AppendError(dst []byte, e *core.Error, _ string) ([]byte, int) {
	a := look(e)
	return appendBody(dst, a, e), a.status
}

// AppendErrorEvent appends the error event that ends a stream: after it no
// [DONE] may come.
func (*Format) AppendErrorEvent(dst []byte, e *core.Error, _ string) []byte {
	dst = append(dst, "data: "...)
	dst = appendBody(dst, look(e), e)
	return append(dst, "\n\n"...)
}

func appendBody(dst []byte, a answer, e *core.Error) []byte {
	dst = append(dst, `{"error":{"message":`...)
	dst = quote.Append(dst, reply.Text(e))
	dst = append(dst, `,"type":`...)
	dst = quote.Append(dst, a.typ)
	dst = append(dst, `,"param":null,"code":`...)
	if a.code == "" {
		dst = append(dst, "null"...)
	} else {
		dst = quote.Append(dst, a.code)
	}
	return append(dst, "}}"...)
}
