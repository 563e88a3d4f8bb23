package translate

import (
	"slices"
	"strconv"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// blocks are the content blocks of a Messages stream, made of the deltas of a
// Chat Completions stream. A Messages stream has one open block at a time, and
// the deltas of several calls may come in turns: the first block is live, the
// others wait until it is whole.
type blocks struct {
	names Names
	ids   toolIDs
	// queue are the blocks that are not closed yet; the first one may be open.
	queue []*block
	calls []*block // all of them
	index int      // of the first block in the queue
}

// block is one content block.
type block struct {
	text bool
	// waiting is what came and was not sent, escaped as it came.
	waiting      []byte
	open, closed bool

	// number is the call's index in the source, -1 without one.
	number   int64
	own      string // its id in the source
	id, name string
	// arguments is all that came of them, to be checked.
	arguments []byte
	end       closing
}

// text takes a text.
func (b *blocks) text(dst, literal []byte) []byte {
	n := len(b.queue)
	if n == 0 || !b.queue[n-1].text {
		b.queue = append(b.queue, &block{text: true})
		dst = b.advance(dst)
		n = len(b.queue)
	}
	last := b.queue[n-1]
	if last.open {
		return b.textDelta(dst, literal[1:len(literal)-1])
	}
	last.waiting = append(last.waiting, literal[1:len(literal)-1]...)
	return b.advance(dst)
}

// call takes a piece of a tool call.
func (b *blocks) call(dst, call, function []byte) ([]byte, *core.Error) {
	name := walk.Bytes(walk.Get(function, "name"))
	piece := walk.Get(function, "arguments")
	switch kind(piece) {
	case "object":
		piece = quote.Append(nil, compacted(piece))
	case "string":
	default:
		piece = []byte(`""`)
	}
	c := b.find(call, len(name) > 0 && len(piece) > 2)
	if c == nil {
		c = b.begin(call)
	}
	if c.name == "" {
		c.name = string(b.names.given(name))
	}
	from := len(c.arguments)
	c.arguments = appendUnquoted(c.arguments, piece)
	c.end.follow(c.arguments[from:])
	if c.closed && !emptyArguments(c.arguments[from:]) {
		return dst, unfit("choices[0].delta.tool_calls.index") // it went on after its end
	}
	switch piece = piece[1 : len(piece)-1]; {
	case !c.open:
		c.waiting = append(c.waiting, piece...)
		return b.advance(dst), nil
	case !c.closed && len(piece) > 0:
		return b.argumentDelta(dst, piece), nil
	}
	return dst, nil
}

// find returns the call that a piece belongs to, nil for a new one. Servers
// number calls badly: by no index, by -1, or all by 0 with an id of their own
// each, so that an id tells more than a number, and a name with arguments behind
// a whole call begins another one.
func (b *blocks) find(call []byte, again bool) *block {
	own := walk.Bytes(walk.Get(call, "id"))
	number, numbered := walk.Int(walk.Get(call, "index"))
	for _, c := range slices.Backward(b.calls) {
		switch {
		case numbered && c.number != number:
		case len(own) > 0 && c.own != "" && c.own != string(own):
		case len(own) == 0 && again && c.end.done:
			return nil
		default:
			return c
		}
	}
	return nil
}

func (b *blocks) begin(call []byte) *block {
	c := &block{number: -1, own: string(walk.Bytes(walk.Get(call, "id")))}
	if number, ok := walk.Int(walk.Get(call, "index")); ok {
		c.number = number
	}
	b.calls = append(b.calls, c)
	b.queue = append(b.queue, c)
	return c
}

// called reports whether there is any call.
func (b *blocks) called() bool { return len(b.calls) > 0 }

// whole reports whether every call can be made.
func (b *blocks) whole() bool {
	for _, c := range b.calls {
		if c.name == "" || !wholeArguments(c.arguments) {
			return false
		}
	}
	return true
}

// advance opens the first block of the queue, and closes it when another one
// waits and nothing more belongs to it.
func (b *blocks) advance(dst []byte) []byte {
	for len(b.queue) > 0 {
		live := b.queue[0]
		if !live.open {
			if live.text && len(live.waiting) == 0 || !live.text && (live.name == "" || emptyArguments(live.arguments)) {
				return dst // a call without a word of its arguments could still be cut off
			}
			dst = b.openBlock(dst, live)
		}
		if len(b.queue) == 1 || !live.text && !(live.end.done && isObject(live.arguments)) {
			return dst
		}
		dst = b.closeBlock(dst)
	}
	return dst
}

// openBlock opens the first block of the queue and sends what waited.
func (b *blocks) openBlock(dst []byte, live *block) []byte {
	live.open = true
	dst = append(dst, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":"...)
	dst = strconv.AppendInt(dst, int64(b.index), 10)
	if live.text {
		dst = append(dst, `,"content_block":{"type":"text","text":""}}`+"\n\n"...)
		dst = b.textDelta(dst, live.waiting)
		live.waiting = nil
		return dst
	}
	if live.id == "" {
		live.id = b.ids.assign(live.own)
	}
	dst = quote.Append(append(dst, `,"content_block":{"type":"tool_use","id":`...), live.id)
	dst = quote.Append(append(dst, `,"name":`...), live.name)
	dst = append(dst, `,"input":{}}}`+"\n\n"...)
	if len(live.waiting) > 0 {
		dst = b.argumentDelta(dst, live.waiting)
		live.waiting = nil
	}
	return dst
}

// closeBlock closes the first block of the queue.
func (b *blocks) closeBlock(dst []byte) []byte {
	dst = append(dst, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":"...)
	dst = append(strconv.AppendInt(dst, int64(b.index), 10), "}\n\n"...)
	b.queue[0].closed = true
	b.queue = b.queue[1:]
	b.index++
	return dst
}

func (b *blocks) textDelta(dst, escaped []byte) []byte {
	dst = append(dst, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"...)
	dst = strconv.AppendInt(dst, int64(b.index), 10)
	dst = append(dst, `,"delta":{"type":"text_delta","text":"`...)
	return append(append(dst, escaped...), "\"}}\n\n"...)
}

func (b *blocks) argumentDelta(dst, escaped []byte) []byte {
	dst = append(dst, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"...)
	dst = strconv.AppendInt(dst, int64(b.index), 10)
	dst = append(dst, `,"delta":{"type":"input_json_delta","partial_json":"`...)
	return append(append(dst, escaped...), "\"}}\n\n"...)
}

// end closes every block at the answer's proper end. Calls that waited and were
// cut off by the answer's own limit are left out, and so is one without a name;
// one that was live already stays as far as it came, as the vendor of this form
// does it.
func (b *blocks) end(dst []byte, called bool) (out []byte, cut bool) {
	for len(b.queue) > 0 {
		live := b.queue[0]
		if !live.open && !live.text && (live.name == "" || !called && !isObject(live.arguments)) {
			b.queue, cut = b.queue[1:], true
			continue
		}
		if !live.open && live.text && len(live.waiting) == 0 {
			b.queue = b.queue[1:]
			continue
		}
		if !live.open {
			dst = b.openBlock(dst, live)
		}
		dst = b.closeBlock(dst)
	}
	return dst, cut
}
