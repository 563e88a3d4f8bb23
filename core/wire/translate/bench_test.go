package translate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/translate"
)

// longConversation is an agent's request: so many turns, each with two calls and
// their results, about 1 KB a turn.
func longConversation(turns int) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"c","max_tokens":64,"system":"` + strings.Repeat("rule ", 400) + `","tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":{"type":"string"}}}}],"messages":[{"role":"user","content":"go"}`)
	text := strings.Repeat("word ", 60)
	for i := range turns {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"text","text":%q},{"type":"tool_use","id":"t%da","name":"f","input":{"a":%q}},{"type":"tool_use","id":"t%db","name":"f","input":{}}]}`, text, i, text, i)
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%da","content":%q},{"type":"tool_result","tool_use_id":"t%db","content":"ok"}]}`, i, text, i)
	}
	b.WriteString("]}")
	return []byte(b.String())
}

func BenchmarkRequest(b *testing.B) {
	for _, turns := range []int{10, 100, 1000} {
		there := longConversation(turns)
		back, err := translate.Request(core.WireAnthropic, core.WireOpenAI, there, able())
		if err != nil {
			b.Fatal(err)
		}
		for _, x := range []struct {
			name     string
			from, to core.Wire
			doc      []byte
		}{{"to_openai", core.WireAnthropic, core.WireOpenAI, there}, {"to_anthropic", core.WireOpenAI, core.WireAnthropic, back.Body}} {
			b.Run(fmt.Sprintf("%s/%d_turns", x.name, turns), func(b *testing.B) {
				b.SetBytes(int64(len(x.doc)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := translate.Request(x.from, x.to, x.doc, able()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkStream(b *testing.B) {
	start := event("message_start", `{"message":{"id":"msg_1","model":"m"}}`)
	delta := event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"some words of it"}}`)
	chunk := event("", `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-6-sol","choices":[{"index":0,"delta":{"content":"some words of it"},"finish_reason":null}]}`)
	b.Run("to_openai", func(b *testing.B) {
		s := translate.NewStream(core.WireAnthropic, core.WireOpenAI, false, 0, nil)
		dst := s.Append(nil, &start)
		b.ReportAllocs()
		for b.Loop() {
			dst = s.Append(dst[:0], &delta)
		}
	})
	b.Run("to_anthropic", func(b *testing.B) {
		s := translate.NewStream(core.WireOpenAI, core.WireAnthropic, false, 0, nil)
		dst := s.Append(nil, &chunk)
		b.ReportAllocs()
		for b.Loop() {
			dst = s.Append(dst[:0], &chunk)
		}
	})
}
