package demovendor_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core/demovendor"
)

func TestBadRequestsAreRefusedAsTheServicesDo(t *testing.T) {
	t.Parallel()
	const messages = `"messages":[{"role":"user","content":"x"}]`
	for name, c := range map[string]struct {
		wire   demovendor.Wire
		body   string
		status int
		want   string
	}{
		"claude not JSON":       {demovendor.WireAnthropic, `{"model`, 400, `"type":"invalid_request_error"`},
		"claude array":          {demovendor.WireAnthropic, `[]`, 400, `not valid JSON`},
		"claude wrong type":     {demovendor.WireAnthropic, `{"model":7}`, 400, `wrong type`},
		"claude no model":       {demovendor.WireAnthropic, `{"max_tokens":1,` + messages + `}`, 400, `model: field required`},
		"claude unknown model":  {demovendor.WireAnthropic, `{"model":"nope","max_tokens":1,` + messages + `}`, 404, `"type":"not_found_error"`},
		"claude no max_tokens":  {demovendor.WireAnthropic, `{"model":"m",` + messages + `}`, 400, `max_tokens: field required`},
		"claude negative":       {demovendor.WireAnthropic, `{"model":"m","max_tokens":-1,` + messages + `}`, 400, `max_tokens`},
		"claude no messages":    {demovendor.WireAnthropic, `{"model":"m","max_tokens":1}`, 400, `messages: field required`},
		"claude empty messages": {demovendor.WireAnthropic, `{"model":"m","max_tokens":1,"messages":[]}`, 400, `at least one message`},
		"claude bad role":       {demovendor.WireAnthropic, `{"model":"m","max_tokens":1,"messages":[{"role":"tool"}]}`, 400, `messages.0.role`},
		"claude system first":   {demovendor.WireAnthropic, `{"model":"m","max_tokens":1,"messages":[{"role":"system","content":"x"}]}`, 400, `role system`},
		"claude too much":       {demovendor.WireAnthropic, `{"model":"small","max_tokens":11,` + messages + `}`, 400, `11 > 10`},
		"claude too long":       {demovendor.WireAnthropic, `{"model":"small","max_tokens":1,"system":"` + strings.Repeat("x", 99) + `",` + messages + `}`, 400, `prompt is too long`},
		"gpt not JSON":          {demovendor.WireOpenAI, `nope`, 400, `"type":"invalid_request_error","param":null,"code":null`},
		"gpt no model":          {demovendor.WireOpenAI, `{` + messages + `}`, 400, `"param":"model"`},
		"gpt unknown model":     {demovendor.WireOpenAI, `{"model":"nope",` + messages + `}`, 404, `"code":"model_not_found"`},
		"gpt no messages":       {demovendor.WireOpenAI, `{"model":"m"}`, 400, `"param":"messages"`},
		"gpt responses body":    {demovendor.WireOpenAI, `{"model":"m","input":"x"}`, 400, `Responses`},
		"gpt negative":          {demovendor.WireOpenAI, `{"model":"m","max_completion_tokens":-1,` + messages + `}`, 400, `max_completion_tokens`},
		"gpt too long":          {demovendor.WireOpenAI, `{"model":"small","messages":[{"role":"user","content":"` + strings.Repeat("x", 99) + `"}]}`, 400, `"code":"context_length_exceeded"`},
	} {
		cfg := quick(c.wire)
		cfg.Models = append(cfg.Models, demovendor.Model{Name: "small", ContextTokens: 25, MaxOutput: 10})
		resp, got := ask(t, demovendor.New(cfg), request(c.wire, c.body))
		if resp.StatusCode != c.status || !strings.Contains(got, c.want) {
			t.Errorf("%s: status %d, %s, want %d and %s", name, resp.StatusCode, got, c.status, c.want)
		}
		decode(t, got)
	}
}

