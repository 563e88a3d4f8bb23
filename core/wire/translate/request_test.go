package translate_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/translate"
	"github.com/spillway-llm/spillway/core/wire/wiretest"
)

// able is a target that can do everything and of which nothing else is known.
func able() *core.Target {
	return &core.Target{
		Model: "m", MaxOutput: 100,
		Capabilities: core.Capabilities{Tools: true, Images: true, Documents: true, JSONSchema: true, Thinking: true, Prefill: true},
	}
}

// blocked checks that a body is not portable to a target because of what is at
// the paths, and that everything that blocks it is told at once.
func blocked(t *testing.T, from, to core.Wire, doc string, target *core.Target, paths ...string) {
	t.Helper()
	f, err := translate.Request(from, to, []byte(doc), target)
	var e *core.Error
	if !errors.As(err, &e) || e.Kind != core.KindNotPortable || f.Body != nil {
		t.Errorf("%s:\n got %s, %v; want it blocked at %q", doc, f.Body, err, paths)
		return
	}
	want := strings.Join(paths, ", ")
	if got := strings.Join(f.Blockers, ", "); got != want {
		t.Errorf("%s:\n blocked at %q, want %q", doc, got, want)
	}
	if e.Type != want || e.Err.Error() != want || !strings.Contains(e.Message, want) {
		t.Errorf("%s:\n the error tells %q (%v), want %q", doc, e.Type, e.Err, want)
	}
}

