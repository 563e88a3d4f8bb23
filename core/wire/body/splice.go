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
