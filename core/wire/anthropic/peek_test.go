package anthropic_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire"
	"github.com/spillway-llm/spillway/core/wire/anthropic"
)

func TestPeek(t *testing.T) {
	t.Parallel()
	doc := `{"model":"claude-opus-5-5","max_tokens":1024,"stream":true,"system":"Be kind.",` +
		`"metadata":{"user_id":"u-1"},"messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi"},` +
		`{"role":"user","content":"Again"}],"unknown":{"model":"x"}}`
	var p wire.Peek
	if err := anthropic.New().Peek([]byte(doc), &p); err != nil {
		t.Fatal(err)
	}
	if p.Model != "claude-opus-5-5" || doc[p.ModelSpan[0]:p.ModelSpan[1]] != `"claude-opus-5-5"` || p.Open != 1 {
		t.Errorf("model %q, span %v, open %d", p.Model, p.ModelSpan, p.Open)
	}
	if !p.Stream || p.MaxTokens != 1024 || string(p.User) != "u-1" || p.Needs != (core.Needs{}) || p.Responses {
		t.Errorf("peek %+v", p)
	}
	if string(p.Prefix[0]) != `"Be kind."` || string(p.Prefix[1]) != `{"role":"user","content":"Hello"}` {
		t.Errorf("prefix %q", p.Prefix)
	}
	messages := doc[strings.Index(doc, "[") : strings.Index(doc, "]")+1]
	if want := (len(messages) + len(`"Be kind."`) + 3) / 4; p.InputTokens != want {
		t.Errorf("%d input tokens, want %d", p.InputTokens, want)
	}
}

func TestPeek_Needs(t *testing.T) {
	t.Parallel()
	user := func(content string) string { return `"messages":[{"role":"user","content":` + content + `}]` }
	for name, tc := range map[string]struct {
		fields string
		want   core.Needs
	}{
		"nothing":             {user(`"x"`), core.Needs{}},
		"tools":               {user(`"x"`) + `,"tools":[{"name":"a"}]`, core.Needs{Tools: true}},
		"no_tools":            {user(`"x"`) + `,"tools":[],"tool_choice":null`, core.Needs{}},
		"tool_choice":         {user(`"x"`) + `,"tool_choice":{"type":"any"}`, core.Needs{Tools: true}},
		"image":               {user(`[{"type":"image","source":{}}]`), core.Needs{Images: true}},
		"image_spaced":        {user("[{\"source\":{},\"type\" :\n\t\"image\"}]"), core.Needs{Images: true}},
		"image_in_result":     {user(`[{"type":"tool_result","content":[{"type":"image"}]}]`), core.Needs{Images: true}},
		"document":            {user(`[{"type":"document"}]`), core.Needs{Documents: true}},
		"quoted_image":        {user(`"say {\"type\":\"image\"} and \"type\": \"document\""`), core.Needs{}},
		"image_in_tool_input": {user(`[{"type":"tool_use","input":{"type":"image"}}]`), core.Needs{}},
		"escaped_type":        {user(`[{"type":"im\u0061ge"}]`), core.Needs{Images: true}},
		"blocks_of_no_kind":   {user(`[1,{"type":7},[{"type":"image"}]]`), core.Needs{}},
		"ends_like_a_type":    {user(`[{"type":"text","text":"\"type\":\"image"},{"x\"type":"image"}]`), core.Needs{}},
		"image_as_text":       {user(`[{"type":"text","text":"image"}]`), core.Needs{}},
		"json_schema":         {user(`"x"`) + `,"output_config":{"effort":"low","format":{"type":"json_schema"}}`, core.Needs{JSONSchema: true}},
		"old_json_schema":     {user(`"x"`) + `,"output_format":{"type":"json_schema"}`, core.Needs{JSONSchema: true}},
		"effort_only":         {user(`"x"`) + `,"output_config":{"effort":"low"}`, core.Needs{}},
		"thinking":            {user(`"x"`) + `,"thinking":{"type":"adaptive"}`, core.Needs{Thinking: true}},
		"thinking_off":        {user(`"x"`) + `,"thinking":{"type":"disabled"}`, core.Needs{}},
		"prefill":             {`"messages":[{"role":"user","content":"x"},{"content":"{","role":"assistant"}]`, core.Needs{Prefill: true}},
		"escaped_name":        {user(`"x"`) + `,"th\u0069nking":{"type":"enabled"}`, core.Needs{Thinking: true}},
	} {
		var p wire.Peek
		if err := anthropic.New().Peek([]byte(`{"max_tokens":1,`+tc.fields+`}`), &p); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if p.Needs != tc.want || p.Model != "" || p.ModelSpan != [2]int{} {
			t.Errorf("%s: %+v, want needs %+v", name, p, tc.want)
		}
	}
}

