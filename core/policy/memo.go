package policy

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/core"
)

// The memo's size: plans of one snapshot. A full shard is emptied whole.
const (
	memoShards   = 16
	memoPerShard = 256
	// memoWait is how long a request waits for another one's evaluation of equal
	// facts: longer than any that can be stopped.
	memoWait = 4 * defaultDeadline
)

// memo remembers the plans of one snapshot by facts. It is safe for concurrent
// use; a hit allocates nothing.
type memo struct {
	seed   maphash.Seed
	shards [memoShards]memoShard
}

type memoShard struct {
	mu      sync.RWMutex
	entries map[uint64]*memoEntry
	count   int
}

// memoEntry is one plan, or the promise of one: ready is closed once plan is set.
type memoEntry struct {
	facts core.Facts
	plan  *core.Plan
	ready chan struct{}
	next  *memoEntry
}

func newMemo() *memo { return &memo{seed: maphash.MakeSeed()} }

// get returns the plan of equal facts, or an entry: a fresh one that the caller
// must fill, or one that somebody else is filling.
func (m *memo) get(f *core.Facts) (plan *core.Plan, e *memoEntry, fresh bool) {
	h := maphash.Comparable(m.seed, *f)
	s := &m.shards[h%memoShards]
	s.mu.RLock()
	e = s.find(h, f)
	if e != nil {
		plan = e.plan
	}
	s.mu.RUnlock()
	if e != nil {
		return plan, e, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e = s.find(h, f); e != nil {
		return e.plan, e, false
	}
	if s.entries == nil || s.count >= memoPerShard {
		s.entries, s.count = make(map[uint64]*memoEntry, 16), 0
	}
	e = &memoEntry{facts: *f, ready: make(chan struct{}), next: s.entries[h]}
	s.entries[h] = e
	s.count++
	return nil, e, true
}

func (s *memoShard) find(h uint64, f *core.Facts) *memoEntry {
	for e := s.entries[h]; e != nil; e = e.next {
		if e.facts == *f {
			return e
		}
	}
	return nil
}

// fill keeps an entry's promise. Without keep the plan serves only those who
// wait for it: the next request tries again.
func (m *memo) fill(e *memoEntry, plan *core.Plan, keep bool) {
	h := maphash.Comparable(m.seed, e.facts)
	s := &m.shards[h%memoShards]
	s.mu.Lock()
	e.plan = plan
	if !keep {
		s.remove(h, e)
	}
	s.mu.Unlock()
	close(e.ready)
}

func (s *memoShard) remove(h uint64, e *memoEntry) {
	if s.entries[h] == e {
		s.entries[h] = e.next
		return
	}
	for x := s.entries[h]; x != nil; x = x.next {
		if x.next == e {
			x.next = e.next
			return
		}
	}
}

// wait returns the plan that another request is making, nil when it takes too long.
func (m *memo) wait(e *memoEntry) *core.Plan {
	t := time.NewTimer(memoWait)
	defer t.Stop()
	select {
	case <-e.ready:
		return e.plan
	case <-t.C:
		return nil
	}
}
