package translate

import (
	"testing"

	"github.com/spillway-llm/spillway/core"
)

func TestCheckpoint(t *testing.T) {
	t.Parallel()
	const a, o = core.WireAnthropic, core.WireOpenAI
	for _, tc := range []struct {
		to        core.Wire
		doc, path string
	}{
		{o, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"{\"cache_control\":1}"}]}],"stop":["a"]}`, ""},
		{o, `{"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"cache_control":{}}},"strict":true}}]}`, ""},
		{o, `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`, ""},
		{a, `{"model":"m","system":[{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}],"metadata":{"user_id":"u"},"messages":[]}`, ""},
		{a, `{"messages":[{"content":[{"type":"tool_use","id":"t","name":"f","input":{"tool_call_id":1}}]}]}`, ""},
		{a, `{"messages":[{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"image","source":{"type":"url","url":"u"}}]}]}]}`, ""},
		{o, `{"model":"m","cache_control":{}}`, "cache_control"},
		{o, `{"messages":[{"role":"user"},{"content":[{"type":"text"},{"text":"x","cache_control":{}}]}]}`, "messages[1].content[1].cache_control"},
		{o, `{"tools":[{"type":"function","cache_control":{}}]}`, "tools[0].cache_control"},
		{o, `{"tools":[{"function":{"name":"f"}},{"function":{"input_schema":{}}}]}`, "tools[1].function.input_schema"},
		{o, `{"messages":[{"content":"x","reasoning_content":"x"}]}`, "messages[0].reasoning_content"},
		{o, `{"messages":[{"tool_calls":[{"function":{"arguments":"{}","input":{}}}]}]}`, "messages[0].tool_calls[0].function.input"},
		{o, `{"system":"x"}`, "system"},
		{o, `{"":"x"}`, `""`},
		{o, `{"messages":[{"":"x"}]}`, "messages[0].\"\""},
		{o, `{"top_k":1}`, "top_k"},
		{o, `{"metadata":{"user_id":"x"}}`, "metadata"},
		{a, `{"system":[{"prompt_cache_breakpoint":{}}]}`, "system[0].prompt_cache_breakpoint"},
		{a, `{"system":[{"cache_control":{"mode":1}}]}`, "system[0].cache_control.mode"},
		{a, `{"stream":true,"stream_options":{}}`, "stream_options"},
		{a, `{"messages":[{"content":[{"prompt_cache_breakpoint":{}}]}]}`, "messages[0].content[0].prompt_cache_breakpoint"},
		{a, `{"messages":[{"content":[{"content":[{"image_url":{}}]}]}]}`, "messages[0].content[0].content[0].image_url"},
		{a, `{"messages":[{"tool_calls":[]}]}`, "messages[0].tool_calls"},
		{a, `{"tools":[{"name":"f","parameters":{}}]}`, "tools[0].parameters"},
		{a, `{"metadata":{"other":1}}`, "metadata.other"},
		{a, `{"model":`, "not JSON at byte 9: expected a value"},
	} {
		if path := checkpoint(tc.to, []byte(tc.doc), &core.Profile{}); path != tc.path {
			t.Errorf("%s: refused at %q, want %q", tc.doc, path, tc.path)
		}
	}
}

// TestCheckpoint_Profile holds that what one server refuses or needs beyond the
// API decides, too.
func TestCheckpoint_Profile(t *testing.T) {
	t.Parallel()
	p := &core.Profile{Refuses: []string{"stream_options"}, Takes: []string{"top_k"}, EchoReasoning: "reasoning"}
	for doc, path := range map[string]string{
		`{"stream_options":{"include_usage":true}}`:       "stream_options",
		`{"top_k":4,"messages":[{"reasoning":"x"}]}`:      "",
		`{"messages":[{"reasoning_content":"x"}]}`:        "messages[0].reasoning_content",
		`{"safety_identifier":"u","max_tokens":1}`:        "",
		`{"messages":[{"content":[{"top_k":"nested"}]}]}`: "messages[0].content[0].top_k",
	} {
		if got := checkpoint(core.WireOpenAI, []byte(doc), p); got != path {
			t.Errorf("%s: refused at %q, want %q", doc, got, path)
		}
	}
}