// TestRequest_BlocksMessages has the rows of wire.md 3.1 that are not portable.
func TestRequest_BlocksMessages(t *testing.T) {
	t.Parallel()
	const hello = `"messages":[{"role":"user","content":"x"}]`
	message := func(m string) string { return `{"max_tokens":1,"messages":[{"role":"user","content":"x"},` + m + `]}` }
	block := func(b string) string { return message(`{"role":"user","content":[` + b + `]}`) }
	result := func(b string) string {
		return message(`{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[` + b + `]}]}`)
	}
	for doc, path := range map[string]string{
		block(`{"type":"image","source":{"type":"file","file_id":"f"}}`):                                                        "messages[1].content[0].source.type=file",
		block(`{"type":"image","source":{}}`):                                                                                   "messages[1].content[0].source.type=?",
		block(`{"type":"image"}`):                                                                                               "messages[1].content[0].source=absent",
		block(`{"type":"document","source":{"type":"file","file_id":"f"}}`):                                                     "messages[1].content[0].source.type=file",
		block(`{"type":"document","source":{"type":"url","url":"https://x"}}`):                                                  "messages[1].content[0].source.type=url",
		block(`{"type":"document","source":{"type":"base64","media_type":"text/rtf","data":"x"}}`):                              "messages[1].content[0].source.type=base64",
		block(`{"type":"document","citations":{"enabled":true},"source":{"type":"text","media_type":"text/plain","data":"x"}}`): "messages[1].content[0].citations.enabled",
		block(`{"type":"search_result","source":"s","title":"t","content":[],"citations":{"enabled":true}}`):                    "messages[1].content[0].citations.enabled",
		block(`{"type":"tool_result","tool_use_id":"t"}`):                                                                       "messages[1].content[0].tool_use_id=uncalled",
		block(`{"type":"thinking"}`):                                                                                            "messages[1].content[0].type=thinking",
		block(`{"type":"container_upload","file_id":"f"}`):                                                                      "messages[1].content[0].type=container_upload",
		block(`{"type":"compaction","content":"x"}`):                                                                            "messages[1].content[0].type=compaction",
		block(`{"text":"no type"}`):                                                                                             "messages[1].content[0].type=?",
		block(`{"type":"my secret prompt"}`):                                                                                    "messages[1].content[0].type=?",
		block(`{"type":"text"}`):                                                                                                "messages[1].content[0].text=absent",
		block(`{"type":"text","text":5}`):                                                                                       "messages[1].content[0].text=number",
		block(`{"type":"text","text":"a","fresh":1}`):                                                                           "messages[1].content[0].fresh",
		result(`{"type":"tool_reference","tool_name":"f"}`):                                                                     "messages[2].content[0].content[0].type=tool_reference",
		result(`{"type":"browser_state"}`):                                                                                      "messages[2].content[0].content[0].type=browser_state",
		message(`{"role":"user","content":7}`):                                                                                  "messages[1].content=number",
		message(`{"role":"user","content":"a","id":"m"}`):                                                                       "messages[1].id",
		message(`{"role":"tool","content":"a"}`):                                                                                "messages[1].role=tool",
		message(`{"role":"assistant","content":"{"}`):                                                                           "messages[1].role=assistant",
		message(`{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":"go"}`):                                                                                   "messages[1].content[0].id=unanswered",
		message(`{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}}]},{"role":"user","content":"go"}`):                                                                   "messages[1].content[0].type=server_tool_use",
		message(`{"role":"assistant","content":[{"type":"mcp_tool_use"}]},{"role":"user","content":"go"}`):                                                                                                              "messages[1].content[0].type=mcp_tool_use",
		message(`{"role":"assistant","content":[{"type":"web_search_tool_result"}]},{"role":"user","content":"go"}`):                                                                                                    "messages[1].content[0].type=web_search_tool_result",
		message(`{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{},"caller":{"type":"code_execution_20250825"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}`): "messages[1].content[0].caller.type=code_execution_20250825",
		`{"max_tokens":1,"messages":[{"role":"system","content":"x"}]}`:                                                                                                                                                 "messages[0].role=system",
		`{"max_tokens":1,"system":[{"type":"image"}],` + hello + `}`:                                                                                                                                                    "system[0].type=image",
		`{"max_tokens":1,"tools":[{"type":"bash_20250124","name":"bash"}],` + hello + `}`:                                                                                                                               "tools[0].type=bash_20250124",
		`{"max_tokens":1,"tools":[{"type":"web_search_20260318","name":"web_search"}],` + hello + `}`:                                                                                                                   "tools[0].type=web_search_20260318",
		`{"max_tokens":1,"tools":[{"type":"mcp_toolset","mcp_server_name":"s"}],` + hello + `}`:                                                                                                                         "tools[0].type=mcp_toolset",
		`{"max_tokens":1,"tools":[{"name":"f","allowed_callers":["direct","code_execution_20250825"]}],` + hello + `}`:                                                                                                  "tools[0].allowed_callers[1]=code_execution_20250825",
		`{"max_tokens":1,"tools":[{"name":"f","input_schema":true}],` + hello + `}`:                                                                                                                                     "tools[0].input_schema=boolean",
		`{"max_tokens":1,"tool_choice":{"type":"any"},` + hello + `}`:                                                                                                                                                   "tool_choice.type=any",
		`{"max_tokens":1,"tool_choice":{"type":"new"},` + hello + `}`:                                                                                                                                                   "tool_choice.type=new",
		`{"max_tokens":1,"thinking":{"type":"new"},` + hello + `}`:                                                                                                                                                      "thinking.type=new",
		`{"max_tokens":1,"thinking":{"type":"enabled","budget_tokens":"x"},` + hello + `}`:                                                                                                                              "thinking.budget_tokens=string",
		`{"max_tokens":1,"output_config":{"effort":"huge"},` + hello + `}`:                                                                                                                                              "output_config.effort=huge",
		`{"max_tokens":1,"output_config":{"task_budget":{}},` + hello + `}`:                                                                                                                                             "output_config.task_budget",
		`{"max_tokens":1,"output_config":{"format":{"type":"json_schema"}},` + hello + `}`:                                                                                                                              "output_config.format.schema=absent",
		`{"max_tokens":1,"output_format":{"type":"grammar"},` + hello + `}`:                                                                                                                                             "output_format.type=grammar",
		`{"max_tokens":1,"inference_geo":"eu",` + hello + `}`:                                                                                                                                                           "inference_geo",
		`{"max_tokens":1,"container":"c",` + hello + `}`:                                                                                                                                                                "container",
		`{"max_tokens":1,"thread":{"type":"create"},` + hello + `}`:                                                                                                                                                     "thread",
		`{"max_tokens":1,"fallbacks":[],` + hello + `}`:                                                                                                                                                                 "fallbacks",
		`{"max_tokens":1,"fallback_credit_token":"t",` + hello + `}`:                                                                                                                                                    "fallback_credit_token",
		`{"max_tokens":1,"compaction":{},` + hello + `}`:                                                                                                                                                                "compaction",
		`{"max_tokens":1,"mcp_servers":[],` + hello + `}`:                                                                                                                                                               "mcp_servers",
		`{"max_tokens":1,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]},` + hello + `}`:                                                                                                           "context_management.edits[0].type=clear_tool_uses_20250919",
		`{"max_tokens":1,"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":1}]},` + hello + `}`:                                                                                                   "context_management.edits[0].type=clear_thinking_20251015",
		`{"max_tokens":1,"metadata":{"user_id":"u","trace":1},` + hello + `}`:                                                                                                                                           "metadata.trace",
		`{"max_tokens":1,"metadata":{"user_id":5},` + hello + `}`:                                                                                                                                                       "metadata.user_id=number",
		`{"max_tokens":1,"stop_sequences":["1","2","3","4","5"],` + hello + `}`:                                                                                                                                         "stop_sequences[4]",
		`{"max_tokens":1,"stop_sequences":[5],` + hello + `}`:                                                                                                                                                           "stop_sequences[0]=number",
		`{"max_tokens":1,"temperature":"hot",` + hello + `}`:                                                                                                                                                            "temperature=string",
		`{"max_tokens":0,` + hello + `}`:                                                                                                                                                                                "max_tokens=0",
		`{"max_tokens":1,"brand_new":1,` + hello + `}`:                                                                                                                                                                  "brand_new",
		`{"max_tokens":1,"a key with spaces":1,` + hello + `}`:                                                                                                                                                          "?",
	} {
		blocked(t, core.WireAnthropic, core.WireOpenAI, doc, able(), path)
	}
}

