package store

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// maxText cuts longer strings of an event, in bytes. Model names and tags come
// from callers: without a bound one of them could fill the queue.
const maxText = 4096

const hexDigits = "0123456789abcdef"

// encoder appends JSON by hand. json.Marshal costs more than the whole rest of
// recording a decision; the text is the same as json.Marshal's, byte for byte.
type encoder struct{ b []byte }

// name starts a member, with a comma unless it is the first one.
func (e *encoder) name(n string) {
	if last := e.b[len(e.b)-1]; last != '{' && last != '[' {
		e.b = append(e.b, ',')
	}
	e.b = append(e.b, '"')
	e.b = append(e.b, n...)
	e.b = append(e.b, '"', ':')
}

func (e *encoder) text(n, v string) {
	e.name(n)
	e.b = appendText(e.b, v)
}

// textIf leaves the member out when there is nothing to say.
func (e *encoder) textIf(n, v string) {
	if v != "" {
		e.text(n, v)
	}
}

func (e *encoder) number(n string, v int64) {
	e.name(n)
	e.b = strconv.AppendInt(e.b, v, 10)
}

func (e *encoder) numberIf(n string, v int64) {
	if v != 0 {
		e.number(n, v)
	}
}

func (e *encoder) flag(n string, v bool) {
	e.name(n)
	e.b = strconv.AppendBool(e.b, v)
}

func (e *encoder) flagIf(n string, v bool) {
	if v {
		e.flag(n, true)
	}
}

func (e *encoder) float(n string, v float64) {
	e.name(n)
	if v-v != 0 { // NaN and the infinities are no JSON
		e.b = append(e.b, "null"...)
		return
	}
	e.b = strconv.AppendFloat(e.b, v, 'g', -1, 64)
}

// micros writes a time, or leaves it out when it is zero.
func (e *encoder) micros(n string, t time.Time) {
	if !t.IsZero() {
		e.number(n, t.UnixMicro())
	}
}

// item starts an element of an array.
func (e *encoder) item() {
	if e.b[len(e.b)-1] != '[' {
		e.b = append(e.b, ',')
	}
}

// ceilMS rounds up, so that what took any time at all is never shown as 0,
// which stands for "did not happen".
func ceilMS(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// cutText cuts s to maxText bytes without splitting a character.
func cutText(s string) string {
	if len(s) <= maxText {
		return s
	}
	end := maxText - len("…")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// appendText appends s as a JSON string in json.Marshal's form: invalid UTF-8
// becomes U+FFFD, and what could end a script or a line is escaped.
func appendText(b []byte, s string) []byte {
	s = cutText(s)
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if plain(c) {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			b = appendEscaped(b, c)
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || r == '\u2028' || r == '\u2029' {
			b = append(b, s[start:i]...)
			b = append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
			start = i + n
		}
		i += n
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func plain(c byte) bool {
	return c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
}

func appendEscaped(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
