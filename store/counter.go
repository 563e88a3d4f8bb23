package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
)

// counter says, in a small file beside the database, how many events the
// running process has accepted. The file is mapped into memory, so that
// counting is a store and survives kill -9; the next start compares it with
// what became rows. Its lock keeps a second process away from the database.
// A nil map (no such system call) counts nothing. The caller serialises access.
type counter struct {
	file *os.File
	data []byte
}

// The file's layout, little-endian.
const (
	counterSize     = 4096
	counterMagic    = "SPWYCNT1"
	counterRun      = 8  // 16 bytes: the run's id
	counterBoot     = 24 // 8 bytes: which boot of the machine
	counterAccepted = 32
	counterDropped  = 40
	counterLast     = 48 // time of the last event, microseconds
)

// count is what an earlier process left in the file.
type count struct {
	run               string
	sameBoot          bool
	accepted, dropped int64
	lastUS            int64
}

// read returns what the last process left; ok is false when it left nothing
// that can be trusted.
func (c *counter) read() (n count, ok bool) {
	var b [counterSize]byte
	if _, err := c.file.ReadAt(b[:], 0); err != nil || !bytes.HasPrefix(b[:], []byte(counterMagic)) {
		return count{}, false
	}
	boot := bootMark()
	return count{
		run:      string(bytes.TrimRight(b[counterRun:counterBoot], "\x00")),
		sameBoot: bytes.Equal(b[counterBoot:counterAccepted], boot[:]),
		accepted: int64(binary.LittleEndian.Uint64(b[counterAccepted:])),
		dropped:  int64(binary.LittleEndian.Uint64(b[counterDropped:])),
		lastUS:   int64(binary.LittleEndian.Uint64(b[counterLast:])),
	}, true
}

// start begins to count for a run. The page is written first, because touching
// a mapped page that the disk has no room for would kill the process.
func (c *counter) start(run string) error {
	var b [counterSize]byte
	copy(b[:], counterMagic)
	copy(b[counterRun:counterBoot], run)
	boot := bootMark()
	copy(b[counterBoot:], boot[:])
	if _, err := c.file.WriteAt(b[:], 0); err != nil {
		return err
	}
	if err := c.mapFile(); err != nil {
		_, clearErr := c.file.WriteAt(make([]byte, counterSize), 0) // a count that stays at 0 would be believed
		return errors.Join(err, clearErr)
	}
	return nil
}

func (c *counter) setAccepted(n, at int64) {
	if c.data != nil {
		binary.LittleEndian.PutUint64(c.data[counterAccepted:], uint64(n))
		binary.LittleEndian.PutUint64(c.data[counterLast:], uint64(at))
	}
}

func (c *counter) setDropped(n, at int64) {
	if c.data != nil {
		binary.LittleEndian.PutUint64(c.data[counterDropped:], uint64(n))
		binary.LittleEndian.PutUint64(c.data[counterLast:], uint64(at))
	}
}

// bootMark tells boots of the machine apart: after a power loss the file may be
// older than the database, and a count from it would be a guess.
func bootMark() (mark [8]byte) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return mark
	}
	sum := sha256.Sum256(id)
	copy(mark[:], sum[:])
	return mark
}
