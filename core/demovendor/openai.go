package demovendor

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// openaiWire is the Chat Completions format.
type openaiWire struct{}

// The keys of a Chat Completions body, by place.
const (
	openaiFields = `model messages max_completion_tokens max_tokens temperature top_p frequency_penalty presence_penalty
		logit_bias seed logprobs top_logprobs n stop tools tool_choice parallel_tool_calls functions function_call
		response_format reasoning_effort verbosity prediction modalities audio moderation store metadata web_search_options
		safety_identifier user prompt_cache_key prompt_cache_options prompt_cache_retention service_tier stream stream_options`
	openaiMessageFields  = `role content name refusal audio tool_calls tool_call_id function_call`
	openaiPartFields     = `type text image_url input_audio file refusal prompt_cache_breakpoint`
	openaiToolFields     = `type function custom`
	openaiFunctionFields = `name description parameters strict`
)

func (w openaiWire) check(c *call, strict bool) *problem {
	if c.Model == "" {
		return invalid("model", "you must provide a model parameter")
	}
	if c.has("input") && !c.has("messages") {
		return invalid("input", "Unrecognized request argument supplied: input. This is the body of a Responses request.")
	}
	if p := checkMessages(c, "developer", "system", "user", "assistant", "tool", "function"); p != nil {
		return p
	}
	if n := c.maxTokens(); n < 0 {
		return invalid("max_completion_tokens", "max_completion_tokens: must be 1 or more")
	}
	if strict {
		return w.strict(c)
	}
	return nil
}

func (w openaiWire) strict(c *call) *problem {
	at := unknown(c.Body, "", openaiFields)
	if at == "" {
		at = unknownIn(c.fields["messages"], "messages", openaiMessageFields, func(m json.RawMessage, path string) string {
			var message message
			if json.Unmarshal(m, &message) != nil {
				return ""
			}
			return unknownIn(message.Content, path+"content", openaiPartFields, nil)
		})
	}
	if at == "" {
		at = unknownIn(c.fields["tools"], "tools", openaiToolFields, func(t json.RawMessage, path string) string {
			var tool struct {
				Function json.RawMessage `json:"function"`
			}
			if json.Unmarshal(t, &tool) != nil {
				return ""
			}
			return unknown(tool.Function, path+"function.", openaiFunctionFields)
		})
	}
	if at != "" {
		p := invalid(at, "Unrecognized request argument supplied: %s", at)
		p.code = "unknown_parameter"
		return p
	}
	if c.has("max_tokens") {
		p := invalid("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
		p.code = "unsupported_parameter"
		return p
	}
	return nil
}

// openaiErrorWords are the type and code that go with a status; code may be "".
func openaiErrorWords(status int) (typ, code string) {
	switch status {
	case http.StatusUnauthorized:
		return "invalid_request_error", "invalid_api_key"
	case http.StatusNotFound:
		return "invalid_request_error", "model_not_found"
	case http.StatusTooManyRequests:
		return "rate_limit_error", "rate_limit_exceeded"
	case http.StatusServiceUnavailable, statusOverloaded:
		return "server_error", "server_is_overloaded"
	}
	if status < 500 {
		return "invalid_request_error", ""
	}
	return "server_error", ""
}

func (openaiWire) problem(p *problem, _ string) []byte {
	typ, code := openaiErrorWords(p.status)
	if p.typ != "" {
		typ, code = p.typ, ""
	}
	if p.code != "" {
		code = p.code
	}
	return fmt.Appendf(nil, `{"error":{"message":%s,"type":%s,"param":%s,"code":%s}}`,
		quote(p.message), quote(typ), quoteOrNull(p.param), quoteOrNull(code))
}

func quoteOrNull(s string) string {
	if s == "" {
		return "null"
	}
	return quote(s)
}

// finishReason is the Chat Completions word for why the answer ended.
func (openaiWire) finishReason(a *answer) string {
	switch {
	case a.reason != "":
		return a.reason
	case a.cutOff:
		return "length"
	case a.tool != nil:
		return "tool_calls"
	}
	return "stop"
}

func (openaiWire) usage(u *Usage) string {
	prompt := u.Input + u.CacheRead + u.CacheWrite
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,`+
		`"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d,"audio_tokens":0},`+
		`"completion_tokens_details":{"reasoning_tokens":%d,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`,
		prompt, u.Output, prompt+u.Output, u.CacheRead, u.CacheWrite, u.Reasoning)
}

func (w openaiWire) whole(a *answer) []byte {
	content, calls := "null", ""
	if len(a.chunks) > 0 || a.tool == nil {
		content = quote(a.text())
	}
	if t := a.tool; t != nil {
		calls = fmt.Sprintf(`,"tool_calls":[{"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]`,
			quote(t.ID), quote(t.Name), quote(strings.Join(t.Arguments, "")))
	}
	usage := ""
	if a.usage != nil {
		usage = `,"usage":` + w.usage(a.usage)
	}
	return fmt.Appendf(nil, `{"id":"chatcmpl-%s","object":"chat.completion","created":%d,"model":%s,`+
		`"choices":[{"index":0,"message":{"role":"assistant","content":%s,"refusal":null,"annotations":[]%s},"logprobs":null,"finish_reason":%s}]%s,`+
		`"service_tier":"default","system_fingerprint":"fp_simulated"}`,
		a.id, a.created, quote(a.model), content, calls, quote(w.finishReason(a)), usage)
}

func (w openaiWire) stream(a *answer) script {
	var s script
	usageNull := ""
	if a.asked && a.usage != nil {
		usageNull = `,"usage":null`
	}
	delta := func(delta, finish string) event {
		return w.chunk(a, `[{"index":0,"delta":`+delta+`,"logprobs":null,"finish_reason":`+finish+`}]`, usageNull)
	}
	s.opening = []event{delta(`{"role":"assistant","content":"","refusal":null}`, "null")}
	for _, chunk := range a.chunks {
		s.content = append(s.content, delta(`{"content":`+quote(chunk)+`}`, "null"))
	}
	if t := a.tool; t != nil {
		s.content = append(s.content, delta(fmt.Sprintf(
			`{"tool_calls":[{"index":0,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`, quote(t.ID), quote(t.Name)), "null"))
		for _, part := range t.Arguments {
			s.content = append(s.content, delta(`{"tool_calls":[{"index":0,"function":{"arguments":`+quote(part)+`}}]}`, "null"))
		}
	}
	s.closing = []event{delta("{}", quote(w.finishReason(a)))}
	if a.asked && a.usage != nil {
		s.closing = append(s.closing, w.chunk(a, "[]", `,"usage":`+w.usage(a.usage)))
	}
	s.closing = append(s.closing, event{data: "[DONE]"})
	return s
}

// chunk is one chunk around the given choices and usage.
func (openaiWire) chunk(a *answer, choices, usage string) event {
	return event{data: fmt.Sprintf(`{"id":"chatcmpl-%s","object":"chat.completion.chunk","created":%d,"model":%s,`+
		`"service_tier":"default","system_fingerprint":"fp_simulated","choices":%s%s}`, a.id, a.created, quote(a.model), choices, usage)}
}
