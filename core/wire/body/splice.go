package body

import "slices"

// Edit replaces the bytes [From, To) of a body; From = To inserts.
type Edit struct {
	From, To int
	With     []byte
}

// Splice appends doc with the edits made, in the order of their places; edits
// at the same place keep their order. They must not overlap.
func Splice(dst, doc []byte, edits ...Edit) []byte {
	slices.SortStableFunc(edits, func(a, b Edit) int { return a.From - b.From })
	at := 0
	for _, e := range edits {
		dst = append(dst, doc[at:e.From]...)
		dst = append(dst, e.With...)
		at = e.To
	}
	return append(dst, doc[at:]...)
}

// Field is the edit that gives a field of the body another value: it replaces
// the value at the span, or adds the field after the opening brace when the span
// is 0,0. A body that gets a field added must have another one.
func Field(name string, span [2]int, open int, value []byte) Edit {
	if span[1] > 0 {
		return Edit{From: span[0], To: span[1], With: value}
	}
	with := make([]byte, 0, len(name)+len(value)+4)
	with = append(with, '"')
	with = append(with, name...)
	with = append(with, `":`...)
	with = append(with, value...)
	return Edit{From: open, To: open, With: append(with, ',')}
}