// TestRequest_BlocksChat has the rows of wire.md 3.2 that are not portable.
func TestRequest_BlocksChat(t *testing.T) {
	t.Parallel()
	const hello = `"messages":[{"role":"user","content":"x"}]`
	message := func(m string) string { return `{"messages":[{"role":"user","content":"x"},` + m + `]}` }
	part := func(p string) string { return message(`{"role":"user","content":[` + p + `]}`) }
	call := func(c string) string {
		return message(`{"role":"assistant","content":null,"tool_calls":[` + c + `]},{"role":"tool","tool_call_id":"c","content":"x"}`)
	}
	schema := func(s string) string {
		return `{"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":` + s + `}},` + hello + `}`
	}
	for doc, path := range map[string]string{
		part(`{"type":"image_url","image_url":{"url":"ftp://x"}}`):                                    "messages[1].content[0].image_url.url",
		part(`{"type":"image_url","image_url":{"url":"data:image/tiff;base64,AAAA"}}`):                "messages[1].content[0].image_url.url",
		part(`{"type":"image_url","image_url":{"url":"data:image/png,plain"}}`):                       "messages[1].content[0].image_url.url",
		part(`{"type":"input_audio","input_audio":{"data":"x","format":"wav"}}`):                      "messages[1].content[0].type=input_audio",
		part(`{"type":"video_url","video_url":{"url":"x"}}`):                                          "messages[1].content[0].type=video_url",
		part(`{"type":"file","file":{"file_id":"f"}}`):                                                "messages[1].content[0].file.file_id",
		part(`{"type":"file","file":{"file_data":"data:text/plain;base64,AAAA","filename":"a.txt"}}`): "messages[1].content[0].file.file_data",
		part(`{"type":"file"}`):                                                          "messages[1].content[0].file=absent",
		part(`{"type":"refusal","refusal":"x"}`):                                         "messages[1].content[0].type=refusal",
		message(`{"role":"user","content":{"text":"x"}}`):                                "messages[1].content=object",
		message(`{"role":"tool","tool_call_id":"c","content":"x"}`):                      "messages[1].tool_call_id=uncalled",
		message(`{"role":"function","name":"f","content":"x"}`):                          "messages[1].name=uncalled",
		message(`{"role":"critic","content":"x"}`):                                       "messages[1].role=critic",
		message(`{"role":"assistant","audio":{"id":"a"}},{"role":"user","content":"y"}`): "messages[1].audio",
		message(`{"role":"assistant","content":"x"}`):                                    "messages[1].role=assistant",
		message(`{"role":"assistant","content":[{"type":"image_url","image_url":{"url":"https://x"}}]},{"role":"user","content":"y"}`):                     "messages[1].content",
		message(`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"y"}`): "messages[1].tool_calls[0].id=unanswered",
		call(`{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a"}}`):                                                                    "messages[1].tool_calls[0].function.arguments, messages[2].tool_call_id=uncalled",
		call(`{"id":"c","type":"function","function":{"name":"f","arguments":"[1]"}}`):                                                                     "messages[1].tool_calls[0].function.arguments, messages[2].tool_call_id=uncalled",
		call(`{"id":"c","type":"custom","custom":{"name":"f","input":"x"}}`):                                                                               "messages[1].tool_calls[0].type=custom, messages[2].tool_call_id=uncalled",
		`{"messages":[{"role":"user","content":" "}]}`:                                                                                                     "messages",
		`{"tools":[{"type":"custom","custom":{"name":"g"}}],` + hello + `}`:                                                                                "tools[0].type=custom",
		`{"tools":[{"type":"function"}],` + hello + `}`:                                                                                                    "tools[0].function=absent",
		`{"tool_choice":"required",` + hello + `}`:                                                                                                         "tool_choice=required",
		`{"tool_choice":"perhaps",` + hello + `}`:                                                                                                          "tool_choice=perhaps",
		`{"tool_choice":{"type":"custom","custom":{"name":"g"}},` + hello + `}`:                                                                            "tool_choice.type=custom",
		`{"n":2,` + hello + `}`:                                    "n=2",
		`{"logprobs":true,` + hello + `}`:                          "logprobs=true",
		`{"top_logprobs":3,` + hello + `}`:                         "top_logprobs=3",
		`{"modalities":["audio"],` + hello + `}`:                   "modalities=?",
		`{"audio":{},` + hello + `}`:                               "audio",
		`{"web_search_options":{},` + hello + `}`:                  "web_search_options",
		`{"response_format":{"type":"json_object"},` + hello + `}`: "response_format.type=json_object",
		`{"response_format":{"type":"json_schema"},` + hello + `}`: "response_format.json_schema=absent",
		schema(`{"type":"object"}`):                                "response_format.json_schema.schema.additionalProperties",
		schema(`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"properties":{"n":{"$ref":"#/$defs/n"}}}}}`): "response_format.json_schema.schema.$ref",
		schema(`{"type":"object","properties":{"a":{"$ref":"#"}}}`):                                                                 "response_format.json_schema.schema.$ref",
		`{"reasoning_effort":"huge",` + hello + `}`:                                                                                 "reasoning_effort=huge",
		`{"stop":[null],` + hello + `}`:                                                                                             "stop[0]=null",
		`{"stop":5,` + hello + `}`:                                                                                                  "stop=number",
		`{"top_p":"x",` + hello + `}`:                                                                                               "top_p=string",
		`{"user":5,` + hello + `}`:                                                                                                  "user=number",
		`{"parallel_tool_calls":"no",` + hello + `}`:                                                                                "parallel_tool_calls=string",
		`{"fresh":1,` + hello + `}`:                                                                                                 "fresh",
	} {
		blocked(t, core.WireOpenAI, core.WireAnthropic, doc, able(), strings.Split(path, ", ")...)
	}
}

