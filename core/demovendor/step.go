package demovendor

import (
	"net/http"
	"time"
)

// Step is what the vendor does with one request. Its zero value is the ordinary
// answer at the model's pace.
type Step struct {
	// Status is the answer's status; 0 is the ordinary 200. From 300 up the body
	// is the vendor's own error for that status.
	Status int
	// Header is added to the answer, over the vendor's own.
	Header http.Header
	// Body, when set, is sent as it is instead of what the vendor would say.
	// Give it a Content-Type in Header when it is not JSON.
	Body string
	// ErrorType, ErrorCode and Message replace those of the error for Status, or of the error event.
	ErrorType, ErrorCode, Message string

	// Delay comes before the status line, FirstContent after it and before the
	// first content, Gap between chunks. 0 takes the model's pace; a negative one is no time at all.
	Delay, FirstContent, Gap time.Duration

	// End is how the answer ends, once After chunks of content were sent. A JSON
	// answer ends half-way.
	End   End
	After int

	// Chunks are the pieces of the answer's text; nil is the vendor's own text.
	Chunks []string
	// EventBytes makes the first event with content at least this long, in one data line.
	EventBytes int
	// Tool is a tool call that follows the text.
	Tool *ToolCall
	// StopReason replaces the wire's own word for why the answer ended.
	StopReason string
	// Model replaces the model's name in the answer.
	Model string
	// Usage replaces the counted usage. NoUsage leaves usage out, as some
	// compatible servers do even when asked.
	Usage   *Usage
	NoUsage bool

	// Style is how the events of a stream are written.
	Style Style
}

// End is how an answer ends.
type End uint8

// The ends.
const (
	// EndProper is the whole answer.
	EndProper End = iota
	// EndCut drops the connection.
	EndCut
	// EndSilent ends the stream cleanly without its end marker. A JSON answer is
	// half a document with a Content-Length that fits it.
	EndSilent
	// EndErrorEvent sends an error event and closes. A JSON answer is the error with status 200.
	EndErrorEvent
	// EndStall goes silent and keeps the connection until the client leaves.
	EndStall
)

// Usage are the tokens that an answer reports, as vendors bill them.
type Usage struct {
	// Input excludes CacheRead and CacheWrite.
	Input, CacheRead, CacheWrite int
	// Output includes Reasoning.
	Output, Reasoning int
}

// ToolCall is a call of a tool. Arguments are the pieces of its JSON, one per
// event of a stream; they need not add up to a document.
type ToolCall struct {
	ID, Name  string
	Arguments []string
}

// Style is how server-sent events are put into bytes. Its zero value is what
// the vendors do: LF, a space after the colon, a write per event.
type Style struct {
	Line LineEnding
	// NoSpace leaves out the space after the colon.
	NoSpace bool
	// Comments adds a comment line and id and retry fields to each event.
	Comments bool
	// TwoLines splits each event's JSON over two data lines.
	TwoLines bool
	// SplitEvery cuts the stream into writes of that many bytes, SplitAt at these
	// offsets; neither minds where events end.
	SplitEvery int
	SplitAt    []int
	// SplitPause is the time between two writes of a split stream. Over TCP
	// without one, a reader may see several writes in one read.
	SplitPause time.Duration
}

// LineEnding ends the lines of an event.
type LineEnding uint8

// The line endings. LineMixed takes each in turn.
const (
	LineLF LineEnding = iota
	LineCRLF
	LineCR
	LineMixed
)

// Script lines up steps: each of the next requests takes one, in order of
// arrival; afterwards the vendor is as it was.
func (v *Vendor) Script(steps ...Step) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.script = append(v.script, steps...)
}

// Always makes every request take the step, once scripts are used up, until
// [Vendor.Heal].
func (v *Vendor) Always(s Step) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.always = &s
}

// next chooses a request's step: script, then Respond, then Always, then the fault.
func (v *Vendor) next(r *Request) Step {
	v.mu.Lock()
	if len(v.script) > 0 {
		s := v.script[0]
		v.script = v.script[1:]
		v.mu.Unlock()
		return s
	}
	always := v.always
	v.mu.Unlock()
	if v.cfg.Respond != nil {
		if s := v.cfg.Respond(r); s != nil {
			return *s
		}
	}
	if always != nil {
		return *always
	}
	return v.faultStep(r)
}
