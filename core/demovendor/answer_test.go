package demovendor_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core/demovendor"
)

func TestAnthropicAnswerIsWhole(t *testing.T) {
	t.Parallel()
	v := demovendor.New(quick(demovendor.WireAnthropic))
	resp, got := ask(t, v, request(demovendor.WireAnthropic, claudeBody))
	m := decode(t, got)
	want := []string{"container", "content", "id", "model", "role", "stop_details", "stop_reason", "stop_sequence", "type", "usage"}
	if keys := slices.Sorted(maps.Keys(m)); !slices.Equal(keys, want) {
		t.Errorf("message keys %v, want %v", keys, want)
	}
	usage := m["usage"].(map[string]any)
	for _, k := range []string{"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation", "output_tokens_details"} {
		if usage[k] == nil {
			t.Errorf("usage lacks %s: %v", k, usage)
		}
	}
	if m["stop_reason"] != "end_turn" || !strings.HasPrefix(m["id"].(string), "msg_sim") {
		t.Errorf("stop reason %v, id %v, want end_turn and msg_sim…", m["stop_reason"], m["id"])
	}
	if resp.Header.Get("Request-Id") == "" || resp.Header.Get("Anthropic-Ratelimit-Requests-Reset") == "" {
		t.Errorf("headers %v, want a request id and the rate limit", resp.Header)
	}
}

func TestOpenAIAnswerIsWhole(t *testing.T) {
	t.Parallel()
	v := demovendor.New(quick(demovendor.WireOpenAI))
	resp, got := ask(t, v, request(demovendor.WireOpenAI, gptBody))
	m := decode(t, got)
	want := []string{"choices", "created", "id", "model", "object", "service_tier", "system_fingerprint", "usage"}
	if keys := slices.Sorted(maps.Keys(m)); !slices.Equal(keys, want) {
		t.Errorf("completion keys %v, want %v", keys, want)
	}
	usage := m["usage"].(map[string]any)
	if usage["total_tokens"] != usage["prompt_tokens"].(float64)+usage["completion_tokens"].(float64) || usage["prompt_tokens_details"] == nil {
		t.Errorf("usage %v, want details and a total that adds up", usage)
	}
	choice := m["choices"].([]any)[0].(map[string]any)
	if choice["finish_reason"] != "stop" {
		t.Errorf("finish reason %v, want stop", choice["finish_reason"])
	}
	if resp.Header.Get("X-Request-Id") == "" || resp.Header.Get("X-Ratelimit-Reset-Requests") == "" {
		t.Errorf("headers %v, want a request id and the rate limit", resp.Header)
	}
}

func TestAnthropicStreamOrder(t *testing.T) {
	t.Parallel()
	v := demovendor.New(quick(demovendor.WireAnthropic))
	v.Script(demovendor.Step{Chunks: []string{"one", " two"}})
	resp, got := ask(t, v, request(demovendor.WireAnthropic, streamed(claudeBody)))
	want := "message_start content_block_start ping content_block_delta content_block_delta content_block_stop message_delta message_stop"
	if order := names(parse(got)); order != want {
		t.Errorf("events %q, want %q", order, want)
	}
	if ct := resp.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/event-stream") {
		t.Errorf("content type %q", ct)
	}
	for _, e := range parse(got) {
		if decode(t, e.data)["type"] != e.name {
			t.Errorf("event %s carries %s", e.name, e.data)
		}
	}
}

func TestOpenAIUsageOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options string
		chunks  int // role, one of text, finish, perhaps usage, and [DONE]
	}{
		{``, 4},
		{`"stream_options":{"include_usage":false},`, 4},
		{`"stream_options":{"include_usage":true},`, 5},
	} {
		v := demovendor.New(quick(demovendor.WireOpenAI))
		v.Script(demovendor.Step{Chunks: []string{"one"}})
		_, got := ask(t, v, request(demovendor.WireOpenAI, `{`+c.options+streamed(gptBody)[1:]))
		events := parse(got)
		if len(events) != c.chunks || events[len(events)-1].data != "[DONE]" {
			t.Errorf("%s: %d events, want %d and [DONE] last: %s", c.options, len(events), c.chunks, got)
		}
		if has := strings.Contains(got, `"choices":[],"usage":{"prompt_tokens"`); has != (c.chunks == 5) {
			t.Errorf("%s: usage chunk sent: %v", c.options, has)
		}
		if strings.Contains(got, `"error"`) {
			t.Errorf("%s: a healthy chunk has an error key, which clients take for a failure: %s", c.options, got)
		}
	}
}

