// Package anthropic speaks the Anthropic Messages wire format.
package anthropic

import (
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire"
	"github.com/spillway-llm/spillway/core/wire/body"
	"github.com/spillway-llm/spillway/core/wire/quote"
)

// Format is the Anthropic Messages format, of both its versions. It has no
// state; its zero value is ready.
type Format struct{}

var _ wire.Format = (*Format)(nil)

// New returns the format.
func New() *Format { return &Format{} }

// Wire names the format.
func (*Format) Wire() core.Wire { return core.WireAnthropic }

// Native appends the body with the target's model and otherwise byte for byte
// the caller's: blocks that are bound to the conversation's prefix stay valid
// only so (R7.4).
func (*Format) Native(dst, doc []byte, p *wire.Peek, t *core.Target) []byte {
	if p.Model == t.Model {
		return append(dst, doc...)
	}
	return body.Splice(dst, doc, body.Field("model", p.ModelSpan, p.Open, quote.Append(nil, t.Model)))
}

// NewFollower returns a follower for this format's streams.
func (*Format) NewFollower() wire.Follower { return &Follower{} }

// AppendPing appends a ping event, which clients ignore.
func (*Format) AppendPing(dst []byte) []byte {
	return append(dst, "event: ping\ndata: {\"type\": \"ping\"}\n\n"...)
}
