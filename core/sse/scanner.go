package sse

import (
	"bytes"
	"errors"
)

// DefaultLimit is how many bytes one event may have when nothing else is said:
// above it vendors' own limits on a whole request would be broken already.
const DefaultLimit = 16 << 20

// keepMemory is the most that a scanner keeps between events: one large event
// must not pin its memory for the rest of a long stream.
const keepMemory = 64 << 10

// ErrTooLarge is the end of a stream with an event over the scanner's limit.
var ErrTooLarge = errors.New("read event stream: event is over the size limit")

// Scanner finds the events in a stream that arrives in chunks cut anywhere. It
// takes every line end that the standard allows (LF, CRLF, CR) and delivers an
// event as soon as its blank line is complete. It copies only events that a
// chunk cut. It is not safe for concurrent use; make one with [NewScanner].
type Scanner struct {
	limit int
	err   error

	buf  []byte // the chunk, or held when an event was cut
	held []byte // own memory
	own  bool   // buf is held

	// start is the event's first byte and scan the first of its unfinished line.
	// No LF is in [scan, lf) and no CR in [scan, cr), so that no byte is searched
	// twice however small the chunks are.
	start, scan, lf, cr int
	afterCR             bool // an LF that comes next belongs to a CR seen already
	begun               bool // a byte order mark can't come any more

	fields fields
}

// span is a part of the event, counted from its start.
type span struct{ from, to int }

// fields is what the event's lines said so far.
type fields struct {
	name, id, data span
	lines          int    // data lines
	joined         []byte // the data when it has several lines
	odd            bool   // not what AppendEvent writes
}

// NewScanner returns a scanner that refuses events of more than limit bytes;
// a limit of 0 or less is [DefaultLimit].
func NewScanner(limit int) *Scanner {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Scanner{limit: limit}
}

// Reset readies the scanner for another stream. It keeps its limit.
func (s *Scanner) Reset() {
	*s = Scanner{limit: s.limit, held: trim(s.held), fields: fields{joined: trim(s.fields.joined)}}
}

// Err returns [ErrTooLarge] once an event was over the limit; the stream has no
// more events then.
func (s *Scanner) Err() error { return s.err }

// Feed takes the next bytes of the stream. They must stay unchanged until Next
// has returned false: only then has the scanner copied what it still needs.
func (s *Scanner) Feed(chunk []byte) {
	if s.err != nil || len(chunk) == 0 {
		return
	}
	s.keep()
	if s.own {
		s.held = append(s.held, chunk...)
		s.buf = s.held
	} else {
		s.buf = chunk
	}
	if s.afterCR {
		s.afterCR = false
		if s.buf[s.scan] == '\n' {
			s.swallow()
		}
	}
}

// keep copies an event that the chunk cut, so that the chunk's memory is the
// caller's again.
func (s *Scanner) keep() {
	rest := s.buf[s.start:]
	if len(rest) == 0 {
		s.held, s.buf, s.own = trim(s.held), nil, false
		s.scan, s.lf, s.cr = 0, 0, 0
	} else if !s.own || s.start > 0 {
		s.held = append(s.held[:0], rest...)
		s.buf, s.own = s.held, true
		s.scan -= s.start
		s.lf = max(s.lf-s.start, 0)
		s.cr = max(s.cr-s.start, 0)
	}
	s.start = 0
}

func trim(b []byte) []byte {
	if cap(b) > keepMemory {
		return nil
	}
	return b[:0]
}

// swallow skips the LF of a CRLF that was cut: the event may be over already.
func (s *Scanner) swallow() {
	if s.start == s.scan {
		s.start++
	}
	s.scan++
}

// Next returns the next event, or false when more bytes are needed or the
// stream broke the limit. Blocks without data are no events, as the standard
// says: comments, and lone id, event and retry fields.
func (s *Scanner) Next() (Event, bool) {
	if s.err != nil || !s.begin() {
		return Event{}, false
	}
	for {
		end, next := s.line()
		if next == 0 {
			break
		}
		if end > s.scan {
			s.take(end, next)
			continue
		}
		ev, ok := s.finish(end, next)
		if len(ev.Raw) > s.limit {
			s.err = ErrTooLarge
			return Event{}, false
		}
		if ok {
			return ev, true
		}
	}
	if len(s.buf)-s.start > s.limit {
		s.err = ErrTooLarge
	}
	s.keep()
	return Event{}, false
}

