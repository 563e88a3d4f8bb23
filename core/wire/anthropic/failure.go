package anthropic

import (
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/reply"
)

// answer is how a failure looks to a caller of this format.
type answer struct {
	status int
	typ    string
}

// answers has a row for every kind (wire.md 1.8 and 3.5). What is wrong with a
// provider's account is never a 401 or 403: the caller's key is fine.
var answers = [core.KindCount]answer{
	core.KindNone:                {500, "api_error"},
	core.KindConnect:             {502, "api_error"},
	core.KindTimeoutConnect:      {504, "timeout_error"},
	core.KindTimeoutFirstContent: {504, "timeout_error"},
	core.KindTimeoutIdle:         {504, "timeout_error"},
	core.KindTimeoutWhole:        {504, "timeout_error"},
	core.KindRateLimited:         {429, "rate_limit_error"},
	core.KindQuotaExhausted:      {503, "api_error"},
	core.KindBilling:             {503, "api_error"},
	core.KindOverloaded:          {529, "overloaded_error"},
	core.KindServerError:         {500, "api_error"},
	core.KindConflict:            {409, "conflict_error"},
	core.KindStreamCut:           {502, "api_error"},
	core.KindStreamError:         {502, "api_error"},
	core.KindBadResponse:         {502, "api_error"},
	core.KindInvalidRequest:      {400, "invalid_request_error"},
	core.KindContextExceeded:     {400, "invalid_request_error"},
	core.KindTooLarge:            {413, "request_too_large"},
	core.KindAuthProvider:        {503, "api_error"},
	core.KindNotFound:            {404, "not_found_error"},
	core.KindRefusedByModel:      {400, "invalid_request_error"},
	core.KindNotPortable:         {400, "invalid_request_error"},
	core.KindCallerGone:          {499, "invalid_request_error"},
	core.KindOpenCircuit:         {503, "overloaded_error"},
	core.KindCoolingDown:         {429, "rate_limit_error"},
	core.KindLimitLocal:          {429, "rate_limit_error"},
	core.KindBudgetEmpty:         {503, "overloaded_error"},
	core.KindNoTarget:            {503, "overloaded_error"},
}

// look returns status and type for e. A mistake of the caller's own has the
// type of the status that it was refused with.
func look(e *core.Error) (status int, typ string) {
	a := answers[core.KindNone]
	if e.Kind < core.KindCount {
		a = answers[e.Kind]
	}
	status = reply.Status(e, a.status)
	if status == a.status {
		return status, a.typ
	}
	switch status {
	case 401:
		return status, "authentication_error"
	case 403:
		return status, "permission_error"
	case 404:
		return status, "not_found_error"
	case 409:
		return status, "conflict_error"
	case 413:
		return status, "request_too_large"
	default:
		return status, "invalid_request_error"
	}
}

// AppendError appends the error body for e and returns its status.
func (*Format) AppendError(dst []byte, e *core.Error, requestID string) ([]byte, int) {
	status, typ := look(e)
	return appendBody(dst, typ, e, requestID), status
}

// AppendErrorEvent appends the error event that ends a stream: after it no
// message_stop may come.
func (*Format) AppendErrorEvent(dst []byte, e *core.Error, requestID string) []byte {
	_, typ := look(e)
	dst = append(dst, "event: error\ndata: "...)
	dst = appendBody(dst, typ, e, requestID)
	return append(dst, "\n\n"...)
}

func appendBody(dst []byte, typ string, e *core.Error, requestID string) []byte {
	dst = append(dst, `{"type":"error","error":{"type":"`...)
	dst = append(dst, typ...)
	dst = append(dst, `","message":`...)
	dst = quote.Append(dst, reply.Text(e))
	if e.Kind == core.KindLimitLocal && e.Code != "" {
		// The format has no word for whose limit it is; its clients skip what they
		// don't know.
		dst = append(dst, `,"code":`...)
		dst = quote.Append(dst, e.Code)
	}
	dst = append(dst, `},"request_id":`...)
	if requestID == "" {
		dst = append(dst, "null"...)
	} else {
		dst = quote.Append(dst, requestID)
	}
	return append(dst, '}')
}
