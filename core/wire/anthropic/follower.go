package anthropic

import (
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/core/sse"
	"github.com/spillway-llm/spillway/core/wire"
	"github.com/spillway-llm/spillway/core/wire/classify"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// Follower follows a Messages stream. Its zero value is ready. It is not safe
// for concurrent use.
type Follower struct {
	usage     price.Usage
	model, id string
	err       *core.Error
	content   bool  // the answer has begun: later deltas need no look
	final     bool  // message_delta brought the final usage
	ended     bool  // message_stop came
	written   int64 // bytes of the deltas, for an estimate when no usage comes
}

var _ wire.Follower = (*Follower)(nil)

// Reset readies the follower for another stream.
func (f *Follower) Reset() { *f = Follower{} }

// Follow takes note of one event. Deltas, which are nearly all of a stream, are
// told by their event name alone once the answer has begun.
func (f *Follower) Follow(ev *sse.Event) wire.Mark {
	name := ev.Name
	if len(name) == 0 {
		name = walk.Bytes(walk.Get(ev.Data, "type")) // a server that names its events in the data only
	}
	switch string(name) {
	case "content_block_delta":
		f.written += int64(max(len(ev.Data)-deltaFrame, 1))
		return f.begin(f.content || saysSomething(walk.Get(ev.Data, "delta")))
	case "content_block_start":
		return f.begin(f.content || saysSomething(walk.Get(ev.Data, "content_block")))
	case "ping":
		return wire.MarkPing
	case "message_start":
		f.start(walk.Get(ev.Data, "message"))
	case "message_delta":
		if u := walk.Get(ev.Data, "usage"); u != nil {
			f.final = true
			ReadUsage(u, &f.usage)
		}
	case "message_stop":
		f.ended = true
		return wire.MarkEnd
	case "error":
		f.err = classify.Inside(table, 0, ev.Data, core.KindStreamError)
		return wire.MarkError
	}
	return wire.MarkLifecycle
}

// deltaFrame is the length of a text delta's JSON without its text.
const deltaFrame = len(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}`)

func (f *Follower) begin(content bool) wire.Mark {
	if !content {
		return wire.MarkLifecycle
	}
	f.content = true
	return wire.MarkContent
}

func (f *Follower) start(message []byte) {
	w := walk.New(message)
	if w.Kind() != '{' || !w.Enter() {
		return
	}
	for name, ok := w.Member(); ok; name, ok = w.Member() {
		switch v := w.Value(); string(name) {
		case "id":
			f.id = string(walk.Bytes(v))
		case "model":
			f.model = string(walk.Bytes(v))
		case "usage":
			ReadUsage(v, &f.usage)
		}
	}
}

// saysSomething reports whether a block or a delta holds something that a
// caller could act on: a text or thinking block that is still empty does not,
// a tool call or any block of another type does.
func saysSomething(part []byte) bool {
	w := walk.New(part)
	if w.Kind() != '{' || !w.Enter() {
		return false
	}
	empty, known := true, false
	for name, ok := w.Member(); ok; name, ok = w.Member() {
		switch v := w.Value(); string(name) {
		case "type":
			switch string(v) {
			case `"text"`, `"thinking"`, `"text_delta"`, `"thinking_delta"`, `"input_json_delta"`:
				known = true
			}
		case "text", "thinking", "partial_json":
			empty = empty && string(v) == `""`
		}
	}
	return !known || !empty
}

// Err is the error event's failure, or that of a stream without message_stop.
func (f *Follower) Err() *core.Error {
	if f.err != nil || f.ended {
		return f.err
	}
	return &core.Error{Op: "read the stream", Kind: core.KindStreamCut}
}

// Seen returns what the stream said so far. Until the final usage came the
// output is an estimate from the answer's length, one token per four bytes.
func (f *Follower) Seen() (u price.Usage, model, id string) {
	u = f.usage
	if !f.final && (f.written > 0 || u.Known) {
		u.Output = max(u.Output, (f.written+3)/4)
		u.Estimated = true
	}
	return u, f.model, f.id
}
