package demovendor

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// dialect is one wire format.
type dialect interface {
	// check says why the service would refuse a call, whatever its model, or nil.
	// Strict also counts what the service refuses though it could do without it.
	check(c *call, strict bool) *problem
	// problem is the body of an error.
	problem(p *problem, requestID string) []byte
	// whole is the JSON answer, stream the same as events.
	whole(a *answer) []byte
	stream(a *answer) script
}

// event is one server-sent event; name may be empty.
type event struct {
	name, data string
}

// script are the events of a stream: opening ones, one or more per chunk of content, and
// closing ones.
type script struct {
	opening, content, closing []event
}

// anthropicWire is the Messages format.
type anthropicWire struct{}

// anthropicFields are the fields of a Messages body, beta ones included.
const anthropicFields = `model messages max_tokens system stop_sequences temperature top_p top_k stream tools
	tool_choice thinking output_config metadata cache_control service_tier speed inference_geo container diagnostics
	betas mcp_servers context_management compaction fallbacks fallback_credit_token billing_policy thread output_format`

func (w anthropicWire) check(c *call, strict bool) *problem {
	switch {
	case c.Header.Get("Anthropic-Version") == "":
		return invalid("", "anthropic-version: header is required")
	case c.Model == "":
		return invalid("model", "model: field required")
	case c.Path != countPath && c.body.MaxTokens == nil:
		return invalid("max_tokens", "max_tokens: field required")
	case c.maxTokens() < 0:
		return invalid("max_tokens", "max_tokens: must be 0 or more")
	}
	if p := checkMessages(c, "user", "assistant", "system"); p != nil {
		return p
	}
	if c.body.Messages[0].Role == "system" {
		return invalid("messages", "messages.0: the first message must not be of role system")
	}
	if strict {
		return w.strict(c)
	}
	return nil
}

func (anthropicWire) strict(c *call) *problem {
	if p := unknown(c.Body, "", anthropicFields); p != "" {
		return invalid(p, "%s: Extra inputs are not permitted", p)
	}
	if c.Header.Get("Anthropic-Version") >= "2026-10-21" {
		for _, field := range []string{"temperature", "top_p", "top_k"} {
			if _, ok := c.fields[field]; ok {
				return invalid(field, "%s: Extra inputs are not permitted", field)
			}
		}
	}
	if c.body.Messages[len(c.body.Messages)-1].Role == "assistant" {
		return invalid("messages", "This model does not support assistant message prefill.")
	}
	return nil
}

// anthropicErrorType is the error type that goes with a status.
func anthropicErrorType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusConflict:
		return "conflict_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return "timeout_error"
	case http.StatusServiceUnavailable, statusOverloaded:
		return "overloaded_error"
	}
	if status < 500 {
		return "invalid_request_error"
	}
	return "api_error"
}

// statusOverloaded is Anthropic's own status for a vendor that is too busy.
const statusOverloaded = 529

func (anthropicWire) problem(p *problem, requestID string) []byte {
	typ, details := p.typ, ""
	if typ == "" {
		typ = anthropicErrorType(p.status)
	}
	if p.detail != "" {
		details = `,"details":{"error_code":` + quote(p.detail) + `}`
	}
	return fmt.Appendf(nil, `{"type":"error","error":{"type":%s,"message":%s%s},"request_id":%s}`,
		quote(typ), quote(p.message), details, quote(requestID))
}

// stopReason is the Messages word for why the answer ended.
func (anthropicWire) stopReason(a *answer) string {
	switch {
	case a.reason != "":
		return a.reason
	case a.cutOff:
		return "max_tokens"
	case a.tool != nil:
		return "tool_use"
	}
	return "end_turn"
}

