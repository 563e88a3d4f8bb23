// Package openai speaks the OpenAI Chat Completions wire format.
package openai

import (
	"slices"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire"
	"github.com/spillway-llm/spillway/core/wire/body"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// Format is the OpenAI Chat Completions format, with the deviations of the
// servers that call themselves compatible. It has no state; its zero value is
// ready.
type Format struct{}

var _ wire.Format = (*Format)(nil)

// New returns the format.
func New() *Format { return &Format{} }

// Wire names the format.
func (*Format) Wire() core.Wire { return core.WireOpenAI }

// Native appends the body with the target's model and, for a stream, the wish
// for usage: without it vendors send none, and streams would be free in the
// books. The rest is byte for byte the caller's (R7.4).
func (*Format) Native(dst, doc []byte, p *wire.Peek, t *core.Target) []byte {
	var edits [2]body.Edit
	n := 0
	if p.Model != t.Model {
		edits[n] = body.Field("model", p.ModelSpan, p.Open, quote.Append(nil, t.Model))
		n++
	}
	if p.Stream && !p.WantsUsage && !slices.Contains(t.Profile.Refuses, streamOptionsName) {
		edits[n] = usageWish(doc, p)
		n++
	}
	return body.Splice(dst, doc, edits[:n]...)
}

const streamOptionsName = "stream_options"

// usageWish is the edit that asks for usage and keeps the caller's other stream
// options.
func usageWish(doc []byte, p *wire.Peek) body.Edit {
	const field, wish = streamOptionsName, `"include_usage":true`
	from, to := p.StreamOptionsSpan[0], p.StreamOptionsSpan[1]
	options := doc[from:to]
	w := walk.New(options)
	if w.Kind() != '{' || !w.Enter() {
		return body.Field(field, p.StreamOptionsSpan, p.Open, []byte("{"+wish+"}"))
	}
	empty := true
	for name, ok := w.Member(); ok; name, ok = w.Member() {
		empty = false
		if start, end := w.Skip(); string(name) == "include_usage" {
			return body.Edit{From: from + start, To: from + end, With: []byte("true")}
		}
	}
	if empty {
		return body.Edit{From: from, To: to, With: []byte("{" + wish + "}")}
	}
	return body.Edit{From: from + 1, To: from + 1, With: []byte(wish + ",")}
}

// NewFollower returns a follower for this format's streams.
func (*Format) NewFollower() wire.Follower { return &Follower{} }

// AppendPing appends a comment: the format has no event that clients ignore.
func (*Format) AppendPing(dst []byte) []byte { return append(dst, ": ping\n\n"...) }
