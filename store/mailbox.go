package store

import (
	"sync"

	"github.com/spillway-llm/spillway/core"
)

// record is one accepted event: where its id and body lie in the batch's bytes,
// and what the writer still has to add.
type record struct {
	at       int64
	kind     string
	start    int // of the id
	mid      int // of the body
	end      int
	snapshot *core.Snapshot
	plan     *core.Plan
	change   *change
}

// batch is a run of accepted events in one piece of memory.
type batch struct {
	bytes   []byte
	records []record
}

// spareBytes is the buffer size above which a drained batch gives its memory
// back: a burst must not be paid for ever after.
const spareBytes = 2 << 20

// reset forgets the events, so that their snapshots and plans can go.
func (b *batch) reset() {
	clear(b.records)
	b.records, b.bytes = b.records[:0], b.bytes[:0]
	if cap(b.bytes) > spareBytes {
		b.records, b.bytes = nil, nil
	}
}

// loss counts refused events and their time span.
type loss struct{ count, from, to int64 }

func (l *loss) add(at int64) {
	if l.count == 0 {
		l.from, l.to = at, at
	}
	l.count++
	l.from, l.to = min(l.from, at), max(l.to, at)
}

// mailbox hands events from requests to the writer. Requests only copy their
// bytes under a short lock; the writer takes all of them by swapping buffers.
// It is bounded: an event that does not fit is refused and counted.
type mailbox struct {
	maxEvents, maxBytes int
	// wake has room for one signal; it is sent when the writer idles, and once
	// per batch when many events wait.
	wake chan struct{}

	mu       sync.Mutex
	fill     batch
	lost     loss // since the last take
	idle     bool
	closed   bool
	accepted int64
	dropped  int64
	counter  *counter
}

// manyEvents is how many waiting events wake the writer before its time, so
// that a crash loses fewer than 1,000 rows as long as the disk keeps up (R18.4).
const manyEvents = 512

func newMailbox(maxEvents, maxBytes int, c *counter) *mailbox {
	return &mailbox{maxEvents: maxEvents, maxBytes: maxBytes, wake: make(chan struct{}, 1), idle: true, counter: c}
}

// put accepts an event or counts it as refused.
func (m *mailbox) put(r record, id string, body []byte) {
	m.mu.Lock()
	if m.closed { // the counter's memory is gone
		m.dropped++
		m.mu.Unlock()
		return
	}
	if len(m.fill.records) >= m.maxEvents || len(m.fill.bytes)+len(id)+len(body) > m.maxBytes {
		m.lost.add(r.at)
		m.dropped++
		m.counter.setDropped(m.dropped, r.at)
		m.mu.Unlock()
		return
	}
	r.start = len(m.fill.bytes)
	m.fill.bytes = append(m.fill.bytes, id...)
	r.mid = len(m.fill.bytes)
	m.fill.bytes = append(m.fill.bytes, body...)
	r.end = len(m.fill.bytes)
	m.fill.records = append(m.fill.records, r)
	m.accepted++
	m.counter.setAccepted(m.accepted, r.at)
	signal := m.idle || len(m.fill.records) == min(manyEvents, m.maxEvents)
	m.idle = false
	m.mu.Unlock()
	if signal {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
}

// take swaps the waiting events for an empty batch. It returns false, and
// marks the writer as idle, when there is nothing to do.
func (m *mailbox) take(empty batch) (b batch, lost loss, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.fill.records) == 0 && m.lost.count == 0 {
		m.idle = true
		return empty, loss{}, false
	}
	b, lost = m.fill, m.lost
	m.fill, m.lost = empty, loss{}
	return b, lost, true
}

// close refuses every later event.
func (m *mailbox) close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
}

func (m *mailbox) counts() (accepted, dropped int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.accepted, m.dropped
}
