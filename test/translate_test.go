package test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

// scripted is a vendor of the test's own: it calls a tool first, and answers with
// what the tool said once it is told. It refuses what its own official SDK does
// not know, so that the SDK judges what the gateway wrote.
type scripted struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
	faults []string // what was wrong with a request
}

// newScripted starts a vendor. A nil answer is a vendor that is overloaded.
func newScripted(t *testing.T, known func(body []byte) error, answer func(asked request) (whole, stream string)) *scripted {
	t.Helper()
	v := &scripted{}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer == nil || r.Method != http.MethodPost {
			w.WriteHeader(503)
			return
		}
		body, _ := io.ReadAll(r.Body)
		v.mu.Lock()
		v.bodies = append(v.bodies, body)
		v.mu.Unlock()
		if err := known(body); err != nil {
			v.mu.Lock()
			v.faults = append(v.faults, fmt.Sprintf("%v: %s", err, body))
			v.mu.Unlock()
			w.WriteHeader(400)
			fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error"}}`, err.Error())
			return
		}
		var asked request
		_ = json.Unmarshal(body, &asked)
		asked.told = bytes.Contains(body, []byte("12 degrees"))
		whole, stream := answer(asked)
		if asked.Stream {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, event := range strings.SplitAfter(stream, "\n\n") {
				_, _ = io.WriteString(w, event)
				w.(http.Flusher).Flush()
			}
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, whole)
	}))
	t.Cleanup(v.Close)
	return v
}

// request is what a scripted vendor reads of a request.
type request struct {
	Stream bool
	Tools  []struct {
		Name     string
		Function struct{ Name string }
	}
	told bool // a tool has answered
}

// sameIn returns an error when an SDK's type loses or changes a part of a body:
// the format does not have that part.
func sameIn[T any](body []byte) error {
	var params T
	if err := json.Unmarshal(body, &params); err != nil {
		return err
	}
	again, err := json.Marshal(params)
	if err != nil {
		return err
	}
	var before, after any
	_ = json.Unmarshal(body, &before)
	_ = json.Unmarshal(again, &after)
	return lost("", plain(before), plain(after))
}

// plain writes a lone text block as the string that says the same, because the
// SDKs write either, and leaves the stream flag out, which they add themselves.
func plain(doc any) any {
	switch v := doc.(type) {
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		delete(v, "stream")
		for name := range v {
			v[name] = plain(v[name])
			if l, ok := v[name].([]any); ok && len(l) == 1 && (name == "content" || name == "system") {
				if b, ok := l[0].(map[string]any); ok && b["type"] == "text" && len(b) == 2 {
					v[name] = b["text"]
				}
			}
		}
	}
	return doc
}