// usage is the usage object with so many output tokens.
func (anthropicWire) usage(u *Usage, output int) string {
	return fmt.Sprintf(`{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,`+
		`"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":0},"output_tokens":%d,`+
		`"output_tokens_details":{"thinking_tokens":%d},"server_tool_use":null,"service_tier":"standard"}`,
		u.Input, u.CacheWrite, u.CacheRead, u.CacheWrite, output, min(u.Reasoning, output))
}

// message is a Message object around the given content, stop reason and usage.
func (anthropicWire) message(a *answer, content, stop, usage string) string {
	if usage != "" {
		usage = `,"usage":` + usage
	}
	return fmt.Sprintf(`{"id":"msg_%s","type":"message","role":"assistant","model":%s,"content":[%s],`+
		`"stop_reason":%s,"stop_sequence":null,"stop_details":null,"container":null%s}`, a.id, quote(a.model), content, stop, usage)
}

func (w anthropicWire) whole(a *answer) []byte {
	var blocks []string
	if len(a.chunks) > 0 {
		blocks = append(blocks, `{"type":"text","text":`+quote(a.text())+`,"citations":null}`)
	}
	if t := a.tool; t != nil {
		blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":%s}`,
			quote(t.ID), quote(t.Name), objectOr(strings.Join(t.Arguments, ""))))
	}
	usage := ""
	if a.usage != nil {
		usage = w.usage(a.usage, a.usage.Output)
	}
	return []byte(w.message(a, strings.Join(blocks, ","), quote(w.stopReason(a)), usage))
}

// objectOr returns the JSON document, or an empty object for what is none.
func objectOr(doc string) string {
	if json.Valid([]byte(doc)) {
		return doc
	}
	return "{}"
}

func (w anthropicWire) stream(a *answer) script {
	var s script
	usage := ""
	if a.usage != nil {
		usage = w.usage(a.usage, min(1, a.usage.Output))
	}
	s.opening = append(s.opening, typed("message_start", `,"message":`+w.message(a, "", "null", usage)))
	block := 0
	if len(a.chunks) > 0 {
		s.opening = append(s.opening, typed("content_block_start", `,"index":0,"content_block":{"type":"text","text":"","citations":null}`))
		block++
	}
	s.opening = append(s.opening, typed("ping", ""))
	for _, chunk := range a.chunks {
		s.content = append(s.content, typed("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":`+quote(chunk)+`}`))
	}
	if a.tool != nil {
		s.content = append(s.content, w.toolEvents(a.tool, block)...)
		block++
	}
	if block > 0 {
		s.closing = append(s.closing, typed("content_block_stop", fmt.Sprintf(`,"index":%d`, block-1)))
	}
	usage = ""
	if u := a.usage; u != nil {
		usage = `,"usage":` + w.usage(u, u.Output)
	}
	s.closing = append(s.closing,
		typed("message_delta", `,"delta":{"stop_reason":`+quote(w.stopReason(a))+`,"stop_sequence":null,"stop_details":null,"container":null}`+usage),
		typed("message_stop", ""))
	return s
}

// toolEvents open a tool block, after the text block that precedes it, and fill it.
func (anthropicWire) toolEvents(t *ToolCall, block int) []event {
	var events []event
	if block > 0 {
		events = append(events, typed("content_block_stop", `,"index":0`))
	}
	events = append(events, typed("content_block_start", fmt.Sprintf(
		`,"index":%d,"content_block":{"type":"tool_use","id":%s,"name":%s,"input":{}}`, block, quote(t.ID), quote(t.Name))))
	for _, part := range t.Arguments {
		events = append(events, typed("content_block_delta", fmt.Sprintf(
			`,"index":%d,"delta":{"type":"input_json_delta","partial_json":%s}`, block, quote(part))))
	}
	return events
}

// typed is an event whose data repeats its name as the type.
func typed(name, rest string) event {
	return event{name, `{"type":"` + name + `"` + rest + `}`}
}

// quote encodes a JSON string, without the escapes that only HTML needs.
func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string and a builder never fail
	return strings.TrimSuffix(b.String(), "\n")
}