// TestRequest_TellsAllBlockers holds that a caller hears of everything at once.
func TestRequest_TellsAllBlockers(t *testing.T) {
	t.Parallel()
	doc := `{"max_tokens":0,"inference_geo":"eu","thread":{},"stop_sequences":["1","2","3","4","5"],"tools":[{"type":"bash_20250124"}],` +
		`"messages":[{"role":"user","content":[{"type":"container_upload"},{"type":"document","source":{"type":"url","url":"u"}}]},{"role":"assistant","content":"{"}]}`
	f, err := translate.Request(core.WireAnthropic, core.WireOpenAI, []byte(doc), able())
	want := "inference_geo, thread, messages[0].content[0].type=container_upload, messages[0].content[1].source.type=url, " +
		"messages[1].role=assistant, max_tokens=0, stop_sequences[4], tools[0].type=bash_20250124"
	if got := strings.Join(f.Blockers, ", "); got != want {
		t.Errorf("blockers %s\nwant     %s", got, want)
	}
	var e *core.Error
	if !errors.As(err, &e) || e.Type != want {
		t.Errorf("error %v", err)
	}
	many := `{"max_tokens":1,"messages":[{"role":"user","content":[` + strings.Repeat(`{"type":"x"},`, 29) + `{"type":"x"}]}]}`
	f, err = translate.Request(core.WireAnthropic, core.WireOpenAI, []byte(many), able())
	if !errors.As(err, &e) || len(f.Blockers) != 30 || !strings.HasSuffix(e.Type, " and 22 more") {
		t.Errorf("%d blockers, error %v", len(f.Blockers), err)
	}
}

