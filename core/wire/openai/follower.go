package openai

import (
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/core/sse"
	"github.com/spillway-llm/spillway/core/wire"
	"github.com/spillway-llm/spillway/core/wire/body"
	"github.com/spillway-llm/spillway/core/wire/classify"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// Follower follows a Chat Completions stream. Its zero value is ready. It is
// not safe for concurrent use.
type Follower struct {
	usage     price.Usage
	model, id string
	err       *core.Error
	content   bool   // the answer has begun: later deltas need no look
	begun     uint64 // choices seen, one bit each
	finished  uint64 // choices with a finish_reason
	harmless  bool   // the last event has an error field that means none
}

var _ wire.Follower = (*Follower)(nil)

// Reset readies the follower for another stream.
func (f *Follower) Reset() { *f = Follower{} }

// chunk is what one event holds.
type chunk struct {
	choices, content, usage, failed, harmless bool
}

// Follow takes note of one event.
func (f *Follower) Follow(ev *sse.Event) wire.Mark {
	if string(ev.Data) == "[DONE]" {
		return f.done()
	}
	var c chunk
	w := walk.New(ev.Data)
	if w.Kind() == '{' {
		w.Enter()
	}
	for name, ok := w.Member(); ok; name, ok = w.Member() {
		switch string(name) {
		case "choices":
			f.choices(&w, &c)
		case "usage":
			v := w.Value()
			c.usage = len(v) > 0 && v[0] == '{'
			ReadUsage(v, &f.usage)
		case "error":
			c.failed = truthy(w.Value())
			c.harmless = !c.failed
		case "id":
			note(&f.id, w.Value())
		case "model":
			note(&f.model, w.Value())
		default:
			w.Skip()
		}
	}
	if f.harmless = c.harmless; !w.End() && len(ev.Data) > 0 {
		f.err = notAnAnswer(w.Err())
		return wire.MarkError
	}
	return f.mark(ev, &c)
}

// Clean appends the data of the event that was followed last, without its error
// field, when that field means no error: official clients take any error field,
// even null, for a failure. It returns false, and dst as it was, when there is
// nothing to clean.
func (f *Follower) Clean(dst, data []byte) ([]byte, bool) {
	if !f.harmless {
		return dst, false
	}
	w := walk.New(data)
	w.Enter()
	sep := byte('{')
	for name, ok := w.Member(); ok; name, ok = w.Member() {
		v := w.Value()
		if string(name) == "error" {
			continue
		}
		dst = quote.Append(append(dst, sep), name)
		dst = append(append(dst, ':'), v...)
		sep = ','
	}
	if sep == '{' {
		dst = append(dst, sep)
	}
	return append(dst, '}'), true
}

func (f *Follower) mark(ev *sse.Event, c *chunk) wire.Mark {
	switch {
	case c.failed || string(ev.Name) == "error":
		f.err = classify.Inside(table, 0, ev.Data, core.KindStreamError)
		return wire.MarkError
	case f.err != nil: // a finish_reason of "error"
		return wire.MarkError
	case c.content:
		f.content = true
		return wire.MarkContent
	case c.usage && !c.choices:
		return wire.MarkUsage
	default:
		return wire.MarkLifecycle
	}
}

// done takes the end marker. An answer without finish_reason is not whole
// whatever the marker says: servers send it after an abort, too.
func (f *Follower) done() wire.Mark {
	if f.err = f.Err(); f.err != nil {
		return wire.MarkError
	}
	return wire.MarkEnd
}

// note keeps the first name that a stream gives: some servers leave it out of
// later chunks.
func note(to *string, value []byte) {
	if *to == "" {
		*to = string(walk.Bytes(value))
	}
}

func (f *Follower) choices(w *walk.Walker, c *chunk) {
	if w.Kind() != '[' || !w.Enter() {
		w.Skip()
		return
	}
	for w.Element() {
		c.choices = true
		if w.Kind() == '{' {
			w.Enter()
			f.choice(w, c)
		} else {
			w.Skip()
		}
	}
}

func (f *Follower) choice(w *walk.Walker, c *chunk) {
	index, end := int64(0), false
	for name, ok := w.Member(); ok; name, ok = w.Member() {
		switch string(name) {
		case "index":
			index, _ = walk.Int(w.Value())
		case "delta":
			v := w.Value()
			c.content = c.content || len(v) > 2 && v[0] == '{' && (f.content || saysSomething(v))
		case "finish_reason":
			v := w.Value()
			end = walk.IsString(v)
			if string(v) == `"error"` {
				f.err = &core.Error{Op: "read the stream", Kind: core.KindStreamError, NoRetry: true}
			}
		default:
			w.Skip()
		}
	}
	bit := uint64(1) << uint64(index&63)
	f.begun |= bit
	if end {
		f.finished |= bit
	}
}

// saysSomething reports whether a delta holds something that a caller could act
// on: a role or an empty text is no such thing.
func saysSomething(delta []byte) bool {
	w := walk.New(delta)
	if w.Kind() != '{' || !w.Enter() {
		return false
	}
	for name, ok := w.Member(); ok; name, ok = w.Member() {
		switch v := w.Value(); string(name) {
		case "content", "refusal", "reasoning", "reasoning_content":
			if len(v) > 2 && (v[0] == '"' || v[0] == '[') {
				return true
			}
		case "tool_calls", "reasoning_details":
			if body.Filled(v) {
				return true
			}
		case "function_call", "audio":
			if len(v) > 2 && v[0] == '{' {
				return true
			}
		}
	}
	return false
}

// Err is the failure that the stream told, or that of a stream in which a choice
// has no finish_reason.
func (f *Follower) Err() *core.Error {
	if f.err != nil || f.begun != 0 && f.begun == f.finished {
		return f.err
	}
	return &core.Error{Op: "read the stream", Kind: core.KindStreamCut}
}

// Seen returns what the stream said so far. The usage is unknown until the
// vendor told it, which it does at the end only.
func (f *Follower) Seen() (u price.Usage, model, id string) { return f.usage, f.model, f.id }
