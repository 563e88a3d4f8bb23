package translate_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/sse"
	"github.com/spillway-llm/spillway/core/wire"
	"github.com/spillway-llm/spillway/core/wire/translate"
	"github.com/spillway-llm/spillway/core/wire/wiretest"
)

// FuzzRequest holds that whatever a body says, the other vendor gets either
// nothing or a request in its own form that needs the same.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"max_tokens":1,"system":"s","messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{}}]}]}`), true)
	f.Add([]byte(`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"x"}],"stop":["a"],"user":"u"}`), false)
	for _, file := range []string{"tools", "tool_images", "documents", "format", "thinking", "markers"} {
		for _, to := range []string{"openai", "anthropic"} {
			if b, err := os.ReadFile("testdata/requests/" + file + "_to_" + to + ".txtar"); err == nil {
				_, rest, _ := bytes.Cut(b, []byte("-- body --\n"))
				body, _, _ := bytes.Cut(rest, []byte("-- want --"))
				f.Add(body, to == "openai")
			}
		}
	}
	f.Fuzz(func(t *testing.T, doc []byte, fromAnthropic bool) {
		from, to := core.WireOpenAI, core.WireAnthropic
		if fromAnthropic {
			from, to = to, from
		}
		var p wire.Peek
		if format(from).Peek(doc, &p) != nil || p.Responses {
			return
		}
		form, err := translate.Request(from, to, doc, able())
		if err != nil {
			if core.KindOf(err) != core.KindNotPortable {
				t.Fatalf("%q: %v", doc, err)
			}
			return
		}
		var q wire.Peek
		if err := format(to).Peek(form.Body, &q); err != nil || q.Model != "m" || q.Stream != p.Stream || q.Needs.Prefill {
			t.Fatalf("%q became %q: %+v, %v", doc, form.Body, q, err)
		}
		if q.Needs.Images != p.Needs.Images || q.Needs.JSONSchema != p.Needs.JSONSchema {
			t.Fatalf("%q became %q: needs %+v, and before %+v", doc, form.Body, q.Needs, p.Needs)
		}
	})
}

// FuzzStream holds that no event breaks a translator, and that what it writes is
// never whole when the source was not.
func FuzzStream(f *testing.F) {
	f.Add("message_start", `{"message":{"id":"msg_1","model":"m"}}`, "message_stop", `{}`, true)
	f.Add("", `{"id":"1","choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`, "", `[DONE]`, false)
	f.Add("", `{"id":"1","choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{\"\\ud83d"}}]}}]}`,
		"", `{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"name":"g","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, false)
	f.Add("content_block_start", `{"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`,
		"content_block_delta", `{"delta":{"type":"input_json_delta","partial_json":"{\u0022a\n"}}`, true)
	f.Fuzz(func(t *testing.T, name1, data1, name2, data2 string, fromAnthropic bool) {
		from, to := core.WireOpenAI, core.WireAnthropic
		if fromAnthropic {
			from, to = to, from
		}
		s := translate.NewStream(from, to, true, 0, nil)
		source, caller := format(from).NewFollower(), format(to).NewFollower()
		var got []byte
		events := [][2]string{{name1, data1}, {name2, data2}}
		if fromAnthropic {
			events = append([][2]string{{"message_start", `{"message":{"id":"msg_1","model":"m"}}`}}, events...)
		}
		for _, e := range events {
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

// FuzzResponse holds that an answer becomes one of the other form or an error,
// and that a call is told only with arguments that a tool can take.
func FuzzResponse(f *testing.F) {
	f.Add([]byte(`{"id":"1","choices":[{"message":{"content":"x","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`), false)
	f.Add([]byte(`{"id":"msg_1","model":"m","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"t","name":"f","input":{}}],"stop_reason":"max_tokens"}`), true)
	f.Fuzz(func(t *testing.T, doc []byte, fromAnthropic bool) {
		from, to := core.WireOpenAI, core.WireAnthropic
		if fromAnthropic {
			from, to = to, from
		}
		if _, _, _, err := format(from).Answer(doc); err != nil {
			return
		}
		a, err := translate.Response(from, to, doc, 0, nil)
		if err != nil {
			if core.KindOf(err) != core.KindBadResponse {
				t.Fatalf("%q: %v", doc, err)
			}
			return
		}
		if _, _, _, err := format(to).Answer(a.Body); err != nil {
			t.Fatalf("%q became %q: %v", doc, a.Body, err)
		}
	})
}