// lost names the first place at which two documents differ.
func lost(path string, before, after any) error {
	b, ok := before.(map[string]any)
	if a, also := after.(map[string]any); ok && also {
		for name := range b {
			if err := lost(path+"."+name, b[name], a[name]); err != nil {
				return err
			}
		}
		return nil
	}
	if l, ok := before.([]any); ok {
		if a, also := after.([]any); also && len(a) == len(l) {
			for i := range l {
				if err := lost(fmt.Sprintf("%s[%d]", path, i), l[i], a[i]); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if before != nil && !reflect.DeepEqual(before, after) {
		return fmt.Errorf("%s is not in the SDK's schema: %v became %v", path, before, after)
	}
	return nil
}

func chatData(s string) string {
	return `data: {"id":"chatcmpl-7","object":"chat.completion.chunk","created":1,"model":"gpt-6-sol","choices":[` + s + "]" + `}` + "\n\n"
}

// chatVendor answers in Chat Completions: two calls at once, their pieces in turns.
func chatVendor(t *testing.T) *scripted {
	return newScripted(t, sameIn[openai.ChatCompletionNewParams], func(r request) (string, string) {
		const usage = `"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":60}}`
		whole := func(message, finish string) string {
			return `{"id":"chatcmpl-7","object":"chat.completion","created":1,"model":"gpt-6-sol","choices":[{"index":0,"message":` + message +
				`,"finish_reason":"` + finish + `"}],` + usage + `}`
		}
		chunk := func(delta, finish string) string {
			return chatData(`{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}`)
		}
		end := `data: {"id":"chatcmpl-7","object":"chat.completion.chunk","created":1,"model":"gpt-6-sol","choices":[],` + usage + "}\n\ndata: [DONE]\n\n"
		if r.told {
			return whole(`{"role":"assistant","content":"It is 12 degrees."}`, "stop"),
				chunk(`{"role":"assistant","content":""}`, "null") + chunk(`{"content":"It is "}`, "null") + chunk(`{"content":"12 degrees."}`, "null") + chunk(`{}`, `"stop"`) + end
		}
		name := r.Tools[0].Function.Name
		call := func(i int, city string) string {
			return fmt.Sprintf(`{"index":%d,"id":"call_%d","type":"function","function":{"name":%q,"arguments":"{\"city\":\"%s\"}"}}`, i, i, name, city)
		}
		pieces := chunk(fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"call_0","type":"function","function":{"name":%q,"arguments":"{\"city\""}},`+
			`{"index":1,"id":"call_1","type":"function","function":{"name":%q,"arguments":"{\"ci"}}]}`, name, name), "null") +
			chunk(`{"tool_calls":[{"index":1,"function":{"arguments":"ty\":\"Oslo\"}"}}]}`, "null") +
			chunk(`{"tool_calls":[{"index":0,"function":{"arguments":":\"Bonn\"}"}}]}`, "null")
		return whole(`{"role":"assistant","content":"Looking.","tool_calls":[`+call(0, "Bonn")+`,`+call(1, "Oslo")+`]}`, "tool_calls"),
			chunk(`{"role":"assistant","content":"Looking."}`, "null") + pieces + chunk(`{}`, `"tool_calls"`) + end
	})
}

// messagesVendor answers in Messages: thinking, a text and two calls.
func messagesVendor(t *testing.T) *scripted {
	return newScripted(t, sameIn[anthropic.MessageNewParams], func(r request) (string, string) {
		const head = `"id":"msg_7","type":"message","role":"assistant","model":"claude-opus-5-5"`
		whole := func(content, stop string) string {
			return `{` + head + `,"content":[` + content + `],"stop_reason":"` + stop + `","stop_sequence":null,"usage":{"input_tokens":40,"cache_read_input_tokens":60,"output_tokens":20}}`
		}
		event := func(name, rest string) string {
			return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + rest + "}\n\n"
		}
		block := func(i int, start string, deltas ...string) string {
			s := event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":%s`, i, start))
			for _, d := range deltas {
				s += event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":%s`, i, d))
			}
			return s + event("content_block_stop", fmt.Sprintf(`,"index":%d`, i))
		}
		begin := event("message_start", `,"message":{`+head+`,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":40,"cache_read_input_tokens":60,"output_tokens":1}}`)
		end := func(stop string) string {
			return event("message_delta", `,"delta":{"stop_reason":"`+stop+`","stop_sequence":null},"usage":{"output_tokens":20}`) + event("message_stop", "")
		}
		text := func(s string) string { return `{"type":"text_delta","text":"` + s + `"}` }
		if r.told {
			return whole(`{"type":"text","text":"It is 12 degrees."}`, "end_turn"),
				begin + block(0, `{"type":"text","text":""}`, text("It is "), text("12 degrees.")) + end("end_turn")
		}
		name := r.Tools[0].Name
		use := func(id, input string) string {
			return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, id, name, input)
		}
		return whole(`{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Looking."},`+use("toolu_0", `{"city":"Bonn"}`)+`,`+use("toolu_1", `{"city":"Oslo"}`), "tool_use"),
			begin + block(0, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"hm"}`, `{"type":"signature_delta","signature":"s"}`) +
				block(1, `{"type":"text","text":""}`, text("Looking.")) +
				block(2, use("toolu_0", "{}"), `{"type":"input_json_delta","partial_json":""}`, `{"type":"input_json_delta","partial_json":"{\"city\""}`, `{"type":"input_json_delta","partial_json":":\"Bonn\"}"}`) +
				block(3, use("toolu_1", "{}"), `{"type":"input_json_delta","partial_json":"{\"city\":\"Oslo\"}"}`) + end("tool_use")
	})
}

// between starts a server between two vendors and returns a caller's key.
func between(t *testing.T, messages, chat *scripted) (s *server, key string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "spillway.yaml")
	const free = "price: {input: 0, output: 0, cache_read: 0, cache_write: 0, cache_write_1h: 0, as_of: 2026-11-30}"
	err := os.WriteFile(file, []byte(fmt.Sprintf(`
