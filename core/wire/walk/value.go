package walk

import (
	"encoding/binary"
	"math/bits"
)

// value passes over any value.
func (w *Walker) value() {
	switch k := w.Kind(); k {
	case '"':
		w.str()
	case '{':
		w.object()
	case '[':
		w.array()
	case 't':
		w.literal("true")
	case 'f':
		w.literal("false")
	case 'n':
		w.literal("null")
	default:
		if k == '-' || isDigit(k) {
			w.number()
		} else {
			w.fail("a value")
		}
	}
}

func (w *Walker) object() {
	if !w.Enter() {
		return
	}
	for w.more('}') {
		w.name()
		w.value()
	}
}

// name passes over a member's name and the colon, and returns the name's span
// and whether it has escapes.
func (w *Walker) name() (start, end int, escaped bool) {
	start = w.i
	if w.Kind() != '"' {
		w.fail("a name in quotes")
		return start, start, false
	}
	escaped = w.str()
	end = w.i
	w.space()
	if w.Kind() != ':' {
		w.fail("':' after the name")
		return start, start, false
	}
	w.i++
	w.space()
	return start, end, escaped
}

func (w *Walker) array() {
	if !w.Enter() {
		return
	}
	for w.more(']') {
		w.value()
	}
}

// more reads what stands between two values of a container, or its end.
func (w *Walker) more(end byte) bool {
	if w.err != nil {
		return false
	}
	if !w.fresh {
		w.space()
	}
	switch k := w.Kind(); {
	case k == end:
		w.i++
		w.depth--
		w.fresh = false
		return false
	case w.fresh:
		w.fresh = false
		return true
	case k == ',':
		w.i++
		w.space()
		return true
	}
	w.fail("',' or '" + string(rune(end)) + "'")
	return false
}

func (w *Walker) fail(want string) {
	if w.err == nil {
		w.err = &SyntaxError{Offset: min(w.i, len(w.doc)), Want: want}
	}
}

func (w *Walker) space() {
	d, i := w.doc, w.i
	for i < len(d) && d[i] <= ' ' && (d[i] == ' ' || d[i] == '\n' || d[i] == '\r' || d[i] == '\t') {
		i++
	}
	w.i = i
}

func (w *Walker) literal(word string) {
	if len(w.doc)-w.i < len(word) || string(w.doc[w.i:w.i+len(word)]) != word {
		w.fail("true, false or null")
		return
	}
	w.i += len(word)
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// number passes over a number; a leading zero ends its whole part, as the
// grammar has it.
func (w *Walker) number() {
	if w.Kind() == '-' {
		w.i++
	}
	if w.Kind() == '0' {
		w.i++
	} else {
		w.digits()
	}
	if w.Kind() == '.' {
		w.i++
		w.digits()
	}
	if k := w.Kind(); k == 'e' || k == 'E' {
		w.i++
		if k := w.Kind(); k == '+' || k == '-' {
			w.i++
		}
		w.digits()
	}
}

func (w *Walker) digits() {
	if !isDigit(w.Kind()) {
		w.fail("a digit")
		return
	}
	for isDigit(w.Kind()) {
		w.i++
	}
}

// str passes over a string. Prompts are nearly all string, so it looks at eight
// bytes at a time for the ones that mean something. It reports whether there was
// an escape.
func (w *Walker) str() (escaped bool) {
	d, i := w.doc, w.i+1
	for {
		for len(d)-i >= 8 {
			if m := special(binary.LittleEndian.Uint64(d[i:])); m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		if i >= len(d) {
			break
		}
		switch c := d[i]; {
		case c == '"':
			w.i = i + 1
			return escaped
		case c == '\\':
			n := escape(d[i:])
			if n == 0 {
				w.i = i
				w.fail("an escape that JSON knows")
				return escaped
			}
			escaped = true
			i += n
		case c < ' ':
			w.i = i
			w.fail("no bare control character in a string")
			return escaped
		default:
			i++
		}
	}
	w.i = len(d)
	w.fail("the closing quote of a string")
	return escaped
}

// special marks the bytes of x that are a quote, a backslash or a control
// character: bit 7 of each, exact up to and including the first one.
func special(x uint64) uint64 {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	quote, back := x^(ones*'"'), x^(ones*'\\')
	m := (quote - ones) &^ quote
	m |= (back - ones) &^ back
	m |= (x - ones*' ') &^ x
	return m & highs
}

// escape returns the length of the escape that b starts with, 0 for none.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if !isDigit(c) && (c|0x20)-'a' > 5 {
				return 0
			}
		}
		return 6
	}
	return 0
}
