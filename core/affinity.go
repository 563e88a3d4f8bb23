package core

import (
	"sync"
	"time"
)

// affinity remembers which target a conversation last used (R2.4). It keeps two
// generations and drops the older one when the younger is full or old, so that
// it is bounded without a list of uses.
type affinity struct {
	mu         sync.Mutex
	young, old map[uint64]string
	born       time.Duration
}

const (
	affinityMax = 50_000
	affinityAge = 30 * time.Minute // longer than a vendor keeps a prompt cache
)

func (a *affinity) get(key uint64) string {
	if key == 0 {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if t, ok := a.young[key]; ok {
		return t
	}
	return a.old[key]
}

func (a *affinity) set(key uint64, target string, now time.Duration) {
	if key == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.young == nil || len(a.young) >= affinityMax || now-a.born > affinityAge {
		a.old, a.young, a.born = a.young, map[uint64]string{}, now
	}
	a.young[key] = target
}
