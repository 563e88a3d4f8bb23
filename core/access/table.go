package access

import (
	"crypto/sha256"
	"fmt"
	"sync/atomic"

	"github.com/spillway-llm/spillway/core"
)

// Caller is who a key belongs to. It is immutable once in a [Table].
type Caller struct {
	// KeyID names the key in audit and console; it is not secret.
	KeyID string
	// Grants bound what the key may ask for.
	Grants core.Grants
}

// Entry is one key as it is stored.
type Entry struct {
	// Hash is the SHA-256 of the key, see [Hash].
	Hash [sha256.Size]byte
	Caller
}

// Table finds callers by their key. Its zero value knows nobody. It is safe for
// concurrent use.
type Table struct {
	callers atomic.Pointer[map[[sha256.Size]byte]*Caller]
}

// NewTable returns a table of the entries, or [Table.Replace]'s error.
func NewTable(entries ...Entry) (*Table, error) {
	t := &Table{}
	if err := t.Replace(entries); err != nil {
		return nil, err
	}
	return t, nil
}

// Replace exchanges all entries at once: a lookup sees either the old table or
// the new one. On an error, an id or a key used twice, the old one stays.
func (t *Table) Replace(entries []Entry) error {
	next := make(map[[sha256.Size]byte]*Caller, len(entries))
	ids := make(map[string]bool, len(entries))
	for _, e := range entries {
		if e.KeyID == "" || ids[e.KeyID] {
			return fmt.Errorf("replace callers' keys: id %q is empty or used twice", e.KeyID)
		}
		if next[e.Hash] != nil {
			return fmt.Errorf("replace callers' keys: %q is the same key as %q", e.KeyID, next[e.Hash].KeyID)
		}
		c := e.Caller
		next[e.Hash], ids[e.KeyID] = &c, true
	}
	t.callers.Store(&next)
	return nil
}

// Lookup returns the caller of a presented key.
func (t *Table) Lookup(presented string) (*Caller, bool) {
	m := t.callers.Load()
	if m == nil || presented == "" || len(presented) > maxKeyLength {
		return nil, false
	}
	c, ok := (*m)[Hash(presented)]
	return c, ok
}

// Len is the number of keys.
func (t *Table) Len() int {
	m := t.callers.Load()
	if m == nil {
		return 0
	}
	return len(*m)
}
