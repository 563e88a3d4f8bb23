package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
)

// chatKeys are all keys of the Chat Completions schema that a translated request
// can have; what stands below "parameters" is a schema of the caller's.
var chatKeys = []string{
	"model", "messages", "role", "content", "type", "text", "image_url", "url", "tool_calls", "id", "function", "name", "arguments",
	"tool_call_id", "tools", "description", "parameters", "tool_choice", "parallel_tool_calls", "max_completion_tokens", "stop",
	"temperature", "top_p", "stream", "stream_options", "include_usage",
}

// strange returns the first key of a document that Chat Completions does not have.
func strange(doc any) string {
	switch v := doc.(type) {
	case []any:
		for _, e := range v {
			if key := strange(e); key != "" {
				return key
			}
		}
	case map[string]any:
		for name, e := range v {
			if !slices.Contains(chatKeys, name) {
				return name
			}
			if key := strange(e); name != "parameters" && key != "" {
				return key
			}
		}
	}
	return ""
}

// strictly answers 400 when a key of another vendor is anywhere in the body.
func strictly(then http.HandlerFunc, v **vendor) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		(*v).mu.Lock()
		body := (*v).hits[len((*v).hits)-1].body
		(*v).mu.Unlock()
		var doc any
		if err := json.Unmarshal(body, &doc); err != nil || strange(doc) != "" {
			says(400, fmt.Sprintf(`{"error":{"message":"Unrecognized request argument supplied: %s","type":"invalid_request_error"}}`, strange(doc)))(w, r)
			return
		}
		then(w, r)
	}
}

// TestTranslation_MarkersOfTheOtherVendor is field case R01: markers at top
// level, in the system prompt, in the user's text and on a tool.
func TestTranslation_MarkersOfTheOtherVendor(t *testing.T) {
	t.Parallel()
	const mark = `"cache_control":{"type":"ephemeral"}`
	body := `{"model":"claude","max_tokens":64,` + mark + `,"temperature":0.3,"top_p":0.9,"stop_sequences":["END"],` +
		`"system":[{"type":"text","text":"be brief"},{"type":"text","text":"be kind",` + mark + `}],` +
		`"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}},{"name":"g","input_schema":{"type":"object","properties":{}},` + mark + `}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"hi",` + mark + `}]}]}`
	var o *vendor
	a := newVendor(t, says(529, anthropicBusy))
	o = newVendor(t, strictly(says(200, chatAnswer), &o))
	r := bothRig(t, "claude", a, o)
	if got := r.ask(t, "/v1/messages", body); got.status != 200 {
		t.Fatalf("%d: %s, for %s", got.status, got.body, o.last(t).body)
	}
	if n := strings.Count(string(a.last(t).body), "cache_control"); n != 4 {
		t.Errorf("the primary got %d of its 4 markers", n)
	}
	contains(t, string(o.last(t).body), `"temperature":0.3`, `"top_p":0.9`, `"stop":["END"]`, "be brief", "be kind", `"name":"f"`, `"name":"g"`)
	if w := strings.Join(r.tape.decision(t, 1).Warnings, "\n"); !strings.Contains(w, "cache_control dropped in 4 places") {
		t.Errorf("the record does not list what was dropped: %q", w)
	}
}