// begin skips the byte order mark that a stream may start with.
func (s *Scanner) begin() bool {
	const mark = "\xef\xbb\xbf"
	if s.begun {
		return true
	}
	if len(s.buf) < len(mark) && string(s.buf) == mark[:len(s.buf)] {
		s.keep()
		return false
	}
	s.begun = true
	if bytes.HasPrefix(s.buf, []byte(mark)) {
		s.start, s.scan = len(mark), len(mark)
	}
	return true
}

// line returns the end of the line at scan and the start of the one after it;
// next is 0 while the line has no end. A CR at the end of the bytes ends the
// line at once: waiting for an LF would hold back a finished event.
func (s *Scanner) line() (end, next int) {
	lf, cr := s.find('\n', &s.lf), s.find('\r', &s.cr)
	switch {
	case lf < cr:
		return lf, lf + 1
	case cr == len(s.buf):
		return 0, 0
	case cr+1 == len(s.buf):
		s.afterCR = true
		return cr, cr + 1
	case s.buf[cr+1] == '\n':
		return cr, cr + 2
	default:
		return cr, cr + 1
	}
}

// find returns the first c at or after scan, the length without one.
func (s *Scanner) find(c byte, known *int) int {
	i := max(*known, s.scan)
	if i < len(s.buf) && s.buf[i] != c {
		if j := bytes.IndexByte(s.buf[i:], c); j >= 0 {
			i += j
		} else {
			i = len(s.buf)
		}
	}
	*known = i
	return i
}

// take reads the line that ends at end.
func (s *Scanner) take(end, next int) {
	f, line := &s.fields, s.buf[s.scan:end]
	if line[0] == ':' && s.start == s.scan {
		s.start, s.scan = next, next // a comment before the event is no part of it
		return
	}
	if next-end != 1 || s.buf[end] != '\n' {
		f.odd = true
	}
	value := span{s.scan - s.start, end - s.start}
	s.scan = next
	colon := bytes.IndexByte(line, ':')
	spaced := colon >= 0 && colon+1 < len(line) && line[colon+1] == ' '
	name := line
	if colon < 0 {
		value.from = value.to
	} else {
		name = line[:colon]
		value.from += colon + 1
	}
	if spaced {
		value.from++
	}
	switch string(name) {
	case "data":
		f.odd = f.odd || !spaced
		s.addData(value)
	case "event":
		f.odd = f.odd || !spaced || value.from == value.to || f.name.to > 0 || f.lines > 0
		f.name = value
	case "id":
		f.odd = true
		if bytes.IndexByte(s.part(value), 0) < 0 {
			f.id = value
		}
	default:
		f.odd = true
	}
}

func (s *Scanner) addData(value span) {
	f := &s.fields
	f.lines++
	if f.lines == 1 {
		f.data = value
		return
	}
	if f.lines == 2 {
		f.joined = append(f.joined[:0], s.part(f.data)...)
	}
	f.joined = append(f.joined, '\n')
	f.joined = append(f.joined, s.part(value)...)
}

func (s *Scanner) part(p span) []byte { return s.buf[s.start+p.from : s.start+p.to] }

// finish closes the block whose blank line ends at next.
func (s *Scanner) finish(end, next int) (Event, bool) {
	f := &s.fields
	ev := Event{
		Name: s.part(f.name), ID: s.part(f.id), Data: s.part(f.data), Raw: s.buf[s.start:next],
		Canonical: !f.odd && next-end == 1 && s.buf[end] == '\n',
	}
	ok := f.lines > 0
	joined := f.joined
	if f.lines > 1 {
		ev.Data, joined = f.joined, f.joined[:0]
	}
	if cap(joined) > keepMemory {
		joined = nil
	}
	*f = fields{joined: joined}
	s.start, s.scan = next, next
	return ev, ok
}