providers:
  - {id: a, wire: anthropic, nodes: [{url: %q}], keys: [{id: k, value: test}]}
  - {id: o, wire: openai, profile: openai, nodes: [{url: %q}], keys: [{id: k, value: test}]}
targets:
  - {id: claude-opus-5-5, provider: a, family: opus, %s}
  - {id: gpt-6-sol, provider: o, family: sol, %s}
`, messages.URL, chat.URL, free, free)), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	s = start(t, dir, "--config", file)
	return s, s.addKey("loop", "admin")
}

// faultless fails when the vendor was asked for what its format does not have.
func (v *scripted) faultless(t *testing.T, requests int) {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.faults) > 0 || len(v.bodies) != requests {
		t.Errorf("%d requests, want %d; faults:\n%s", len(v.bodies), requests, strings.Join(v.faults, "\n"))
	}
}

const longName = "get_the_current_weather_for_a_city_from_the_station_that_is_nearest_to_it"

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

// TestToolLoop_AnthropicClient runs a two-step tool loop of the Anthropic SDK
// whose own vendor is down: the other one answers.
func TestToolLoop_AnthropicClient(t *testing.T) {
	t.Parallel()
	down, chat := newScripted(t, nil, nil), chatVendor(t)
	s, key := between(t, down, chat)
	client := anthropic.NewClient(anthropicoption.WithBaseURL(s.Gateway), anthropicoption.WithAPIKey(key))
	for _, streamed := range []bool{false, true} {
		params := anthropic.MessageNewParams{
			Model: "claude-opus-5-5", MaxTokens: 64,
			System: []anthropic.TextBlockParam{{Text: "Be brief.", CacheControl: anthropic.NewCacheControlEphemeralParam()}},
			Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
				Name: longName, InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"city": map[string]any{"type": "string"}}, Required: []string{"city"}},
			}}},
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(
				anthropic.NewTextBlock("How warm is it here and there?"), anthropic.NewImageBlockBase64("image/png", pixel))},
		}
		first := askAnthropic(t, client, params, streamed)
		if first.StopReason != anthropic.StopReasonToolUse || len(first.Content) != 3 || first.Content[0].Text != "Looking." ||
			first.Usage.InputTokens != 40 || first.Usage.CacheReadInputTokens != 60 || first.Usage.OutputTokens != 20 {
			t.Fatalf("streamed %v: first answer %s", streamed, first.RawJSON())
		}
		var results []anthropic.ContentBlockParamUnion
		for i, city := range []string{"Bonn", "Oslo"} {
			call := first.Content[i+1]
			var input struct{ City string }
			if err := json.Unmarshal(call.Input, &input); err != nil || input.City != city || call.Name != longName {
				t.Fatalf("streamed %v: call %d is %s of %q (%v)", streamed, i, call.Input, call.Name, err)
			}
			results = append(results, anthropic.NewToolResultBlock(call.ID, "12 degrees in "+city, i == 1))
		}
		params.Messages = append(params.Messages, first.ToParam(), anthropic.NewUserMessage(results...))
		second := askAnthropic(t, client, params, streamed)
		if second.StopReason != anthropic.StopReasonEndTurn || len(second.Content) != 1 || second.Content[0].Text != "It is 12 degrees." {
			t.Errorf("streamed %v: second answer %s", streamed, second.RawJSON())
		}
	}
	chat.faultless(t, 4)
}

func askAnthropic(t *testing.T, client anthropic.Client, params anthropic.MessageNewParams, streamed bool) *anthropic.Message {
	t.Helper()
	if !streamed {
		m, err := client.Messages.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	stream := client.Messages.NewStreaming(t.Context(), params)
	var whole anthropic.Message
	for stream.Next() {
		if err := whole.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return &whole
}

// TestToolLoop_OpenAIClient runs a two-step tool loop of the OpenAI SDK whose own
// vendor is down: the other one answers.
func TestToolLoop_OpenAIClient(t *testing.T) {
	t.Parallel()
	messages, down := messagesVendor(t), newScripted(t, nil, nil)
	s, key := between(t, messages, down)
	client := openai.NewClient(openaioption.WithBaseURL(s.Gateway+"/v1"), openaioption.WithAPIKey(key))
	for _, streamed := range []bool{false, true} {
		params := openai.ChatCompletionNewParams{
			Model: "gpt-6-sol", ParallelToolCalls: openai.Bool(true), Seed: openai.Int(7),
			Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
				Name: "get_weather", Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}},
			})},
			Messages: []openai.ChatCompletionMessageParamUnion{
				openai.DeveloperMessage("Be brief."),
				openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
					openai.TextContentPart("How warm is it here and there?"),
					openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64," + pixel}),
				}),
			},
		}
		if streamed {
			params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
		}
		first := askOpenAI(t, client, params, streamed)
		message := first.Choices[0].Message
		if first.Choices[0].FinishReason != "tool_calls" || message.Content != "Looking." || len(message.ToolCalls) != 2 ||
			first.Usage.PromptTokens != 100 || first.Usage.PromptTokensDetails.CachedTokens != 60 || first.Usage.CompletionTokens != 20 {
			t.Fatalf("streamed %v: first answer %+v", streamed, first)
		}
		params.Messages = append(params.Messages, message.ToParam())
		for i, city := range []string{"Bonn", "Oslo"} {
			call := message.ToolCalls[i]
			var input struct{ City string }
			if err := json.Unmarshal([]byte(call.Function.Arguments), &input); err != nil || input.City != city || call.Function.Name != "get_weather" {
				t.Fatalf("streamed %v: call %d is %s of %q (%v)", streamed, i, call.Function.Arguments, call.Function.Name, err)
			}
			params.Messages = append(params.Messages, openai.ToolMessage("12 degrees in "+city, call.ID))
		}
		second := askOpenAI(t, client, params, streamed)
		if second.Choices[0].FinishReason != "stop" || second.Choices[0].Message.Content != "It is 12 degrees." {
			t.Errorf("streamed %v: second answer %+v", streamed, second)
		}
	}
	messages.faultless(t, 4)
}

func askOpenAI(t *testing.T, client openai.Client, params openai.ChatCompletionNewParams, streamed bool) *openai.ChatCompletion {
	t.Helper()
	if !streamed {
		c, err := client.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var whole openai.ChatCompletionAccumulator
	for stream.Next() {
		if !whole.AddChunk(stream.Current()) {
			t.Fatalf("chunk refused: %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return &whole.ChatCompletion
}

// TestStructuredOutput_OtherVendor holds that a schema reaches the other vendor in
// a form that its SDK knows.
func TestStructuredOutput_OtherVendor(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"a":{"type":"integer","minimum":1}},"required":["a"],"additionalProperties":false}`
	answer := func(whole string) func(request) (string, string) {
		return func(request) (string, string) { return whole, "" }
	}
	messages := newScripted(t, sameIn[anthropic.MessageNewParams], answer(`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"{\"a\":1}"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`))
	chat := newScripted(t, sameIn[openai.ChatCompletionNewParams], answer(`{"id":"chatcmpl-1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"{\"a\":1}"},"finish_reason":"stop"}]}`))
	s, key := between(t, messages, newScripted(t, nil, nil))
	r := s.send("POST", "/v1/chat/completions", `{"model":"gpt-6-sol","response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":`+schema+`}},"messages":[{"role":"user","content":"x"}]}`, "Authorization", "Bearer "+key)
	if r.status != 200 || !strings.Contains(r.header.Get("Spillway-Warnings"), "minimum moved to descriptions") {
		t.Errorf("%d: %s; warnings %q", r.status, r.body, r.header.Get("Spillway-Warnings"))
	}
	messages.faultless(t, 1)
	s, key = between(t, newScripted(t, nil, nil), chat)
	r = s.send("POST", "/v1/messages", `{"model":"claude-opus-5-5","max_tokens":64,"output_config":{"format":{"type":"json_schema","schema":`+schema+`}},"messages":[{"role":"user","content":"x"}]}`, "Authorization", "Bearer "+key)
	if r.status != 200 || !strings.Contains(r.body, `"stop_reason":"end_turn"`) {
		t.Errorf("%d: %s", r.status, r.body)
	}
	chat.faultless(t, 1)
}