func TestMaxTokensEndTheAnswer(t *testing.T) {
	t.Parallel()
	for wire, want := range map[demovendor.Wire]string{
		demovendor.WireAnthropic: `"stop_reason":"max_tokens"`,
		demovendor.WireOpenAI:    `"finish_reason":"length"`,
	} {
		v := demovendor.New(quick(wire))
		_, got := ask(t, v, request(wire, `{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"hello"}]}`))
		if !strings.Contains(got, want) || len(got) > 1000 {
			t.Errorf("%s: answer to 10 tokens: %s, want it short and %s", wire, got, want)
		}
	}
}

func TestForcedToolIsCalled(t *testing.T) {
	t.Parallel()
	claude := `{"model":"m","max_tokens":999,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"look"}],"tool_choice":%}`
	gpt := `{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"look"}}],"tool_choice":%}`
	for _, c := range []struct {
		wire               demovendor.Wire
		body, choice, want string
	}{
		{demovendor.WireAnthropic, claude, `{"type":"any"}`, `"stop_reason":"tool_use"`},
		{demovendor.WireAnthropic, claude, `{"type":"tool","name":"look"}`, `"name":"look","input":{}`},
		{demovendor.WireAnthropic, claude, `{"type":"auto"}`, `"stop_reason":"end_turn"`},
		{demovendor.WireOpenAI, gpt, `"required"`, `"finish_reason":"tool_calls"`},
		{demovendor.WireOpenAI, gpt, `{"type":"function","function":{"name":"look"}}`, `"arguments":"{}"`},
		{demovendor.WireOpenAI, gpt, `"auto"`, `"finish_reason":"stop"`},
	} {
		v := demovendor.New(quick(c.wire))
		_, got := ask(t, v, request(c.wire, strings.Replace(c.body, "%", c.choice, 1)))
		if !strings.Contains(got, c.want) {
			t.Errorf("%s with tool_choice %s: %s, want %s in it", c.wire, c.choice, got, c.want)
		}
		_, got = ask(t, v, request(c.wire, streamed(strings.Replace(c.body, "%", c.choice, 1))))
		if reason := c.want[:strings.IndexByte(c.want, ':')]; strings.HasSuffix(reason, `reason"`) && !strings.Contains(got, c.want) {
			t.Errorf("%s stream with tool_choice %s: %s, want %s in it", c.wire, c.choice, got, c.want)
		}
	}
}

func TestJSONIsAnsweredInJSON(t *testing.T) {
	t.Parallel()
	v := demovendor.New(quick(demovendor.WireOpenAI))
	_, got := ask(t, v, request(demovendor.WireOpenAI, `{"response_format":{"type":"json_object"},`+gptBody[1:]))
	choice := decode(t, got)["choices"].([]any)[0].(map[string]any)
	text := choice["message"].(map[string]any)["content"].(string)
	if decode(t, text)["simulated"] != true {
		t.Errorf("content %q, want a JSON document that says it is simulated", text)
	}
}

func TestCacheReadsAreCountedApart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 2000)
	claude := `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"` + long + `","cache_control":{"type":"ephemeral"}}]}]}`
	_, got := ask(t, demovendor.New(quick(demovendor.WireAnthropic)), request(demovendor.WireAnthropic, claude))
	usage := decode(t, got)["usage"].(map[string]any)
	if in, read := usage["input_tokens"].(float64), usage["cache_read_input_tokens"].(float64); read < 1500 || in > read {
		t.Errorf("Anthropic usage %v, want most of the input as cache reads outside input_tokens", usage)
	}
	gpt := `{"model":"m","messages":[{"role":"user","content":"` + long + `"}]}`
	_, got = ask(t, demovendor.New(quick(demovendor.WireOpenAI)), request(demovendor.WireOpenAI, gpt))
	usage = decode(t, got)["usage"].(map[string]any)
	details := usage["prompt_tokens_details"].(map[string]any)
	if all, cached := usage["prompt_tokens"].(float64), details["cached_tokens"].(float64); cached == 0 || cached >= all {
		t.Errorf("OpenAI usage %v, want cached tokens inside prompt_tokens", usage)
	}
}
