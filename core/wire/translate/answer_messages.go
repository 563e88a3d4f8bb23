package translate

import (
	"fmt"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/core/wire/openai"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// messagesAnswer writes a Chat Completions answer as a Messages answer.
func messagesAnswer(doc []byte, names Names) (Answer, *core.Error) {
	var u price.Usage
	openai.ReadUsage(walk.Get(doc, "usage"), &u)
	choice := first(walk.Get(doc, "choices"))
	if choice == nil {
		return Answer{}, unfit("choices")
	}
	message, id := walk.Get(choice, "message"), walk.Bytes(walk.Get(doc, "id"))
	a := spoken{path: "choices[0].message"}
	if err := a.read(message); err != nil {
		return Answer{}, err
	}
	finish := walk.Bytes(walk.Get(choice, "finish_reason"))
	reason := stopReason(finish, a.refused, len(a.calls) > 0)
	if reason == "" {
		return Answer{}, unfit("choices[0].finish_reason=" + label(finish))
	}
	calls, err := a.whole(reason == "tool_use", id, names)
	if err != nil {
		return Answer{}, err
	}
	out := append([]byte(nil), `{"id":`...)
	out = quote.Append(out, messageID(id))
	out = append(out, `,"type":"message","role":"assistant","model":`...)
	out = quote.Append(out, walk.Bytes(walk.Get(doc, "model")))
	out = append(out, `,"content":`...)
	blocks := calls
	if len(a.texts) > 0 {
		text := appendJoined([]byte(`{"type":"text","text":`), a.texts, "")
		blocks = append([][]byte{append(text, '}')}, calls...)
	}
	out = append(append(out, array(blocks)...), ',')
	out = appendStop(out, reason)
	out = append(out, `,"usage":`...)
	return Answer{Body: append(appendMessagesUsage(out, u), '}'), Warnings: a.lost}, nil
}

// spoken is what a Chat Completions message holds.
type spoken struct {
	path    string
	texts   [][]byte
	calls   [][]byte // as the server wrote them
	refused bool
	lost    losses
}

// read reads a message: its content, its refusal, which the other form tells as
// text and by the stop reason, and its calls. Reasoning is left out: without a
// signature it would poison the caller's next turn at Anthropic.
func (a *spoken) read(message []byte) *core.Error {
	for _, m := range members(message) {
		path := a.path + "." + m.name
		switch m.name {
		case "content":
			if err := a.content(m.value, path); err != nil {
				return err
			}
		case "refusal":
			if walk.IsString(m.value) && len(m.value) > 2 {
				a.texts, a.refused = append(a.texts, m.value), true
			}
		case "reasoning", "reasoning_content", "reasoning_details":
			if len(m.value) > 2 && !walk.IsNull(m.value) {
				a.lost.add(lostThinking)
			}
		case "tool_calls":
			a.calls = append(a.calls, elements(m.value)...)
		case "function_call":
			if filled(m.value) {
				a.calls = append(a.calls, append(append([]byte(`{"function":`), m.value...), '}'))
			}
		case "annotations":
			if filled(m.value) {
				a.lost.add(lostAnnotations)
			}
		case "audio":
			if filled(m.value) {
				return unfit(path)
			}
		}
	}
	return nil
}

// content reads a content, which some servers send as parts.
func (a *spoken) content(v []byte, path string) *core.Error {
	switch kind(v) {
	case "null":
		return nil
	case "string":
		if len(v) > 2 {
			a.texts = append(a.texts, v)
		}
		return nil
	case "array":
		for i, p := range elements(v) {
			typ := string(walk.Bytes(walk.Get(p, "type")))
			text := walk.Get(p, "text")
			switch {
			case typ == "text" && walk.IsString(text):
				a.texts = append(a.texts, text)
			case typ == "thinking":
				a.lost.add(lostThinking)
			default:
				return unfit(fmt.Sprintf("%s[%d].type=%s", path, i, label([]byte(typ))))
			}
		}
		return nil
	}
	return unfit(path + "=" + kind(v))
}

// whole writes the calls as blocks. Where the answer ended to have them made
// each must be whole; where it was cut off, only whole ones are told, because
// half a call is no call.
func (a *spoken) whole(all bool, answer []byte, names Names) ([][]byte, *core.Error) {
	var blocks [][]byte
	ids := answerIDs(answer)
	for i, call := range a.calls {
		arguments, ok := arguments(walk.Get(call, "function", "arguments"))
		name := walk.Bytes(walk.Get(call, "function", "name"))
		ok = ok && len(name) > 0
		if all && !ok {
			return nil, unfit(fmt.Sprintf("%s.tool_calls[%d]", a.path, i))
		}
		if !ok || !all && len(walk.Get(call, "function", "arguments")) <= 2 {
			a.lost.add(lostCutCall)
			continue
		}
		b := quote.Append([]byte(`{"type":"tool_use","id":`), ids.assign(string(walk.Bytes(walk.Get(call, "id")))))
		b = quote.Append(append(b, `,"name":`...), names.given(name))
		b = append(append(append(b, `,"input":`...), arguments...), '}')
		blocks = append(blocks, b)
	}
	return blocks, nil
}
