package exchange

import (
	"errors"
	"io"
	"slices"
)

// keepBuffer is the largest buffer that is used again: above it one long
// conversation would pin its memory for all later short ones.
const keepBuffer = 64 << 10

// firstRead is the size of the first read of a body of unknown length.
const firstRead = 8 << 10

// ErrTooLong is a body that is longer than allowed.
var ErrTooLong = errors.New("longer than allowed")

// kept returns a buffer's memory for the next use, unless it is too large.
func kept(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}

// readAll reads r to its end into dst, which length, if known, sizes. It stops
// with ErrTooLong after limit bytes.
func readAll(dst []byte, r io.Reader, length, limit int64) ([]byte, error) {
	if length > limit {
		return dst, ErrTooLong
	}
	// One byte more than the length lets the read that finds the end find it
	// without growing.
	dst = slices.Grow(dst[:0], int(max(length+1, firstRead)))
	for {
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case int64(len(dst)) > limit:
			return dst, ErrTooLong
		case errors.Is(err, io.EOF):
			return dst, nil
		case err != nil:
			return dst, err
		case len(dst) == cap(dst):
			dst = slices.Grow(dst, len(dst))
		}
	}
}
