package openai_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire"
	"github.com/spillway-llm/spillway/core/wire/openai"
)

const hello = `"messages":[{"role":"user","content":"x"}]`

func peek(t *testing.T, doc string) wire.Peek {
	t.Helper()
	var p wire.Peek
	if err := openai.New().Peek([]byte(doc), &p); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return p
}

func TestPeek(t *testing.T) {
	t.Parallel()
	doc := `{"model":"gpt-6-sol","max_completion_tokens":256,"stream":true,"stream_options":{"include_usage":true},"user":"old",` +
		`"safety_identifier":"u-1","messages":[{"role":"developer","content":"Be kind."},{"role":"user","content":"Hello"}]}`
	p := peek(t, doc)
	if p.Model != "gpt-6-sol" || doc[p.ModelSpan[0]:p.ModelSpan[1]] != `"gpt-6-sol"` {
		t.Errorf("model %q at %v", p.Model, p.ModelSpan)
	}
	if !p.Stream || !p.WantsUsage || p.MaxTokens != 256 || string(p.User) != "u-1" || p.Needs != (core.Needs{}) {
		t.Errorf("peek %+v", p)
	}
	if doc[p.StreamOptionsSpan[0]:p.StreamOptionsSpan[1]] != `{"include_usage":true}` {
		t.Errorf("stream options at %v", p.StreamOptionsSpan)
	}
	if string(p.Prefix[0]) != `{"role":"developer","content":"Be kind."}` || string(p.Prefix[1]) != `{"role":"user","content":"Hello"}` {
		t.Errorf("prefix %q", p.Prefix)
	}
	messages := doc[strings.Index(doc, "[") : len(doc)-1]
	if want := (len(messages) + 3) / 4; p.InputTokens != want {
		t.Errorf("%d input tokens, want %d", p.InputTokens, want)
	}
	if p := peek(t, `{"safety_identifier":"new","user":"old",`+hello+`}`); string(p.User) != "new" {
		t.Errorf("user %q", p.User)
	}
}

func TestPeek_Needs(t *testing.T) {
	t.Parallel()
	user := func(content string) string { return `"messages":[{"role":"user","content":` + content + `}]` }
	for name, tc := range map[string]struct {
		fields string
		want   core.Needs
	}{
		"nothing":      {hello, core.Needs{}},
		"nulls":        {hello + `,"tools":null,"functions":null,"response_format":null,"reasoning_effort":null,"user":null`, core.Needs{}},
		"tools":        {hello + `,"tools":[{"type":"function"}]`, core.Needs{Tools: true}},
		"functions":    {hello + `,"functions":[{"name":"f"}]`, core.Needs{Tools: true}},
		"no_tools":     {hello + `,"tools":[]`, core.Needs{}},
		"image":        {user(`[{"type":"image_url","image_url":{"url":"x"}}]`), core.Needs{Images: true}},
		"file":         {user(`[{"type":"file"}]`), core.Needs{Documents: true}},
		"audio":        {user(`[{"type":"input_audio"}]`), core.Needs{Documents: true}},
		"quoted_file":  {user(`"{\"type\":\"file\"}"`), core.Needs{}},
		"json_schema":  {hello + `,"response_format":{"type":"json_schema"}`, core.Needs{JSONSchema: true}},
		"json_object":  {hello + `,"response_format":{"type":"json_object"}`, core.Needs{JSONSchema: true}},
		"text_format":  {hello + `,"response_format":{"type":"text"}`, core.Needs{}},
		"thinking":     {hello + `,"reasoning_effort":"minimal"`, core.Needs{Thinking: true}},
		"thinking_off": {hello + `,"reasoning_effort":"none"`, core.Needs{}},
		"prefill":      {`"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"{"}]`, core.Needs{Prefill: true}},
	} {
		if p := peek(t, `{`+tc.fields+`}`); p.Needs != tc.want {
			t.Errorf("%s: %+v, want %+v", name, p.Needs, tc.want)
		}
	}
}

func TestPeek_Responses(t *testing.T) {
	t.Parallel()
	if p := peek(t, `{"model":"gpt-6-sol","input":"hi"}`); !p.Responses {
		t.Error("a body with input and no messages was not recognised")
	}
	if p := peek(t, `{"input":"hi",`+hello+`}`); p.Responses {
		t.Error("a body with messages was taken for a Responses body")
	}
}

func TestPeek_RefusesAndSaysWhatToMend(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		`{"model":"x"}`:                  `The field "messages" is missing. Send the conversation as an array of messages.`,
		`{"model":"x",` + hello:          "The body is not JSON at byte 55: expected ',' or '}'. Send one JSON object.",
		`"text"`:                         "The body must be one JSON object, not a string.",
		`{"max_tokens":0,` + hello + `}`: `"max_tokens" must be a whole number of at least 1. Correct it or leave it out.`,
		`{"max_completion_tokens":1e3}`:  `"max_completion_tokens" must be a whole number of at least 1. Correct it or leave it out.`,
		`{"stream":1,` + hello + `}`:     `"stream" must be true or false, not a number.`,
		`{"stream_options":[],` + hello:  `"stream_options" must be an object, not an array.`,
		`{"messages":"hi"}`:              `"messages" must be an array, not a string.`,
		`{"messages":[{"content":"x"}]}`: `messages[0] has no role. Set it to "user", "assistant" or "system".`,
		`{"reasoning_effort":3}`:         `"reasoning_effort" must be a string, not a number.`,
		`{` + hello + `,` + hello + `}`:  `The body has the field "messages" twice. Send it once.`,
		`{"stream_options":null,"stream_options":null,` + hello + `}`: `The body has the field "stream_options" twice. Send it once.`,
	} {
		var p wire.Peek
		err := openai.New().Peek([]byte(doc), &p)
		var e *core.Error
		if !errors.As(err, &e) || e.Kind != core.KindInvalidRequest || e.Message != want {
			t.Errorf("%.70s:\n got %v\nwant %s", doc, err, want)
			if e != nil {
				t.Log(e.Message)
			}
		}
	}
}