// TestRequest_BlocksByTarget has what one target takes and another does not.
func TestRequest_BlocksByTarget(t *testing.T) {
	t.Parallel()
	const hello = `"messages":[{"role":"user","content":"x"}]`
	const tools = `"tools":[{"name":"f","input_schema":{"type":"object"}}],`
	const functions = `"tools":[{"type":"function","function":{"name":"f"}}],`
	const picture = `{"type":"image","source":{"type":"url","url":"https://x"}}`
	const pdf = `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}`
	user := func(block string) string {
		return `{"max_tokens":9,"messages":[{"role":"user","content":[` + block + `]}]}`
	}
	can := func(c core.Capabilities) *core.Target { return &core.Target{Model: "m", Capabilities: c, MaxOutput: 9} }
	profile := func(p core.Profile) *core.Target { t := able(); t.Profile = p; return t }
	traits := func(r core.Traits) *core.Target { t := able(); t.Traits = r; return t }
	for name, tt := range map[string]struct {
		from   core.Wire
		doc    string
		target *core.Target
		path   string
	}{
		"no vision":          {core.WireAnthropic, user(picture), can(core.Capabilities{}), "messages[0].content[0].type=image"},
		"no vision to A":     {core.WireOpenAI, user(`{"type":"image_url","image_url":{"url":"https://x"}}`), can(core.Capabilities{}), "messages[0].content[0].image_url"},
		"no documents":       {core.WireAnthropic, user(pdf), can(core.Capabilities{}), "messages[0].content[0].type=document"},
		"no files":           {core.WireAnthropic, user(pdf), profile(core.Profile{NoFiles: true}), "messages[0].content[0].type=document"},
		"no picture by URL":  {core.WireAnthropic, user(picture), profile(core.Profile{NoImageURLs: true}), "messages[0].content[0].source.type=url"},
		"strings only":       {core.WireAnthropic, user(picture), profile(core.Profile{NoContentParts: true}), "messages[0].content[0].type=image"},
		"no tools":           {core.WireAnthropic, `{"max_tokens":9,` + tools + hello + `}`, can(core.Capabilities{}), "tools"},
		"no tools to A":      {core.WireOpenAI, `{` + functions + hello + `}`, can(core.Capabilities{}), "tools"},
		"no functions to A":  {core.WireOpenAI, `{"functions":[{"name":"f"}],` + hello + `}`, can(core.Capabilities{}), "functions"},
		"no forced tools":    {core.WireOpenAI, `{` + functions + `"tool_choice":"required",` + hello + `}`, traits(core.Traits{NoForcedTools: true}), "tool_choice=required"},
		"no named tool":      {core.WireOpenAI, `{` + functions + `"tool_choice":{"type":"function","function":{"name":"f"}},` + hello + `}`, traits(core.Traits{NoForcedTools: true}), "tool_choice.type=function"},
		"no allowed, forced": {core.WireOpenAI, `{` + functions + `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"f"}}]}},` + hello + `}`, traits(core.Traits{NoForcedTools: true}), "tool_choice.allowed_tools.mode=required"},
		"no choice":          {core.WireAnthropic, `{"max_tokens":9,` + tools + `"tool_choice":{"type":"none"},` + hello + `}`, profile(core.Profile{Refuses: []string{"tool_choice"}}), "tool_choice.type=none"},
		"no schema":          {core.WireAnthropic, `{"max_tokens":9,"output_config":{"format":{"type":"json_schema","schema":{}}},` + hello + `}`, can(core.Capabilities{}), "output_config.format"},
		"no response_format": {core.WireAnthropic, `{"max_tokens":9,"output_config":{"format":{"type":"json_schema","schema":{}}},` + hello + `}`, profile(core.Profile{Refuses: []string{"response_format"}}), "output_config.format"},
		"no schema to A":     {core.WireOpenAI, `{"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{}}},` + hello + `}`, can(core.Capabilities{}), "response_format.json_schema"},
		"no stop":            {core.WireAnthropic, `{"max_tokens":9,"stop_sequences":["a"],` + hello + `}`, traits(core.Traits{NoStop: true}), "stop_sequences"},
		"no late system":     {core.WireAnthropic, `{"max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"system","content":"y"}]}`, profile(core.Profile{NoLateSystem: true}), "messages[1].role=system"},
		"no tools on Chat":   {core.WireAnthropic, `{"max_tokens":9,` + tools + hello + `}`, traits(core.Traits{NoReasoningWithTools: true, Efforts: []string{"low"}}), "tools"},
		"no reasoning to echo": {core.WireAnthropic, `{"max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}]}`,
			profile(core.Profile{EchoReasoning: "reasoning_content"}), "messages[1].content[0].reasoning=absent"},
	} {
		to := core.WireOpenAI
		if tt.from == core.WireOpenAI {
			to = core.WireAnthropic
		}
		t.Run(name, func(t *testing.T) { blocked(t, tt.from, to, tt.doc, tt.target, tt.path) })
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
	blocked(t, "gemini", core.WireOpenAI, `{}`, able(), "gemini to openai")
	if _, err := translate.Response(core.WireOpenAI, "gemini", []byte(`{}`), 0, nil); core.KindOf(err) != core.KindBadResponse {
		t.Errorf("response: %v", err)
	}
	s := translate.NewStream("gemini", core.WireOpenAI, true, 0, nil)
	ev := wiretest.Events(t, "data: x\n\n")[0]
	if got := s.End(s.Append(nil, &ev)); len(got) != 0 || s.Err() == nil {
		t.Errorf("stream: %q, %v", got, s.Err())
	}
}
