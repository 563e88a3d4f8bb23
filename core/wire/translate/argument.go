package translate

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spillway-llm/spillway/core/wire/walk"
)

// appendUnquoted appends what a JSON string says. It must be one that a walker
// passed over. Streams bring a string in pieces, and a surrogate pair that is
// cut in two becomes two replacement characters: the pieces themselves go on to
// the caller as they came.
func appendUnquoted(dst, literal []byte) []byte {
	raw := literal[1 : len(literal)-1]
	for len(raw) > 0 {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		switch c := raw[i+1]; c {
		case 'u':
			var r rune
			r, raw = unicodeEscape(raw[i:])
			dst = utf8.AppendRune(dst, r)
			continue
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		default:
			dst = append(dst, c)
		}
		raw = raw[i+2:]
	}
	return dst
}

// unicodeEscape reads the \uXXXX that raw starts with, and its other half when it
// is one of a pair.
func unicodeEscape(raw []byte) (rune, []byte) {
	r, rest := hex4(raw[2:6]), raw[6:]
	if !utf16.IsSurrogate(r) || len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' {
		return r, rest
	}
	if both := utf16.DecodeRune(r, hex4(rest[2:6])); both != utf8.RuneError {
		return both, rest[6:]
	}
	return r, rest
}

func hex4(digits []byte) (r rune) {
	for _, c := range digits {
		switch {
		case c <= '9':
			c -= '0'
		default:
			c = (c | 0x20) - 'a' + 10
		}
		r = r<<4 | rune(c)
	}
	return r
}

// closing finds the end of a JSON object that comes in pieces.
type closing struct {
	depth           int
	quoted, escaped bool
	begun, done     bool
}

// follow takes the next piece.
func (c *closing) follow(piece []byte) {
	for _, b := range piece {
		switch {
		case c.escaped:
			c.escaped = false
		case c.quoted:
			c.escaped, c.quoted = b == '\\', b != '"'
		case b == '"':
			c.quoted, c.begun = true, true
		case b == '{' || b == '[':
			c.depth++
			c.begun = true
		case b == '}' || b == ']':
			c.depth--
		}
	}
	c.done = c.begun && c.depth == 0 && !c.quoted
}

// emptyArguments reports whether a call was made without a word.
func emptyArguments(v []byte) bool { return len(bytes.TrimSpace(v)) == 0 }

// wholeArguments reports whether arguments can be passed to a tool.
func wholeArguments(v []byte) bool { return emptyArguments(v) || isObject(v) }

// first returns the first element of an array, nil without one.
func first(array []byte) []byte {
	w := walk.New(array)
	if w.Kind() != '[' || !w.Enter() || !w.Element() {
		return nil
	}
	return w.Value()
}
