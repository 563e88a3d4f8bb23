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
	names      Names
	head       []byte // of every chunk, up to its choices
	usage      price.Usage
	finish     string
	stopped    bool // message_stop came
	ended      bool
	lost       losses

	calls     int    // tool blocks so far
	calling   bool   // a tool block is open
	arguments []byte // of the open call
	broken    bool   // a call's arguments are no object
}

func (s *chatStream) left() []string { return s.lost }

func (s *chatStream) event(dst []byte, ev *sse.Event) ([]byte, *core.Error) {
	name := ev.Name
	if len(name) == 0 {
		name = walk.Bytes(walk.Get(ev.Data, "type"))
	}
	if s.head == nil {
		switch string(name) {
		case "content_block_start", "content_block_delta", "message_stop":
			return dst, unfit("message_start=absent") // nothing can go on without a name
		}
	}
	switch string(name) {
	case "message_start":
		s.start(walk.Get(ev.Data, "message"))
		return s.delta(dst, `{"role":"assistant","content":`, []byte(`""`), `}`), nil
	case "content_block_start":
		return s.open(dst, walk.Get(ev.Data, "content_block"))
	case "content_block_delta":
		return s.part(dst, walk.Get(ev.Data, "delta"))
	case "content_block_stop":
		return s.closeCall(dst), nil
	case "message_delta":
		return dst, s.note(ev.Data)
	case "message_stop":
		s.stopped = true
		return s.end(dst), nil
	case "ping":
		return append(dst, ping...), nil
	}
	return dst, nil
}

// ping is a sign of life that no client takes for content.
const ping = ": ping\n\n"

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

// open takes the start of a block.
func (s *chatStream) open(dst, block []byte) ([]byte, *core.Error) {
	dst = s.closeCall(dst) // whatever the server says, one block is open at a time
	switch typ := string(walk.Bytes(walk.Get(block, "type"))); typ {
	case "text":
		return s.text(dst, walk.Get(block, "text")), nil
	case "thinking", "redacted_thinking":
		s.lost.add(lostThinking)
		return dst, nil
	case "tool_use":
		return s.openCall(dst, block)
	default:
		return dst, unfit("content_block.type=" + label([]byte(typ)))
	}
}

// part takes a delta. What is written goes on as it is written; thinking, which
// has no place in the other form, becomes a sign of life.
func (s *chatStream) part(dst, delta []byte) ([]byte, *core.Error) {
	switch typ := string(walk.Bytes(walk.Get(delta, "type"))); typ {
	case "text_delta":
		return s.text(dst, walk.Get(delta, "text")), nil
	case "input_json_delta":
		return s.argument(dst, walk.Get(delta, "partial_json"))
	case "thinking_delta":
		return append(dst, ping...), nil
	case "signature_delta":
		return dst, nil
	case "citations_delta":
		s.lost.add(lostCitations)
		return dst, nil
	default:
		return dst, unfit("delta.type=" + label([]byte(typ)))
	}
}

func (s *chatStream) text(dst, literal []byte) []byte {
	if !walk.IsString(literal) || len(literal) <= 2 {
		return dst
	}
	return s.delta(dst, `{"content":`, literal, `}`)
}

// openCall begins a tool call. Calls are numbered, not blocks.
func (s *chatStream) openCall(dst, block []byte) ([]byte, *core.Error) {
	id, name := walk.Get(block, "id"), walk.Bytes(walk.Get(block, "name"))
	if !walk.IsString(id) || len(name) == 0 {
		return dst, unfit("content_block.id=" + kind(id))
	}
	s.calling, s.arguments = true, s.arguments[:0]
	s.calls++
	call := strconv.AppendInt([]byte(`{"tool_calls":[{"index":`), int64(s.calls-1), 10)
	call = append(append(append(call, `,"id":`...), id...), ',')
	call = appendFunction(call, s.names.given(name), []byte(`""`))
	dst = s.delta(dst, "", append(call, "}]}"...), "")
	if input := walk.Get(block, "input"); filled(input) {
		return s.argument(dst, quote.Append(nil, compacted(input)))
	}
	return dst, nil
}

// argument passes on a piece of a call's arguments.
func (s *chatStream) argument(dst, literal []byte) ([]byte, *core.Error) {
	switch {
	case !walk.IsString(literal):
		return dst, unfit("delta.partial_json=" + kind(literal))
	case !s.calling:
		return dst, unfit("delta.type=input_json_delta")
	case len(literal) <= 2:
		return dst, nil
	}
	s.arguments = appendUnquoted(s.arguments, literal)
	return s.argumentChunk(dst, literal), nil
}

func (s *chatStream) argumentChunk(dst, literal []byte) []byte {
	dst = append(dst, s.head...)
	dst = append(dst, `{"index":0,"delta":{"tool_calls":[{"index":`...)
	dst = strconv.AppendInt(dst, int64(s.calls-1), 10)
	dst = append(dst, `,"function":{"arguments":`...)
	dst = append(dst, literal...)
	return s.tail(append(dst, `}}]},"logprobs":null,"finish_reason":null}`...))
}

// closeCall ends the open call, if there is one. No arguments are an empty object.
func (s *chatStream) closeCall(dst []byte) []byte {
	if !s.calling {
		return dst
	}
	s.calling = false
	if len(s.arguments) == 0 {
		return s.argumentChunk(dst, []byte(`"{}"`))
	}
	s.broken = s.broken || !isObject(s.arguments)
	return dst
}

// note keeps how the answer ended. The chunk that says so waits for
// message_stop: before it the answer may still be cut.
func (s *chatStream) note(event []byte) *core.Error {
	anthropic.ReadUsage(walk.Get(event, "usage"), &s.usage)
	stop := walk.Get(event, "delta", "stop_reason")
	if !walk.IsString(stop) {
		return nil
	}
	s.finish = finishReason(walk.Bytes(stop), &s.lost)
	unfinished := s.calling && len(s.arguments) > 0 && !isObject(s.arguments)
	if s.finish == "" || s.finish == "tool_calls" && (s.broken || unfinished) {
		return unfit("delta.stop_reason=" + label(walk.Bytes(stop)))
	}
	return nil
}

// delta appends a chunk with a delta, given in up to three pieces.
func (s *chatStream) delta(dst []byte, open string, value []byte, end string) []byte {
	dst = append(dst, s.head...)
	dst = append(dst, `{"index":0,"delta":`...)
	dst = append(dst, open...)
	dst = append(dst, value...)
	dst = append(dst, end...)
	return s.tail(append(dst, `,"logprobs":null,"finish_reason":null}`...))
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
