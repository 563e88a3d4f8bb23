package store

import (
	"os"
	"path/filepath"
	"testing"
)

func testCounter(t *testing.T) *counter {
	t.Helper()
	c, err := openCounter(filepath.Join(t.TempDir(), "count"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.close() })
	return c
}

func signalled(m *mailbox) bool {
	select {
	case <-m.wake:
		return true
	default:
		return false
	}
}

// TestMailbox_Signals holds that a busy writer is left alone until many events
// wait: waking it for each would cost more than the event.
func TestMailbox_Signals(t *testing.T) {
	t.Parallel()
	m := newMailbox(2*manyEvents, 1<<20, testCounter(t))
	m.put(record{}, "1", nil)
	if !signalled(m) {
		t.Fatal("the idle writer was not woken")
	}
	for range manyEvents - 2 {
		m.put(record{}, "n", nil)
	}
	if signalled(m) {
		t.Error("the busy writer was woken")
	}
	m.put(record{}, "512", nil)
	if !signalled(m) {
		t.Error("many events did not wake the writer")
	}
	if _, _, ok := m.take(batch{}); !ok {
		t.Fatal("nothing to take")
	}
	m.put(record{}, "next", nil)
	if signalled(m) {
		t.Error("woken although it never said that it is idle")
	}
	if _, _, ok := m.take(batch{}); !ok {
		t.Fatal("nothing to take")
	}
	if _, _, ok := m.take(batch{}); ok { // finds nothing, and so is idle
		t.Fatal("took something from an empty mailbox")
	}
	m.put(record{}, "again", nil)
	if !signalled(m) {
		t.Error("the idle writer was not woken")
	}
}

func TestMailbox_Bounds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ events, bytes, accepted int }{
		"events": {3, 1000, 3},
		"bytes":  {100, 35, 3}, // of 11 bytes each
		"exact":  {100, 33, 3},
		"none":   {100, 10, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMailbox(tt.events, tt.bytes, testCounter(t))
			for i := range 10 {
				m.put(record{at: int64(100 - i)}, "i", []byte("0123456789"))
			}
			b, lost, _ := m.take(batch{})
			if len(b.records) != tt.accepted || lost.count != int64(10-tt.accepted) {
				t.Errorf("accepted %d, lost %+v", len(b.records), lost)
			}
			if lost.from != 91 || lost.to != int64(100-tt.accepted) {
				t.Errorf("span of the lost: %+v", lost)
			}
			if _, lost, ok := m.take(batch{}); ok || lost.count != 0 {
				t.Errorf("the loss is told twice: %+v", lost)
			}
			m.put(record{}, "i", nil)
			if accepted, dropped := m.counts(); accepted != int64(tt.accepted+1) || dropped != int64(10-tt.accepted) {
				t.Errorf("counts: %d, %d: there was room again", accepted, dropped)
			}
		})
	}
}

func TestMailbox_KeepsBytesApart(t *testing.T) {
	t.Parallel()
	m := newMailbox(10, 1000, testCounter(t))
	body := []byte("first body")
	m.put(record{kind: "a", at: 1}, "id-1", body)
	copy(body, "XXXXXXXXXX") // the caller's memory is its own again
	m.put(record{kind: "b", at: 2}, "", []byte("second"))
	b, _, _ := m.take(batch{})
	r := b.records
	if string(b.bytes[r[0].start:r[0].mid]) != "id-1" || string(b.bytes[r[0].mid:r[0].end]) != "first body" ||
		r[1].start != r[1].mid || string(b.bytes[r[1].mid:r[1].end]) != "second" {
		t.Errorf("bytes %q, records %+v", b.bytes, r)
	}
}

func TestBatch_GivesMemoryBack(t *testing.T) {
	t.Parallel()
	small := batch{bytes: make([]byte, 10, spareBytes), records: make([]record, 5)}
	large := batch{bytes: make([]byte, 10, spareBytes+1), records: make([]record, 5)}
	small.reset()
	large.reset()
	if cap(small.bytes) != spareBytes || cap(small.records) != 5 || len(small.records) != 0 {
		t.Error("an ordinary buffer was thrown away")
	}
	if large.bytes != nil || large.records != nil {
		t.Error("a burst's buffer was kept")
	}
}

func TestCounter_ReadsWhatItCounted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "count")
	c, err := openCounter(path)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := c.read(); ok {
		t.Errorf("a new file says %+v", n)
	}
	if err := c.start("run-1"); err != nil {
		t.Fatal(err)
	}
	c.setAccepted(7, 1000)
	c.setDropped(2, 2000)
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != counterSize {
		t.Errorf("size %v, %v: the whole page must be on the disk before it is mapped", info, err)
	}
	c, err = openCounter(path)
	if err != nil {
		t.Fatal(err)
	}
	want := count{run: "run-1", sameBoot: true, accepted: 7, dropped: 2, lastUS: 2000}
	if n, ok := c.read(); !ok || n != want {
		t.Errorf("got %+v, %v", n, ok)
	}
	if _, err := openCounter(path); err == nil {
		t.Error("opened twice")
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
}
