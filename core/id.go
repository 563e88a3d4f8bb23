package core

import (
	"sync/atomic"
	"time"
)

// idSource makes ids that sort by time: 44 bits of milliseconds, 20 bits of a
// counter and 56 drawn bits, in 24 characters of Crockford's base 32.
type idSource struct {
	random Random
	last   atomic.Uint64 // milliseconds<<20 | counter
}

const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// next returns a new id; ids of one source never go backwards, even if the
// wall clock does.
func (s *idSource) next(wall time.Time) string {
	base := uint64(wall.UnixMilli()) << 20
	var n uint64
	for {
		old := s.last.Load()
		n = max(base, old+1)
		if s.last.CompareAndSwap(old, n) {
			break
		}
	}
	r := mix(s.random.Seed ^ n)
	var b [24]byte
	hi, lo := n>>4, (n&15)<<56|r>>8 // 60 bits each
	for i := 11; i >= 0; i-- {
		b[i] = idAlphabet[hi&31]
		hi >>= 5
	}
	for i := 23; i >= 12; i-- {
		b[i] = idAlphabet[lo&31]
		lo >>= 5
	}
	return string(b[:])
}
