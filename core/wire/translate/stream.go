package translate

import (
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/sse"
)

// Stream puts the events of one streamed answer into the caller's form, one by
// one and without waiting. It is not safe for concurrent use.
//
// It never makes up an end: a stream that is cut, or that holds something the
// other form can't say, gets no end marker from it, and whoever reads it ends it
// with an error event. A tool call that was cut with its stream gets no end
// either. Error events of the source are theirs to tell, too.
type Stream struct {
	form form
	err  *core.Error
}

// form is one direction.
type form interface {
	// event appends what one event becomes.
	event(dst []byte, ev *sse.Event) ([]byte, *core.Error)
	// end appends what ends a whole answer, once.
	end(dst []byte) []byte
	// left is what the caller's form has no place for.
	left() []string
}

// NewStream returns a translator for one stream. With wantsUsage a Chat
// Completions caller gets the usage chunk; created, in seconds since 1970, is
// what its chunks say and Messages streams lack; names are those of the
// request's [Form].
func NewStream(from, to core.Wire, wantsUsage bool, created int64, names Names) *Stream {
	switch {
	case from == core.WireAnthropic && to == core.WireOpenAI:
		return &Stream{form: &chatStream{wantsUsage: wantsUsage, created: created, names: names}}
	case from == core.WireOpenAI && to == core.WireAnthropic:
		return &Stream{form: &messagesStream{names: names}}
	}
	return &Stream{form: nothing{}, err: unfit("from " + string(from) + " to " + string(to))}
}

// Append appends the caller's form of one event, which may be nothing. After an
// event that has none, [Stream.Err] is not nil and nothing more is appended.
func (s *Stream) Append(dst []byte, ev *sse.Event) []byte {
	if s.err != nil {
		return dst
	}
	dst, s.err = s.form.event(dst, ev)
	return dst
}

// End appends what must still follow after the source came to its proper end:
// nothing when its end marker was an event, and nothing after a cut.
func (s *Stream) End(dst []byte) []byte {
	if s.err != nil {
		return dst
	}
	return s.form.end(dst)
}

// Err is why the stream can't be carried on, a [*core.Error] of KindBadResponse,
// or nil.
func (s *Stream) Err() *core.Error { return s.err }

// Warnings say what of the answer so far the caller's form has no place for.
func (s *Stream) Warnings() []string { return s.form.left() }

// nothing is the direction that does not exist.
type nothing struct{}

func (nothing) event(dst []byte, _ *sse.Event) ([]byte, *core.Error) { return dst, nil }
func (nothing) end(dst []byte) []byte                                { return dst }
func (nothing) left() []string                                       { return nil }
