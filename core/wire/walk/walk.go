// Package walk walks a JSON document without decoding it.
package walk

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// MaxDepth is how deep containers may nest: the walker recurses, and a body of
// nothing but brackets must not cost more than a refusal.
const MaxDepth = 256

// SyntaxError says where a document stops being JSON.
type SyntaxError struct {
	// Offset counts bytes from the document's start.
	Offset int
	// Want is what should have been there.
	Want string
}

// Error names the place and what was expected.
func (e *SyntaxError) Error() string {
	return "not JSON at byte " + strconv.Itoa(e.Offset) + ": expected " + e.Want
}

// Walker is a position in a document. It checks the syntax of everything it
// passes: after a walk that ended with [Walker.End] the document is known to be
// JSON. Its zero value walks nothing; use [New]. It is not safe for concurrent
// use.
type Walker struct {
	doc   []byte
	i     int
	depth int
	fresh bool // the container was just entered: no comma comes first
	err   *SyntaxError
}

// New returns a walker before the document's one value. The document must not
// change while it is walked.
func New(doc []byte) Walker {
	w := Walker{doc: doc}
	w.space()
	return w
}

// Err is the first syntax error, nil without one. After it, every method
// answers with nothing.
func (w *Walker) Err() *SyntaxError { return w.err }

// Pos is the offset of the value, or of whatever comes next.
func (w *Walker) Pos() int { return w.i }

// Kind is the first byte of the value at the position: one of { [ " t f n - or
// a digit where the document is JSON, 0 at its end.
func (w *Walker) Kind() byte {
	if w.err != nil || w.i >= len(w.doc) {
		return 0
	}
	return w.doc[w.i]
}

// Enter steps into the object or array at the position and reports whether
// there is one. Its members or elements must then be walked to their end.
func (w *Walker) Enter() bool {
	if k := w.Kind(); k != '{' && k != '[' {
		return false
	}
	if w.depth++; w.depth > MaxDepth {
		w.fail("at most " + strconv.Itoa(MaxDepth) + " nested values")
		return false
	}
	w.i++
	w.fresh = true
	w.space()
	return true
}

// Member moves to the object's next member and returns its name, unescaped. The
// position is then its value, which must be entered or skipped. At the object's
// end it leaves it and returns false.
func (w *Walker) Member() (name []byte, ok bool) {
	if !w.more('}') {
		return nil, false
	}
	start, end, escaped := w.name()
	switch {
	case w.err != nil:
		return nil, false
	case escaped:
		return Bytes(w.doc[start:end]), true
	}
	return w.doc[start+1 : end-1], true
}

// Element moves to the array's next element. At the array's end it leaves it
// and returns false.
func (w *Walker) Element() bool { return w.more(']') }

// Skip passes over the value at the position and returns its span.
func (w *Walker) Skip() (start, end int) {
	if w.err != nil {
		return w.i, w.i
	}
	start = w.i
	w.value()
	w.fresh = false
	return start, w.i
}

// Value passes over the value at the position and returns its bytes.
func (w *Walker) Value() []byte {
	start, end := w.Skip()
	return w.doc[start:end]
}

// End reports whether nothing but white space follows and nothing was wrong
// before.
func (w *Walker) End() bool {
	w.space()
	if w.err == nil && w.i < len(w.doc) {
		w.fail("nothing after the value")
	}
	return w.err == nil
}

// Bytes returns what a JSON string says: without a copy when it has no escapes.
// The string must be one that a walker passed over.
func Bytes(str []byte) []byte {
	if !IsString(str) {
		return nil
	}
	raw := str[1 : len(str)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var s string
	if json.Unmarshal(str, &s) != nil {
		return raw
	}
	return []byte(s)
}

// IsString reports whether a value's bytes are a string.
func IsString(value []byte) bool { return len(value) > 1 && value[0] == '"' }

// IsNull reports whether a value's bytes are null.
func IsNull(value []byte) bool { return len(value) > 0 && value[0] == 'n' }

// Int returns a whole number that is not negative, and false for every other
// value.
func Int(value []byte) (int64, bool) {
	if len(value) == 0 || len(value) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// Get returns the bytes of the value at a path of names, nil when there is none
// or the document is not JSON that far. It is for small documents and rare
// paths: each call walks anew.
func Get(doc []byte, path ...string) []byte {
	w := New(doc)
	for _, want := range path {
		if w.Kind() != '{' || !w.Enter() || !w.seek(want) {
			return nil
		}
	}
	v := w.Value()
	if w.err != nil {
		return nil
	}
	return v
}

func (w *Walker) seek(want string) bool {
	for {
		name, ok := w.Member()
		if !ok || string(name) == want {
			return ok
		}
		w.Skip()
	}
}
