// Package live keeps browsers up to date over WebSockets: a board of versioned
// values, and a hub that sends every socket what it has not seen yet.
package live

import (
	"maps"
	"sync"
)

// Frame is what one message to a browser says: texts by field, HTML by element
// id, and an announcement.
type Frame struct {
	Epoch  string            `json:"e"`
	Seq    uint64            `json:"s"`
	Fields map[string]string `json:"f,omitempty"`
	Parts  map[string]string `json:"h,omitempty"`
	Note   string            `json:"n,omitempty"`
}

// Board holds the newest value of every live field with the version of its last
// change. A reader asks for what changed since a version, so one that is slow
// skips values instead of queueing them. It is safe for concurrent use.
type Board struct {
	epoch string

	mu      sync.Mutex
	version uint64
	fields  map[string]value
	parts   map[string]value
	note    value
}

type value struct {
	text    string
	version uint64
}

// NewBoard returns an empty board. epoch must differ between processes: a
// reader that comes with another epoch gets everything.
func NewBoard(epoch string) *Board {
	return &Board{epoch: epoch, fields: map[string]value{}, parts: map[string]value{}}
}

// Epoch names the board's process.
func (b *Board) Epoch() string { return b.epoch }

// Set replaces the whole state and returns its version. Equal values keep
// theirs; keys that are missing are forgotten.
func (b *Board) Set(fields, parts map[string]string) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := b.version + 1
	changed := merge(b.fields, fields, next)
	if merge(b.parts, parts, next) || changed {
		b.version = next
	}
	return b.version
}

func merge(have map[string]value, want map[string]string, version uint64) (changed bool) {
	maps.DeleteFunc(have, func(k string, _ value) bool { _, ok := want[k]; return !ok })
	for k, text := range want {
		if old, ok := have[k]; !ok || old.text != text {
			have[k] = value{text, version}
			changed = true
		}
	}
	return changed
}

// Announce leaves a text for screen readers. A later one takes its place for
// readers that have not seen it yet.
func (b *Board) Announce(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.version++
	b.note = value{text, b.version}
}

// Since returns what changed after the version of the same epoch, or everything
// for another epoch or a version that this board has not reached.
func (b *Board) Since(epoch string, version uint64) Frame {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := epoch == b.epoch && version <= b.version
	if !known {
		version = 0
	}
	f := Frame{Epoch: b.epoch, Seq: b.version, Fields: after(b.fields, version), Parts: after(b.parts, version)}
	if known && b.note.version > version {
		f.Note = b.note.text
	}
	return f
}

func after(have map[string]value, version uint64) map[string]string {
	var out map[string]string
	for k, v := range have {
		if v.version <= version {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[k] = v.text
	}
	return out
}