func TestPeek_RefusesAndSaysWhatToMend(t *testing.T) {
	t.Parallel()
	const good = `"max_tokens":1,"messages":[{"role":"user","content":"x"}]`
	for doc, want := range map[string]string{
		``:                               "The body is not JSON at byte 0: expected a value. Send one JSON object.",
		`hello`:                          "The body must be one JSON object, not text that is not JSON.",
		`[]`:                             "The body must be one JSON object, not an array.",
		`{` + good:                       "The body is not JSON at byte 58: expected ',' or '}'. Send one JSON object.",
		`{` + good + `}x`:                "The body is not JSON at byte 59: expected nothing after the value. Send one JSON object.",
		`{"max_tokens":1}`:               `The field "messages" is missing. Send the conversation as an array of messages.`,
		`{"messages":[{}]}`:              `messages[0] has no role. Set it to "user", "assistant" or "system".`,
		`{"messages":[{"role":"user"}]}`: `The field "max_tokens" is missing. Set it to the most tokens that the answer may have.`,
		`{"max_tokens":1,"messages":{}}`: `"messages" must be an array, not an object.`,
		`{"max_tokens":1,"messages":[]}`: `"messages" is empty. Send at least one message.`,
		`{"max_tokens":1,"messages":[{"role":"user"},7]}`: `messages[1] must be an object with role and content, not a number.`,
		`{"max_tokens":1,"messages":[{"role":null}]}`:     `messages[0].role must be a string.`,
		`{"model":5,` + good + `}`:                        `"model" must be a string, not a number.`,
		`{"stream":"yes",` + good + `}`:                   `"stream" must be true or false, not a string.`,
		`{"max_tokens":-1}`:                               `"max_tokens" must be a whole number of at least 0. Correct it or leave it out.`,
		`{"max_tokens":1.5}`:                              `"max_tokens" must be a whole number of at least 0. Correct it or leave it out.`,
		`{"max_tokens":"9"}`:                              `"max_tokens" must be a whole number of at least 0. Correct it or leave it out.`,
		`{"system":1}`:                                    `"system" must be a string or an array of text blocks. Correct it or leave it out.`,
		`{"tools":{}}`:                                    `"tools" must be an array, not an object.`,
		`{"thinking":true}`:                               `"thinking" must be an object, not true or false.`,
		`{"model":"a","model":"b",` + good + `}`:          `The body has the field "model" twice. Send it once.`,
		`{"model":"a",` + good + `,"mod\u0065l":"b"}`:     `The body has the field "model" twice. Send it once.`,
		`{"stream":false,"stream":true,` + good + `}`:     `The body has the field "stream" twice. Send it once.`,
		`{` + good + `,"a":` + strings.Repeat("[", 300):   "The body is not JSON at byte 318: expected at most 256 nested values. Send one JSON object.",
	} {
		var p wire.Peek
		err := anthropic.New().Peek([]byte(doc), &p)
		var e *core.Error
		if !errors.As(err, &e) || e.Kind != core.KindInvalidRequest || e.Status != 400 {
			t.Errorf("%.60s: %v, want an invalid request", doc, err)
		} else if e.Message != want {
			t.Errorf("%.60s:\n got %s\nwant %s", doc, e.Message, want)
		}
	}
}

func TestPeek_AllocatesTheModelOnly(t *testing.T) {
	doc := []byte(`{"model":"claude-opus-5-5","max_tokens":1024,"messages":[{"role":"user","content":"` + strings.Repeat("words ", 300) + `"}]}`)
	var p wire.Peek
	f := anthropic.New()
	if allocs := testing.AllocsPerRun(100, func() { _ = f.Peek(doc, &p) }); allocs > 1 {
		t.Errorf("%v allocations, want 1", allocs)
	}
}

func TestNative(t *testing.T) {
	t.Parallel()
	const rest = `"max_tokens":1,  "x_new" : {"model":"keep"},"messages":[{"role":"user","content":"\u00e9é"}]}`
	for name, tc := range map[string]struct{ doc, model, want string }{
		"same_model":    {`{"model":"a",` + rest, "a", `{"model":"a",` + rest},
		"other_model":   {`{"model" : "a",` + rest, "b\"c", `{"model" : "b\"c",` + rest},
		"no_model":      {`{ ` + rest, "b", `{"model":"b", ` + rest},
		"null_model":    {`{"model":null,` + rest, "b", `{"model":"b",` + rest},
		"escaped_model": {`{"model":"\u0061",` + rest, "a", `{"model":"\u0061",` + rest},
	} {
		var p wire.Peek
		if err := anthropic.New().Peek([]byte(tc.doc), &p); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := string(anthropic.New().Native([]byte("# "), []byte(tc.doc), &p, &core.Target{Model: tc.model}))
		if got != "# "+tc.want {
			t.Errorf("%s:\n got %s\nwant # %s", name, got, tc.want)
		}
	}
}

// FuzzPeek holds that Peek takes JSON objects only, and that what Native makes
// of them is JSON that names the model.
func FuzzPeek(f *testing.F) {
	f.Add([]byte(`{"model":"a","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`))
	f.Add([]byte(`{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"image"}]}],"system":[]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var p wire.Peek
		format := anthropic.New()
		if format.Peek(doc, &p) != nil {
			return
		}
		if !json.Valid(doc) {
			t.Fatalf("%q was taken for JSON", doc)
		}
		var got struct{ Model string }
		native := format.Native(nil, doc, &p, &core.Target{Model: "spillway-x"})
		if err := json.Unmarshal(native, &got); err != nil || got.Model != "spillway-x" {
			t.Fatalf("%q became %q: model %q, %v", doc, native, got.Model, err)
		}
	})
}

func BenchmarkPeek(b *testing.B) {
	doc := []byte(`{"model":"claude-opus-5-5","max_tokens":1024,"messages":[{"role":"user","content":"` + strings.Repeat("words ", 320) + `"}]}`)
	var p wire.Peek
	f := anthropic.New()
	b.ReportAllocs()
	for b.Loop() {
		if err := f.Peek(doc, &p); err != nil {
			b.Fatal(err)
		}
	}
}
