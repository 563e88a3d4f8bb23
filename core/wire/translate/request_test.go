package translate_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/sse"
	"github.com/spillway-llm/spillway/core/wire"
	"github.com/spillway-llm/spillway/core/wire/translate"
	"github.com/spillway-llm/spillway/core/wire/wiretest"
)

// blocked checks that a body is not portable because of what is at the path.
func blocked(t *testing.T, from, to core.Wire, doc, path string) {
	t.Helper()
	f, err := translate.Request(from, to, []byte(doc), &core.Target{Model: "m", MaxOutput: 100})
	var e *core.Error
	if !errors.As(err, &e) || e.Kind != core.KindNotPortable {
		t.Errorf("%s:\n got %s, %v; want it blocked at %s", doc, f.Body, err, path)
		return
	}
	if e.Type != path || e.Err.Error() != path || !strings.Contains(e.Message, path) {
		t.Errorf("%s:\n blocked at %q (%v), want %q", doc, e.Type, e.Err, path)
	}
}

func TestRequest_BlocksMessages(t *testing.T) {
	t.Parallel()
	const hello = `"messages":[{"role":"user","content":"x"}]`
	message := func(m string) string { return `{"max_tokens":1,"messages":[{"role":"user","content":"x"},` + m + `]}` }
	for doc, path := range map[string]string{
		message(`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{}}]}`): "messages[1].content[1].type=image",
		message(`{"role":"user","content":[{"type":"document"}]}`):                                     "messages[1].content[0].type=document",
		message(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}`):                "messages[1].content[0].type=tool_result",
		message(`{"role":"user","content":[{"type":"thinking"}]}`):                                     "messages[1].content[0].type=thinking",
		message(`{"role":"user","content":[{"text":"no type"}]}`):                                      "messages[1].content[0].type=?",
		message(`{"role":"user","content":[{"type":"my secret prompt"}]}`):                             "messages[1].content[0].type=?",
		message(`{"role":"user","content":[{"type":"text"}]}`):                                         "messages[1].content[0].text=absent",
		message(`{"role":"user","content":[{"type":"text","text":5}]}`):                                "messages[1].content[0].text=number",
		message(`{"role":"user","content":[{"type":"text","text":"a","fresh":1}]}`):                    "messages[1].content[0].fresh",
		message(`{"role":"user","content":7}`):                                                         "messages[1].content=number",
		message(`{"role":"user","content":"a","id":"m"}`):                                              "messages[1].id",
		message(`{"role":"tool","content":"a"}`):                                                       "messages[1].role=tool",
		message(`{"role":"assistant","content":"{"}`):                                                  "messages[1].role=assistant",
		`{"max_tokens":1,"messages":[{"role":"system","content":"x"}]}`:                                "messages[0].role=system",
		`{"max_tokens":1,"system":[{"type":"image"}],` + hello + `}`:                                   "system[0].type=image",
		`{"max_tokens":1,"tools":[{"name":"f"}],` + hello + `}`:                                        "tools",
		`{"max_tokens":1,"tool_choice":{"type":"any"},` + hello + `}`:                                  "tool_choice",
		`{"max_tokens":1,"thinking":{"type":"adaptive"},` + hello + `}`:                                "thinking.type=adaptive",
		`{"max_tokens":1,"thinking":{"type":"enabled","budget_tokens":1024},` + hello + `}`:            "thinking.type=enabled",
		`{"max_tokens":1,"output_config":{"format":{"type":"json_schema"}},` + hello + `}`:             "output_config.format",
		`{"max_tokens":1,"output_format":{"type":"json_schema"},` + hello + `}`:                        "output_format",
		`{"max_tokens":1,"inference_geo":"eu",` + hello + `}`:                                          "inference_geo",
		`{"max_tokens":1,"container":"c",` + hello + `}`:                                               "container",
		`{"max_tokens":1,"context_management":{},` + hello + `}`:                                       "context_management",
		`{"max_tokens":1,"mcp_servers":[],` + hello + `}`:                                              "mcp_servers",
		`{"max_tokens":1,"metadata":{"user_id":"u","trace":1},` + hello + `}`:                          "metadata.trace",
		`{"max_tokens":1,"metadata":{"user_id":5},` + hello + `}`:                                      "metadata.user_id=number",
		`{"max_tokens":1,"stop_sequences":["1","2","3","4","5"],` + hello + `}`:                        "stop_sequences[4]",
		`{"max_tokens":1,"stop_sequences":[5],` + hello + `}`:                                          "stop_sequences[0]=number",
		`{"max_tokens":1,"temperature":"hot",` + hello + `}`:                                           "temperature=string",
		`{"max_tokens":0,` + hello + `}`:                                                               "max_tokens=0",
		`{"max_tokens":1,"brand_new":1,` + hello + `}`:                                                 "brand_new",
		`{"max_tokens":1,"a key with spaces":1,` + hello + `}`:                                         "?",
	} {
		blocked(t, core.WireAnthropic, core.WireOpenAI, doc, path)
	}
}

func TestRequest_BlocksChat(t *testing.T) {
	t.Parallel()
	const hello = `"messages":[{"role":"user","content":"x"}]`
	message := func(m string) string { return `{"messages":[{"role":"user","content":"x"},` + m + `]}` }
	for doc, path := range map[string]string{
		message(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}`): "messages[1].content[0].type=image_url",
		message(`{"role":"user","content":[{"type":"file"}]}`):                              "messages[1].content[0].type=file",
		message(`{"role":"user","content":[{"type":"refusal","refusal":"x"}]}`):             "messages[1].content[0].type=refusal",
		message(`{"role":"user","content":{"text":"x"}}`):                                   "messages[1].content=object",
		message(`{"role":"tool","tool_call_id":"c","content":"x"}`):                         "messages[1].tool_call_id",
		message(`{"role":"function","content":"x"}`):                                        "messages[1].role=function",
		message(`{"role":"assistant","content":null,"tool_calls":[{"id":"c"}]}`):            "messages[1].tool_calls",
		message(`{"role":"assistant","content":"x","refusal":"no"}`):                        "messages[1].refusal",
		message(`{"role":"assistant","content":"x"}`):                                       "messages[1].role=assistant",
		`{"messages":[{"role":"user","content":" "}]}`:                                      "messages",
		`{"tools":[{"type":"function"}],` + hello + `}`:                                     "tools",
		`{"functions":[{"name":"f"}],` + hello + `}`:                                        "functions",
		`{"tool_choice":"auto",` + hello + `}`:                                              "tool_choice",
		`{"n":2,` + hello + `}`:                                                             "n=2",
		`{"logprobs":true,` + hello + `}`:                                                   "logprobs=true",
		`{"top_logprobs":3,` + hello + `}`:                                                  "top_logprobs=3",
		`{"modalities":["audio"],` + hello + `}`:                                            "modalities=?",
		`{"audio":{},` + hello + `}`:                                                        "audio",
		`{"web_search_options":{},` + hello + `}`:                                           "web_search_options",
		`{"response_format":{"type":"json_object"},` + hello + `}`:                          "response_format.type=json_object",
		`{"response_format":{"type":"json_schema"},` + hello + `}`:                          "response_format.type=json_schema",
		`{"reasoning_effort":"high",` + hello + `}`:                                         "reasoning_effort=high",
		`{"stop":[null],` + hello + `}`:                                                     "stop[0]=null",
		`{"stop":5,` + hello + `}`:                                                          "stop=number",
		`{"top_p":"x",` + hello + `}`:                                                       "top_p=string",
		`{"user":5,` + hello + `}`:                                                          "user=number",
		`{"fresh":1,` + hello + `}`:                                                         "fresh",
	} {
		blocked(t, core.WireOpenAI, core.WireAnthropic, doc, path)
	}
}

