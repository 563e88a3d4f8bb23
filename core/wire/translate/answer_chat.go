package translate

import (
	"strconv"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/core/wire/anthropic"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// said is what a Messages answer holds.
type said struct {
	texts [][]byte
	calls []byte // tool_calls, an open array
	last  int    // where the last block's call begins, -1 when that is no call
	lost  losses
}

// chatAnswer writes a Messages answer as a Chat Completions answer.
func chatAnswer(doc []byte, created int64, names Names) (Answer, *core.Error) {
	var u price.Usage
	anthropic.ReadUsage(walk.Get(doc, "usage"), &u)
	s, err := readMessages(walk.Get(doc, "content"), names)
	if err != nil {
		return Answer{}, err
	}
	stop := walk.Bytes(walk.Get(doc, "stop_reason"))
	reason := finishReason(stop, &s.lost)
	if reason == "" {
		return Answer{}, unfit("stop_reason=" + label(stop))
	}
	if s.last >= 0 && reason != "tool_calls" && reason != "stop" {
		s.calls = s.calls[:s.last] // the end came while it was being written
		s.lost.add(lostCutCall)
	}
	out := append([]byte(nil), `{"id":`...)
	out = quote.Append(out, chatID(walk.Bytes(walk.Get(doc, "id"))))
	out = append(out, `,"object":"chat.completion","created":`...)
	out = strconv.AppendInt(out, created, 10)
	out = append(out, `,"model":`...)
	out = quote.Append(out, walk.Bytes(walk.Get(doc, "model")))
	out = append(out, `,"choices":[{"index":0,"message":{"role":"assistant","content":`...)
	called := len(s.calls) > 1
	if len(s.texts) == 0 && called {
		out = append(out, "null"...)
	} else {
		out = appendJoined(out, s.texts, "")
	}
	out = append(out, `,"refusal":null,"annotations":[]`...)
	if called {
		out = append(append(append(out, `,"tool_calls":`...), s.calls...), ']')
	}
	out = append(out, `},"logprobs":null,"finish_reason":`...)
	out = quote.Append(out, reason)
	out = append(out, `}],"usage":`...)
	return Answer{Body: append(appendChatUsage(out, u), '}'), Warnings: s.lost}, nil
}

// readMessages reads the content of a Messages answer. Thinking is left out: the
// other form has no place for it.
func readMessages(content []byte, names Names) (said, *core.Error) {
	s := said{calls: []byte{'['}, last: -1}
	for i, block := range elements(content) {
		s.last = -1
		path := "content[" + strconv.Itoa(i) + "]"
		switch typ := string(walk.Bytes(walk.Get(block, "type"))); typ {
		case "text":
			text := walk.Get(block, "text")
			if !walk.IsString(text) {
				return s, unfit(path + ".text=" + kind(text))
			}
			s.texts = append(s.texts, text)
			if filled(walk.Get(block, "citations")) {
				s.lost.add(lostCitations)
			}
		case "thinking", "redacted_thinking":
			s.lost.add(lostThinking)
		case "tool_use":
			if err := s.call(block, path, names); err != nil {
				return s, err
			}
		default:
			return s, unfit(path + ".type=" + label([]byte(typ)))
		}
	}
	return s, nil
}

func (s *said) call(block []byte, path string, names Names) *core.Error {
	id, name, input := walk.Bytes(walk.Get(block, "id")), walk.Bytes(walk.Get(block, "name")), walk.Get(block, "input")
	if len(id) == 0 || len(name) == 0 || kind(input) != "object" {
		return unfit(path)
	}
	s.last = len(s.calls)
	if s.last > 1 {
		s.calls = append(s.calls, ',')
	}
	s.calls = append(quote.Append(append(s.calls, `{"id":`...), id), ',')
	s.calls = appendFunction(s.calls, names.given(name), quote.Append(nil, compacted(input)))
	s.calls = append(s.calls, '}')
	return nil
}
