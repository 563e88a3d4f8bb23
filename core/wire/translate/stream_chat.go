package translate

import (
	"strconv"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/core/sse"
	"github.com/spillway-llm/spillway/core/wire/anthropic"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// chatStream writes a Messages stream as a Chat Completions stream.
type chatStream struct {
	wantsUsage bool
	created    int64
	head       []byte // of every chunk, up to its choices
	usage      price.Usage
	finish     string
	stopped    bool // message_stop came
	ended      bool
}

func (s *chatStream) event(dst []byte, ev *sse.Event) ([]byte, *core.Error) {
	name := ev.Name
	if len(name) == 0 {
		name = walk.Bytes(walk.Get(ev.Data, "type"))
	}
	if s.head == nil && (string(name) == "content_block_delta" || string(name) == "message_stop") {
		return dst, unfit("message_start=absent") // nothing can go on without a name
	}
	switch string(name) {
	case "message_start":
		s.start(walk.Get(ev.Data, "message"))
		return s.delta(dst, `{"role":"assistant","content":`, []byte(`""`)), nil
	case "content_block_start":
		return s.block(dst, walk.Get(ev.Data, "content_block"), "content_block.type=")
	case "content_block_delta":
		return s.block(dst, walk.Get(ev.Data, "delta"), "delta.type=")
	case "message_delta":
		return dst, s.note(ev.Data)
	case "message_stop":
		s.stopped = true
		return s.end(dst), nil
	case "ping":
		return append(dst, ": ping\n\n"...), nil
	}
	return dst, nil
}

func (s *chatStream) start(message []byte) {
	anthropic.ReadUsage(walk.Get(message, "usage"), &s.usage)
	s.head = append(s.head[:0], `data: {"id":`...)
	s.head = quote.Append(s.head, chatID(walk.Bytes(walk.Get(message, "id"))))
	s.head = append(s.head, `,"object":"chat.completion.chunk","created":`...)
	s.head = strconv.AppendInt(s.head, s.created, 10)
	s.head = append(s.head, `,"model":`...)
	s.head = quote.Append(s.head, walk.Bytes(walk.Get(message, "model")))
	s.head = append(s.head, `,"choices":[`...)
}

// block takes the start of a block or a delta of one. Texts go on as they are
// written; thinking has no place in the other form.
func (s *chatStream) block(dst, part []byte, path string) ([]byte, *core.Error) {
	switch typ := string(walk.Bytes(walk.Get(part, "type"))); typ {
	case "text", "text_delta":
		if text := walk.Get(part, "text"); walk.IsString(text) && len(text) > 2 {
			return s.delta(dst, `{"content":`, text), nil
		}
		return dst, nil
	case "thinking", "redacted_thinking", "thinking_delta", "signature_delta", "citations_delta":
		return dst, nil
	default:
		return dst, unfit(path + label([]byte(typ)))
	}
}

// note keeps how the answer ended. The chunk that says so waits for
// message_stop: before it the answer may still be cut.
func (s *chatStream) note(event []byte) *core.Error {
	anthropic.ReadUsage(walk.Get(event, "usage"), &s.usage)
	stop := walk.Get(event, "delta", "stop_reason")
	if !walk.IsString(stop) {
		return nil
	}
	if s.finish = finishReason(walk.Bytes(stop)); s.finish == "" {
		return unfit("delta.stop_reason=" + label(walk.Bytes(stop)))
	}
	return nil
}

func (s *chatStream) delta(dst []byte, open string, value []byte) []byte {
	dst = append(dst, s.head...)
	dst = append(dst, `{"index":0,"delta":`...)
	dst = append(dst, open...)
	dst = append(dst, value...)
	return s.tail(append(dst, `},"logprobs":null,"finish_reason":null}`...))
}

// tail closes a chunk. Who asked for usage has a usage field on every chunk.
func (s *chatStream) tail(dst []byte) []byte {
	dst = append(dst, ']')
	if s.wantsUsage {
		dst = append(dst, `,"usage":null`...)
	}
	return append(dst, "}\n\n"...)
}

func (s *chatStream) end(dst []byte) []byte {
	if !s.stopped || s.ended {
		return dst
	}
	s.ended = true
	dst = append(dst, s.head...)
	dst = append(dst, `{"index":0,"delta":{},"logprobs":null,"finish_reason":`...)
	if s.finish == "" {
		s.finish = "stop"
	}
	dst = quote.Append(dst, s.finish)
	dst = s.tail(append(dst, '}'))
	if s.wantsUsage {
		dst = append(dst, s.head...)
		dst = append(dst, `],"usage":`...)
		dst = append(appendChatUsage(dst, s.usage), "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...)
}