// TestTranslation_PicturesInToolResults is field case R03.
func TestTranslation_PicturesInToolResults(t *testing.T) {
	t.Parallel()
	body := `{"model":"claude","max_tokens":64,"messages":[{"role":"user","content":"look"},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}},{"type":"tool_use","id":"t2","name":"g","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"no such file"},` +
		`{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"the shot"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]},` +
		`{"type":"text","text":"and now?"}]}]}`
	var o *vendor
	o = newVendor(t, strictly(says(200, chatAnswer), &o))
	r := bothRig(t, "claude", newVendor(t, says(529, anthropicBusy)), o)
	if got := r.ask(t, "/v1/messages", body); got.status != 200 {
		t.Fatalf("%d: %s", got.status, got.body)
	}
	var sent struct {
		Messages []struct {
			Role       string
			Content    json.RawMessage
			ToolCallID string                `json:"tool_call_id"`
			ToolCalls  []struct{ ID string } `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(o.last(t).body, &sent); err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, m := range sent.Messages {
		roles = append(roles, m.Role)
	}
	m := sent.Messages
	if strings.Join(roles, " ") != "user assistant tool tool user" || len(m[1].ToolCalls) != 2 ||
		m[2].ToolCallID != m[1].ToolCalls[0].ID || m[3].ToolCallID != m[1].ToolCalls[1].ID {
		t.Fatalf("sent %s", o.last(t).body)
	}
	contains(t, string(m[2].Content), "error", "no such file")
	contains(t, string(m[3].Content), "the shot")
	var parts []struct {
		Type, Text string
		ImageURL   struct{ URL string } `json:"image_url"`
	}
	if err := json.Unmarshal(m[4].Content, &parts); err != nil || len(parts) != 2 ||
		parts[0].ImageURL.URL != "data:image/png;base64,iVBORw0KGgo=" || parts[1].Text != "and now?" {
		t.Errorf("the user's message: %s", m[4].Content)
	}
}

// cutCall are the pieces of field case R05: 40 tokens of a call of save_note.
func cutCall() []string {
	call := func(c string) string { return chatChunk(`{"tool_calls":[{"index":0,`+c+`}]}`, "null") }
	return []string{
		chatChunk(chatRole, "null"),
		call(`"id":"call_note","type":"function","function":{"name":"save_note","arguments":""}`),
		call(`"function":{"arguments":"{\"title\":\"a\","}`), call(`"function":{"arguments":"\"bo"}`),
		chatChunk(`{}`, `"length"`), strings.Replace(chatUsage, `"completion_tokens":5`, `"completion_tokens":40`, 1), chatDone,
	}
}

const askNote = `{"model":"gpt","max_tokens":40,"tools":[{"name":"save_note","input_schema":{"type":"object",` +
	`"properties":{"title":{"type":"string"},"body":{"type":"string"}}}}],"messages":[{"role":"user","content":"note it"}]}`

// TestTranslation_CutToolCall is field case R05, streamed and not.
func TestTranslation_CutToolCall(t *testing.T) {
	t.Parallel()
	t.Run("streamed", func(t *testing.T) {
		t.Parallel()
		r := bothRig(t, "gpt", newVendor(t, says(529, anthropicBusy)), newVendor(t, streams(cutCall()...)))
		got := r.ask(t, "/v1/messages", strings.Replace(askNote, `"max_tokens":40`, `"max_tokens":40,"stream":true`, 1))
		contains(t, got.body, `"stop_reason":"max_tokens"`, `"output_tokens":40`, `"type":"content_block_stop","index":0`, "message_stop")
		if strings.Contains(got.body, `"stop_reason":"tool_use"`) {
			t.Errorf("half a call is announced as a whole one:\n%s", got.body)
		}
	})
	whole := func(message string) reply {
		answer := `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-1","choices":[{"index":0,"message":` + message +
			`,"finish_reason":"length"}],"usage":{"prompt_tokens":12,"completion_tokens":40,"total_tokens":52}}`
		r := bothRig(t, "gpt", newVendor(t, says(529, anthropicBusy)), newVendor(t, says(200, answer)))
		return r.ask(t, "/v1/messages", askNote)
	}
	const half = `{"id":"call_note","type":"function","function":{"name":"save_note","arguments":"{\"title\":\"a\",\"bo"}}`
	const full = `{"id":"call_note","type":"function","function":{"name":"save_note","arguments":"{\"title\":\"a\",\"body\":\"b\"}"}}`
	for name, tt := range map[string]struct {
		message string
		calls   int
	}{
		"whole answer":              {`{"role":"assistant","content":null,"tool_calls":[` + half + `]}`, 0},
		"a whole call, then a text": {`{"role":"assistant","content":"and th","tool_calls":[` + full + `]}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := whole(tt.message)
			m := decode[message](t, got)
			calls := 0
			for _, b := range m.Content {
				if b.Type == "tool_use" {
					calls++
				}
			}
			if got.status != 200 || m.StopReason != "max_tokens" || m.Usage.Output != 40 || calls != tt.calls {
				t.Errorf("%d: %s", got.status, got.body)
			}
		})
	}
}

// TestTranslation_CallCutWithItsStream holds that a call which was cut with its
// connection ends in an error event and in nothing else (R6.4).
func TestTranslation_CallCutWithItsStream(t *testing.T) {
	t.Parallel()
	r := bothRig(t, "gpt", newVendor(t, says(529, anthropicBusy)), newVendor(t, cutAfter(cutCall()[:4]...)))
	got := r.ask(t, "/v1/messages", strings.Replace(askNote, `"max_tokens":40`, `"max_tokens":40,"stream":true`, 1))
	contains(t, got.body, `"partial_json":"\"bo"`, "event: error\n")
	for _, end := range []string{"content_block_stop", "message_delta", "message_stop"} {
		if strings.Contains(got.body, end) {
			t.Errorf("half a call has a %s:\n%s", end, got.body)
		}
	}
}

// TestTranslation_LongToolNames holds that a name which the target can't take
// comes back as the caller knows it.
func TestTranslation_LongToolNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("name_", 20)
	var o *vendor
	o = newVendor(t, func(w http.ResponseWriter, r *http.Request) {
		var sent struct {
			Tools []struct{ Function struct{ Name string } }
		}
		if err := json.Unmarshal(o.last(t).body, &sent); err != nil || len(sent.Tools[0].Function.Name) > 64 {
			says(400, `{"error":{"message":"string too long","type":"invalid_request_error"}}`)(w, r)
			return
		}
		says(200, `{"id":"chatcmpl-1","model":"gpt-1","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[`+
			`{"id":"call_a","type":"function","function":{"name":"`+sent.Tools[0].Function.Name+`","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)(w, r)
	})
	r := bothRig(t, "claude", newVendor(t, says(529, anthropicBusy)), o)
	got := r.ask(t, "/v1/messages", strings.NewReplacer("save_note", long, `"model":"gpt"`, `"model":"claude"`).Replace(askNote))
	contains(t, got.body, `"name":"`+long+`"`, `"stop_reason":"tool_use"`)
	if d := r.tape.decision(t, 1); d.Target != "gpt" || d.Situation != core.SituationFallback {
		t.Errorf("decision %+v", d)
	}
}

// TestTranslation_LossesOfTheAnswerAreRecorded holds that what of an answer the
// caller's format has no place for is in the record, whole or streamed.
func TestTranslation_LossesOfTheAnswerAreRecorded(t *testing.T) {
	t.Parallel()
	chunks := streams(chatChunk(`{"role":"assistant","reasoning_content":"hm"}`, "null"), chatChunk(`{"content":"x"}`, "null"), chatChunk(`{}`, `"stop"`), chatDone)
	answer := strings.Replace(chatAnswer, `"role":"assistant",`, `"role":"assistant","reasoning_content":"hm",`, 1)
	for name, tt := range map[string]struct {
		script http.HandlerFunc
		ask    string
	}{
		"streamed": {chunks, askMessagesStream}, "whole": {says(200, answer), askMessages},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := bothRig(t, "gpt", newVendor(t, says(529, anthropicBusy)), newVendor(t, tt.script))
			if got := r.ask(t, "/v1/messages", strings.Replace(tt.ask, `"claude"`, `"gpt"`, 1)); got.status != 200 || strings.Contains(got.body, "hm") {
				t.Errorf("%d: %s", got.status, got.body)
			}
			if d := r.tape.decision(t, 1); !slices.Contains(d.Warnings, "answer: thinking dropped") {
				t.Errorf("warnings %q", d.Warnings)
			}
		})
	}
}
