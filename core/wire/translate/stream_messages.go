package translate

import (
	"fmt"
	"strconv"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/core/sse"
	"github.com/spillway-llm/spillway/core/wire/openai"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// messagesStream writes a Chat Completions stream as a Messages stream. Events
// are named always: clients ignore the others.
type messagesStream struct {
	names                   Names
	started, refused, ended bool
	reason                  string // "" until a finish_reason came
	usage                   price.Usage
	chunks                  int64 // with content, for vendors that send no usage
	blocks                  blocks
	lost                    losses
}

func (s *messagesStream) left() []string { return s.lost }

func (s *messagesStream) event(dst []byte, ev *sse.Event) ([]byte, *core.Error) {
	if string(ev.Data) == "[DONE]" {
		return s.end(dst), nil
	}
	var id, model, choice []byte
	w := walk.New(ev.Data)
	if w.Kind() == '{' {
		w.Enter()
	}
	for name, ok := w.Member(); ok; name, ok = w.Member() {
		switch v := w.Value(); string(name) {
		case "id":
			id = v
		case "model":
			model = v
		case "usage":
			openai.ReadUsage(v, &s.usage)
		case "choices":
			choice = first(v)
		}
	}
	if choice == nil || s.ended {
		return dst, nil // a placeholder, or usage alone
	}
	if !s.started {
		s.started = true
		s.blocks.names, s.blocks.ids = s.names, answerIDs(walk.Bytes(id))
		dst = appendStart(dst, walk.Bytes(id), walk.Bytes(model))
	}
	return s.choice(dst, choice)
}

func appendStart(dst, id, model []byte) []byte {
	dst = append(dst, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":"...)
	dst = quote.Append(dst, messageID(id))
	dst = append(dst, `,"type":"message","role":"assistant","model":`...)
	dst = quote.Append(dst, model)
	return append(dst, `,"content":[],"stop_reason":null,"stop_sequence":null,`+
		`"usage":{"input_tokens":0,"output_tokens":0}}}`+"\n\n"...)
}

func (s *messagesStream) choice(dst, choice []byte) ([]byte, *core.Error) {
	w := walk.New(walk.Get(choice, "delta"))
	if w.Kind() == '{' {
		w.Enter()
	}
	var err *core.Error
	for name, ok := w.Member(); ok && err == nil; name, ok = w.Member() {
		dst, err = s.part(dst, string(name), w.Value())
	}
	finish := walk.Get(choice, "finish_reason")
	if err != nil || !walk.IsString(finish) {
		return dst, err
	}
	s.reason = stopReason(walk.Bytes(finish), s.refused, s.blocks.called())
	if s.reason == "" {
		return dst, unfit("choices[0].finish_reason=" + label(walk.Bytes(finish)))
	}
	if s.reason == "tool_use" && !s.blocks.whole() {
		return dst, unfit("choices[0].delta.tool_calls.function.arguments")
	}
	return dst, nil
}

// part takes one field of a delta. Reasoning has no place in the other form, as
// it has no signature; it becomes a sign of life.
func (s *messagesStream) part(dst []byte, name string, v []byte) ([]byte, *core.Error) {
	switch name {
	case "content":
		return s.content(dst, v)
	case "refusal":
		if walk.IsString(v) && len(v) > 2 {
			s.refused = true
			return s.text(dst, v), nil
		}
	case "reasoning", "reasoning_content":
		if len(v) > 2 && !walk.IsNull(v) {
			return s.thought(dst), nil
		}
	case "tool_calls":
		return s.calls(dst, v)
	case "function_call":
		if kind(v) == "object" {
			s.chunks++
			return s.blocks.call(dst, nil, v)
		}
	case "annotations":
		if filled(v) {
			s.lost.add(lostAnnotations)
		}
	case "audio":
		if filled(v) {
			return dst, unfit("choices[0].delta.audio")
		}
	}
	return dst, nil
}

func (s *messagesStream) thought(dst []byte) []byte {
	s.lost.add(lostThinking)
	return append(dst, "event: ping\ndata: {\"type\":\"ping\"}\n\n"...)
}

// content takes a content, which some servers send as parts.
func (s *messagesStream) content(dst, v []byte) ([]byte, *core.Error) {
	switch kind(v) {
	case "null":
		return dst, nil
	case "string":
		return s.text(dst, v), nil
	case "array":
		for i, p := range elements(v) {
			typ, text := string(walk.Bytes(walk.Get(p, "type"))), walk.Get(p, "text")
			switch {
			case typ == "text" && walk.IsString(text):
				dst = s.text(dst, text)
			case typ == "thinking":
				dst = s.thought(dst)
			default:
				return dst, unfit(fmt.Sprintf("choices[0].delta.content[%d].type=%s", i, label([]byte(typ))))
			}
		}
		return dst, nil
	}
	return dst, unfit("choices[0].delta.content=" + kind(v))
}

func (s *messagesStream) text(dst, literal []byte) []byte {
	if len(literal) <= 2 {
		return dst
	}
	s.chunks++
	return s.blocks.text(dst, literal)
}

func (s *messagesStream) calls(dst, v []byte) ([]byte, *core.Error) {
	var err *core.Error
	w := walk.New(v)
	if w.Kind() != '[' || !w.Enter() {
		return dst, nil
	}
	for w.Element() && err == nil {
		s.chunks++
		call := w.Value()
		dst, err = s.blocks.call(dst, call, walk.Get(call, "function"))
	}
	return dst, err
}

// end closes the answer once a finish_reason came. Usage may come after that, so
// it waits for the end marker or the upstream's end.
func (s *messagesStream) end(dst []byte) []byte {
	if s.reason == "" || s.ended {
		return dst
	}
	s.ended = true
	dst, cut := s.blocks.end(dst, s.reason == "tool_use")
	if cut {
		s.lost.add(lostCutCall)
	}
	dst = append(dst, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{"...)
	dst = appendStop(dst, s.reason)
	dst = append(dst, `},"usage":`...)
	if s.usage.Known {
		dst = appendMessagesUsage(dst, s.usage)
	} else {
		// A client can't do without the number; vendors send about a token a chunk.
		dst = append(dst, `{"output_tokens":`...)
		dst = append(strconv.AppendInt(dst, s.chunks, 10), '}')
	}
	return append(dst, "}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
}
