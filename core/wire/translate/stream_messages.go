package translate

import (
	"strconv"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/core/sse"
	"github.com/spillway-llm/spillway/core/wire/body"
	"github.com/spillway-llm/spillway/core/wire/openai"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// messagesStream writes a Chat Completions stream as a Messages stream. Events
// are named always: clients ignore the others.
type messagesStream struct {
	started, open, ended bool
	refused              bool
	reason               string // "" until a finish_reason came
	usage                price.Usage
	chunks               int64 // with text, for vendors that send no usage
}

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
		dst = appendStart(dst, walk.Bytes(id), walk.Bytes(model))
	}
	return s.choice(dst, choice)
}

// first returns the first element of an array, nil without one.
func first(array []byte) []byte {
	w := walk.New(array)
	if w.Kind() != '[' || !w.Enter() || !w.Element() {
		return nil
	}
	return w.Value()
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
	for name, ok := w.Member(); ok; name, ok = w.Member() {
		switch v := w.Value(); string(name) {
		case "content", "refusal":
			if k := kind(v); k != "string" && k != "null" {
				return dst, unfit("choices[0].delta." + string(name) + "=" + k)
			}
			if len(v) > 2 && walk.IsString(v) {
				s.refused = s.refused || string(name) == "refusal"
				dst = s.text(dst, v)
			}
		case "tool_calls", "function_call", "audio":
			if k := kind(v); k == "object" || body.Filled(v) {
				return dst, unfit("choices[0].delta." + string(name))
			}
		}
	}
	finish := walk.Get(choice, "finish_reason")
	if !walk.IsString(finish) {
		return dst, nil
	}
	if s.reason = stopReason(walk.Bytes(finish), s.refused); s.reason == "" {
		return dst, unfit("choices[0].finish_reason=" + label(walk.Bytes(finish)))
	}
	return dst, nil
}

// text appends a delta, and opens the text block before the first one.
func (s *messagesStream) text(dst, literal []byte) []byte {
	if !s.open {
		s.open = true
		dst = append(dst, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,"+
			"\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"...)
	}
	s.chunks++
	dst = append(dst, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"+
		"\"delta\":{\"type\":\"text_delta\",\"text\":"...)
	dst = append(dst, literal...)
	return append(dst, "}}\n\n"...)
}

// end closes the answer once a finish_reason came. Usage may come after that, so
// it waits for the end marker or the upstream's end.
func (s *messagesStream) end(dst []byte) []byte {
	if s.reason == "" || s.ended {
		return dst
	}
	s.ended = true
	if s.open {
		dst = append(dst, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"...)
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
