package store

import (
	"crypto/sha256"
	"encoding/binary"
)

// head is the end of the hash chain: the newest row's number and hash. The zero
// value is the end of an empty history.
type head struct {
	seq  int64
	hash [sha256.Size]byte
}

// chained is a row's hashed form:
//
//	previous hash (32 bytes) | seq | at_us | len(kind) | kind | len(id) | id | body
//
// Numbers are 64-bit big-endian. The lengths keep two different rows from
// having the same form.
type chained struct {
	buf      []byte
	id, body int // where they start
}

// open starts the row that follows h, up to the body.
func (c *chained) open(h head, at int64, kind string, id []byte) {
	b := append(c.buf[:0], h.hash[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(h.seq+1))
	b = binary.BigEndian.AppendUint64(b, uint64(at))
	b = binary.BigEndian.AppendUint64(b, uint64(len(kind)))
	b = append(b, kind...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(id)))
	c.id = len(b)
	b = append(b, id...)
	c.body = len(b)
	c.buf = b
}

func (c *chained) idBytes() []byte   { return c.buf[c.id:c.body] }
func (c *chained) bodyBytes() []byte { return c.buf[c.body:] }

// next is the head after the row.
func (c *chained) next(h head) head {
	return head{seq: h.seq + 1, hash: sha256.Sum256(c.buf)}
}
