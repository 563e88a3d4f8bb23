// Package body reads and splices what the request bodies of all vendors have in
// common.
package body

import (
	"fmt"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// Reader reads the fields of one request body. Its first error stays, and ends
// every loop over it. It is not safe for concurrent use.
type Reader struct {
	walk.Walker
	// Open is the offset right after the body's opening brace.
	Open int

	err  *core.Error
	seen uint64
}

// NewReader steps into the body.
func NewReader(doc []byte) Reader {
	r := Reader{Walker: walk.New(doc)}
	r.Open = r.Pos() + 1
	if k := r.Kind(); k != '{' && k != 0 {
		r.Fail("The body must be one JSON object, not %s.", kindName(k))
		return r
	}
	if !r.Enter() {
		r.Skip() // for the walker's own word on what is missing
	}
	return r
}

// Next moves to the next field and returns its name.
func (r *Reader) Next() (name []byte, ok bool) {
	if r.err != nil {
		return nil, false
	}
	return r.Member()
}

// Once takes note of a field that decisions depend on and refuses it the second
// time: vendors disagree on which of two counts, so that a policy would decide
// on one and the vendor act on the other. Each field has a number below 64.
func (r *Reader) Once(number uint, name string) {
	if r.seen>>number&1 != 0 {
		r.Fail("The body has the field %q twice. Send it once.", name)
	}
	r.seen |= 1 << number
}

// Has reports whether the field of that number was there.
func (r *Reader) Has(number uint) bool { return r.seen>>number&1 != 0 }

// Fail refuses the body with a message for the caller. Where the text is no
// JSON at all that is the message, because a field's fault only follows from it.
func (r *Reader) Fail(format string, args ...any) {
	switch {
	case r.err != nil:
	case r.Walker.Err() != nil:
		r.err = r.notJSON()
	default:
		r.err = invalid(format, args...)
	}
}

func (r *Reader) notJSON() *core.Error {
	return invalid("The body is %s. Send one JSON object.", r.Walker.Err().Error())
}

// Done checks that the body ends here, and returns what is wrong with it.
func (r *Reader) Done() error {
	if r.err == nil && !r.End() {
		r.err = r.notJSON()
	}
	if r.err != nil {
		return r.err
	}
	return nil
}

func invalid(format string, args ...any) *core.Error {
	return &core.Error{
		Op: "read the request", Kind: core.KindInvalidRequest, Status: 400,
		Type: "invalid_request_error", Message: fmt.Sprintf(format, args...),
	}
}

// Bool reads a field that must be true or false; null counts as false.
func (r *Reader) Bool(name string) bool {
	k := r.Kind()
	r.Skip()
	if k != 't' && k != 'f' && k != 'n' {
		r.Fail("%q must be true or false, not %s.", name, kindName(k))
	}
	return k == 't'
}

// Text reads a field that must be a string and returns its value and its span,
// quotes included. A null is no text, but has a span: who sets the field must
// replace it.
func (r *Reader) Text(name string) (text []byte, span [2]int) {
	k, start := r.Kind(), r.Pos()
	v := r.Value()
	if k != '"' && k != 'n' {
		r.Fail("%q must be a string, not %s.", name, kindName(k))
	}
	return walk.Bytes(v), [2]int{start, r.Pos()}
}

// Count reads a field that must be a whole number of at least least; null
// counts as absent.
func (r *Reader) Count(name string, least int64) int {
	k := r.Kind()
	v := r.Value()
	if k == 'n' {
		return 0
	}
	n, ok := walk.Int(v)
	if !ok || n < least || n > 1<<40 {
		r.Fail("%q must be a whole number of at least %d. Correct it or leave it out.", name, least)
	}
	return int(n)
}

// Object reads a field that must be an object and returns its bytes; null
// counts as absent.
func (r *Reader) Object(name string) []byte { return r.container(name, '{', "an object") }

// Array reads a field that must be an array and returns its bytes; null counts
// as absent.
func (r *Reader) Array(name string) []byte { return r.container(name, '[', "an array") }

func (r *Reader) container(name string, open byte, want string) []byte {
	k := r.Kind()
	v := r.Value()
	switch k {
	case open:
		return v
	case 'n':
		return nil
	}
	r.Fail("%q must be %s, not %s.", name, want, kindName(k))
	return nil
}

func kindName(k byte) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	case 0:
		return "nothing"
	}
	if k == '-' || k >= '0' && k <= '9' {
		return "a number"
	}
	return "text that is not JSON"
}

// Filled reports whether an array has an element.
func Filled(array []byte) bool {
	w := walk.New(array)
	return w.Kind() == '[' && w.Enter() && w.Element()
}