func TestNative(t *testing.T) {
	t.Parallel()
	const tail = hello + `,"x_new":{"a": 1}}`
	for name, tc := range map[string]struct{ doc, model, want string }{
		"unchanged":        {`{"model":"a",` + tail, "a", `{"model":"a",` + tail},
		"other_model":      {`{"model":"a",` + tail, "b", `{"model":"b",` + tail},
		"no_model":         {`{` + tail, "b", `{"model":"b",` + tail},
		"usage_added":      {`{"stream":true,` + tail, "", `{"stream_options":{"include_usage":true},"stream":true,` + tail},
		"usage_and_model":  {`{"stream":true,` + tail, "b", `{"model":"b","stream_options":{"include_usage":true},"stream":true,` + tail},
		"usage_false":      {`{"stream":true,"stream_options":{"include_usage": false ,"include_obfuscation":false},` + tail, "", `{"stream":true,"stream_options":{"include_usage": true ,"include_obfuscation":false},` + tail},
		"usage_merged":     {`{"stream":true,"stream_options":{ "include_obfuscation":false},` + tail, "", `{"stream":true,"stream_options":{"include_usage":true, "include_obfuscation":false},` + tail},
		"options_empty":    {`{"stream":true,"stream_options":{ },` + tail, "", `{"stream":true,"stream_options":{"include_usage":true},` + tail},
		"options_null":     {`{"stream":true,"stream_options":null,` + tail, "", `{"stream":true,"stream_options":{"include_usage":true},` + tail},
		"asked_already":    {`{"stream":true,"stream_options":{"include_usage":true},` + tail, "", `{"stream":true,"stream_options":{"include_usage":true},` + tail},
		"no_stream":        {`{"stream":false,"stream_options":{"include_usage":false},` + tail, "", `{"stream":false,"stream_options":{"include_usage":false},` + tail},
		"model_after_opts": {`{"stream":true,"stream_options":null,"model":"a",` + tail, "b", `{"stream":true,"stream_options":{"include_usage":true},"model":"b",` + tail},
	} {
		p := peek(t, tc.doc)
		if got := string(openai.New().Native(nil, []byte(tc.doc), &p, &core.Target{Model: tc.model})); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tc.want)
		}
	}
}

// TestNative_KeepsAskingForUsageWhereItMay holds that a server which refuses
// stream_options gets none that its caller did not write.
func TestNative_KeepsAskingForUsageWhereItMay(t *testing.T) {
	t.Parallel()
	doc := `{"model":"a","stream":true,` + hello + `}`
	p := peek(t, doc)
	refusing := &core.Target{Model: "a", Profile: core.Profile{Refuses: []string{"stream_options"}}}
	if got := string(openai.New().Native(nil, []byte(doc), &p, refusing)); got != doc {
		t.Errorf("the body became %s", got)
	}
	if got := string(openai.New().Native(nil, []byte(doc), &p, &core.Target{Model: "a"})); !strings.Contains(got, "include_usage") {
		t.Errorf("no usage is asked for: %s", got)
	}
}

func TestNative_AllocatesNothingForAnUnchangedBody(t *testing.T) {
	doc := []byte(`{"model":"a",` + hello + `}`)
	var p wire.Peek
	f := openai.New()
	if err := f.Peek(doc, &p); err != nil {
		t.Fatal(err)
	}
	dst, target := make([]byte, 0, 1024), &core.Target{Model: "a"}
	if allocs := testing.AllocsPerRun(100, func() { dst = f.Native(dst[:0], doc, &p, target) }); allocs != 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

// FuzzPeek holds that Peek takes JSON objects only, and that what Native makes
// of them is JSON that names the model and asks for usage.
func FuzzPeek(f *testing.F) {
	f.Add([]byte(`{"model":"a","stream":true,"stream_options":{"include_usage":false},` + hello + `}`))
	f.Add([]byte(`{"stream":true,"stream_options":{"x":1},` + hello + `}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var p wire.Peek
		format := openai.New()
		if format.Peek(doc, &p) != nil || p.Responses {
			return
		}
		if !json.Valid(doc) {
			t.Fatalf("%q was taken for JSON", doc)
		}
		native := format.Native(nil, doc, &p, &core.Target{Model: "spillway-x"})
		var again wire.Peek
		if err := format.Peek(native, &again); err != nil || again.Model != "spillway-x" || again.WantsUsage != p.Stream {
			t.Fatalf("%q became %q: %+v, %v", doc, native, again, err)
		}
	})
}
