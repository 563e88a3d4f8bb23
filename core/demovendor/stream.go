package demovendor

import (
	"bytes"
	"cmp"
	"net/http"
	"strings"
)

// stream sends an answer as events.
func (x *exchange) stream(a *answer) {
	x.v.ledger.streams.Add(1)
	defer x.v.ledger.streams.Add(-1)
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	x.head(http.StatusOK)
	out := x.eventWriter()
	s := x.v.wire.stream(a)
	if !out.events(s.opening) || !x.sleep(x.firstContent()) || !x.content(s.content, out) {
		return
	}
	x.finish(s.closing, out)
}

// content sends content at its pace, up to where the step ends it; false when the client left.
func (x *exchange) content(events []event, out *eventWriter) bool {
	if x.step.End != EndProper {
		events = events[:min(x.step.After, len(events))]
	}
	for i := range events {
		if !x.sleep(x.gap(i)) || !out.events(events[i:i+1]) {
			return false
		}
	}
	return true
}

// finish ends an answer the way that the step says.
func (x *exchange) finish(closing []event, out *eventWriter) {
	switch x.step.End {
	case EndProper:
		out.events(closing)
	case EndErrorEvent:
		e := event{data: string(x.v.wire.problem(x.eventProblem(), x.requestID()))}
		if x.v.cfg.Wire != WireOpenAI {
			e.name = "error"
		}
		out.events([]event{e})
	case EndStall:
		if out.flush() {
			x.hang()
		}
	case EndCut:
		if out.flush() {
			x.cut()
		}
	}
}

// eventProblem is the error of an error event: overload, unless the step has other words.
func (x *exchange) eventProblem() *problem {
	s := &x.step
	return &problem{status: statusOverloaded, typ: s.ErrorType, code: s.ErrorCode, detail: s.ErrorCode,
		message: cmp.Or(s.Message, "Simulated failure: overloaded.")}
}

// cutter is a response writer that can drop its connection; the in-memory one is.
type cutter interface{ cut() }

// cut drops the connection under the answer. A writer that can't drop it
// (HTTP/2) ends the answer early instead.
func (x *exchange) cut() {
	x.v.ledger.cuts.Add(1)
	if c, ok := x.w.(cutter); ok {
		c.cut()
		return
	}
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		return
	}
	_ = conn.Close() // it is gone either way
}

// eventWriter writes events in a style. It counts the client as gone at the first failed write.
type eventWriter struct {
	x       *exchange
	style   *Style
	buf     []byte
	offset  int // bytes written so far
	line    int // lines ended so far, for mixed endings
	written int
	failed  bool
}

func (x *exchange) eventWriter() *eventWriter { return &eventWriter{x: x, style: &x.step.Style} }

// whole reports that the style has no wish about where writes end.
func (s *Style) whole() bool { return s.SplitEvery <= 0 && len(s.SplitAt) == 0 }

// events writes events, in one write unless the style splits it; false when the client left.
func (o *eventWriter) events(events []event) bool {
	o.buf = o.buf[:0]
	for _, e := range events {
		o.append(e)
	}
	return o.write(o.buf)
}

func (o *eventWriter) append(e event) {
	s := o.style
	if s.Comments {
		o.field("", "a comment is no content")
		o.field("id", string(rune('a'+o.written%26)))
		o.field("retry", "3000")
	}
	o.written++
	if e.name != "" {
		o.field("event", e.name)
	}
	data := e.data
	if s.TwoLines && strings.HasPrefix(data, "{") {
		o.field("data", "{")
		data = data[1:]
	}
	o.field("data", data)
	o.end()
}

func (o *eventWriter) field(name, value string) {
	o.buf = append(append(o.buf, name...), ':')
	if !o.style.NoSpace {
		o.buf = append(o.buf, ' ')
	}
	o.buf = append(o.buf, value...)
	o.end()
}

// end ends a line. A blank line after a bare CR never ends in a bare LF: the
// two would be one CRLF, and the event would have no end.
func (o *eventWriter) end() {
	ending := o.style.Line
	if ending == LineMixed {
		ending = LineEnding(o.line % int(LineMixed))
		if ending == LineLF && bytes.HasSuffix(o.buf, []byte("\r")) {
			ending = LineCRLF
		}
	}
	o.line++
	switch ending {
	case LineCRLF:
		o.buf = append(o.buf, "\r\n"...)
	case LineCR:
		o.buf = append(o.buf, '\r')
	default:
		o.buf = append(o.buf, '\n')
	}
}

// write sends bytes in the pieces that the style asks for.
func (o *eventWriter) write(b []byte) bool {
	if len(b) == 0 {
		return !o.failed
	}
	for len(b) > 0 {
		n := o.piece(len(b))
		if _, err := o.x.w.Write(b[:n]); err != nil {
			return o.lost()
		}
		if !o.flush() {
			return false
		}
		o.offset += n
		b = b[n:]
		if !o.style.whole() && !o.x.sleep(o.style.SplitPause) {
			o.failed = true
			return false
		}
	}
	return true
}

// piece is the length of the next write, of n bytes that are left.
func (o *eventWriter) piece(n int) int {
	if every := o.style.SplitEvery; every > 0 {
		n = min(n, every-o.offset%every)
	}
	for _, at := range o.style.SplitAt {
		if at > o.offset {
			n = min(n, at-o.offset)
		}
	}
	return n
}

// flush pushes out what was written; false when the client left.
func (o *eventWriter) flush() bool {
	if o.failed || http.NewResponseController(o.x.w).Flush() != nil {
		return o.lost()
	}
	return true
}

func (o *eventWriter) lost() bool {
	if !o.failed {
		o.failed = true
		o.x.v.ledger.gone.Add(1)
	}
	return false
}