func TestStrictRefusesWhatTheServicesDoNotKnow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wire demovendor.Wire
		body string
		want string
	}{
		"claude field":   {demovendor.WireAnthropic, `{"foo":1,` + claudeBody[1:], `foo: Extra inputs`},
		"claude prefill": {demovendor.WireAnthropic, strings.Replace(claudeBody, `}]`, `},{"role":"assistant","content":"And"}]`, 1), `prefill`},
		"gpt field":      {demovendor.WireOpenAI, `{"cache_control":{},` + gptBody[1:], `"param":"cache_control"`},
		"gpt message":    {demovendor.WireOpenAI, strings.Replace(gptBody, `"role"`, `"cache_control":{},"role"`, 1), `messages[0].cache_control`},
		"gpt part":       {demovendor.WireOpenAI, strings.Replace(gptBody, `"hello"`, `[{"type":"text","text":"x","cache_control":{}}]`, 1), `messages[0].content[0].cache_control`},
		"gpt tool":       {demovendor.WireOpenAI, `{"tools":[{"type":"function","cache_control":{}}],` + gptBody[1:], `tools[0].cache_control`},
		"gpt function":   {demovendor.WireOpenAI, `{"tools":[{"type":"function","function":{"name":"a","input_schema":{}}}],` + gptBody[1:], `tools[0].function.input_schema`},
		"gpt max_tokens": {demovendor.WireOpenAI, `{"max_tokens":5,` + gptBody[1:], `max_completion_tokens`},
	} {
		cfg := quick(c.wire)
		resp, got := ask(t, demovendor.New(cfg), request(c.wire, c.body))
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: a lenient vendor said %d: %s", name, resp.StatusCode, got)
		}
		cfg.Strict = true
		resp, got = ask(t, demovendor.New(cfg), request(c.wire, c.body))
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(got, c.want) {
			t.Errorf("%s: a strict vendor said %d: %s, want 400 and %s", name, resp.StatusCode, got, c.want)
		}
	}
}

func TestStrictKnowsBothVersions(t *testing.T) {
	t.Parallel()
	cfg := quick(demovendor.WireAnthropic)
	cfg.Strict = true
	v := demovendor.New(cfg)
	for version, want := range map[string]int{"2023-06-01": 200, "2026-10-21": 400, "": 400} {
		r := request(demovendor.WireAnthropic, `{"temperature":1,`+claudeBody[1:])
		r.Header.Set("Anthropic-Version", version)
		if resp, got := ask(t, v, r); resp.StatusCode != want {
			t.Errorf("temperature under version %q: %d %s, want %d", version, resp.StatusCode, got, want)
		}
	}
}

func TestKeyIsRequired(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wire          demovendor.Wire
		header, value string
		status        int
		inBody        string
	}{
		{demovendor.WireAnthropic, "X-Api-Key", "k", 200, `"type":"message"`},
		{demovendor.WireAnthropic, "Authorization", "Bearer k", 200, `"type":"message"`},
		{demovendor.WireAnthropic, "X-Api-Key", "other", 401, `"authentication_error"`},
		{demovendor.WireAnthropic, "X-Nothing", "k", 401, `"authentication_error"`},
		{demovendor.WireOpenAI, "Authorization", "Bearer k", 200, `"chat.completion"`},
		{demovendor.WireOpenAI, "X-Api-Key", "k", 401, `"invalid_api_key"`},
	} {
		cfg := quick(c.wire)
		cfg.RequireKey = "k"
		r := request(c.wire, body(c.wire))
		r.Header.Set(c.header, c.value)
		resp, got := ask(t, demovendor.New(cfg), r)
		if resp.StatusCode != c.status || !strings.Contains(got, c.inBody) {
			t.Errorf("%s with %s %q: %d %s, want %d and %s", c.wire, c.header, c.value, resp.StatusCode, got, c.status, c.inBody)
		}
	}
}

func TestPathsAndMethods(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wire         demovendor.Wire
		method, path string
		body         string
		status       int
	}{
		{demovendor.WireAnthropic, "POST", "/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`, 200},
		{demovendor.WireAnthropic, "POST", "/v1/messages/count_tokens", `{"model":"m"}`, 400},
		{demovendor.WireAnthropic, "GET", "/v1/messages", ``, 405},
		{demovendor.WireAnthropic, "POST", "/v1/chat/completions", gptBody, 404},
		{demovendor.WireAnthropic, "POST", "/v1/models", ``, 405},
		{demovendor.WireOpenAI, "POST", "/v1/messages", claudeBody, 404},
		{demovendor.WireOpenAI, "DELETE", "/v1/chat/completions", ``, 405},
		{demovendor.WireOpenAI, "GET", "/", ``, 404},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.RequestURI = ""
		r.Header.Set("Anthropic-Version", "2023-06-01")
		resp, got := ask(t, demovendor.New(quick(c.wire)), r)
		if resp.StatusCode != c.status {
			t.Errorf("%s %s %s: %d %s, want %d", c.wire, c.method, c.path, resp.StatusCode, got, c.status)
		}
		decode(t, got)
	}
}

func TestHugeBodyIsRefused(t *testing.T) {
	t.Parallel()
	v := demovendor.New(quick(demovendor.WireAnthropic))
	resp, got := ask(t, v, request(demovendor.WireAnthropic, strings.Repeat(" ", 32<<20+1)))
	if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(got, "request_too_large") {
		t.Errorf("33 MB: %d %.200s, want 413 request_too_large", resp.StatusCode, got)
	}
}