func TestRequest_NeedsALimit(t *testing.T) {
	t.Parallel()
	doc := []byte(`{"messages":[{"role":"user","content":"x"}]}`)
	_, err := translate.Request(core.WireOpenAI, core.WireAnthropic, doc, &core.Target{Model: "m"})
	var e *core.Error
	if !errors.As(err, &e) || e.Type != "max_completion_tokens=absent" {
		t.Errorf("a target without a known limit: %v", err)
	}
}

func TestUnknownDirections(t *testing.T) {
	t.Parallel()
	blocked(t, "gemini", core.WireOpenAI, `{}`, "gemini to openai")
	if _, err := translate.Response(core.WireOpenAI, "gemini", []byte(`{}`), 0, nil); core.KindOf(err) != core.KindBadResponse {
		t.Errorf("response: %v", err)
	}
	s := translate.NewStream("gemini", core.WireOpenAI, true, 0, nil)
	ev := wiretest.Events(t, "data: x\n\n")[0]
	if got := s.End(s.Append(nil, &ev)); len(got) != 0 || s.Err() == nil {
		t.Errorf("stream: %q, %v", got, s.Err())
	}
}

// FuzzRequest holds that whatever a body says, the other vendor gets either
// nothing or a plain request in its own form.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"max_tokens":1,"system":"s","messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{}}]}]}`), true)
	f.Add([]byte(`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"x"}],"stop":["a"],"user":"u"}`), false)
	f.Fuzz(func(t *testing.T, doc []byte, fromAnthropic bool) {
		from, to := core.WireOpenAI, core.WireAnthropic
		if fromAnthropic {
			from, to = to, from
		}
		var p wire.Peek
		if format(from).Peek(doc, &p) != nil || p.Responses {
			return
		}
		form, err := translate.Request(from, to, doc, &core.Target{Model: "m", MaxOutput: 100})
		if err != nil {
			if core.KindOf(err) != core.KindNotPortable {
				t.Fatalf("%q: %v", doc, err)
			}
			return
		}
		var q wire.Peek
		if err := format(to).Peek(form.Body, &q); err != nil || q.Model != "m" || q.Stream != p.Stream || q.Needs != (core.Needs{}) {
			t.Fatalf("%q became %q: %+v, %v", doc, form.Body, q, err)
		}
	})
}

// FuzzStream holds that no event breaks a translator, and that what it writes is
// never whole when the source was not.
func FuzzStream(f *testing.F) {
	f.Add("message_start", `{"message":{"id":"msg_1","model":"m"}}`, "message_stop", `{}`, true)
	f.Add("", `{"id":"1","choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`, "", `[DONE]`, false)
	f.Fuzz(func(t *testing.T, name1, data1, name2, data2 string, fromAnthropic bool) {
		from, to := core.WireOpenAI, core.WireAnthropic
		if fromAnthropic {
			from, to = to, from
		}
		s := translate.NewStream(from, to, true, 0, nil)
		source, caller := format(from).NewFollower(), format(to).NewFollower()
		var got []byte
		for _, e := range [][2]string{{name1, data1}, {name2, data2}} {
			ev := event(e[0], e[1])
			if source.Follow(&ev) == wire.MarkError {
				return
			}
			got = s.Append(got, &ev)
		}
		if source.Err() == nil {
			got = s.End(got)
		}
		for _, ev := range wiretest.Events(t, string(got)) {
			caller.Follow(&ev)
		}
		if caller.Err() == nil && source.Err() != nil {
			t.Fatalf("a stream that was cut (%v) became whole: %q", source.Err(), got)
		}
	})
}

func event(name, data string) sse.Event { return sse.Event{Name: []byte(name), Data: []byte(data)} }
