package gateway

import (
	"sync"
	"time"

	"github.com/spillway-llm/spillway/core"
)

// keeper keeps the callers of silent streams from giving up (R6.2, R6.6). One
// timer serves all of them, and only while there are some: a timer per request
// costs more than the request's own work (hot-path.md §8).
type keeper struct {
	clock   core.Clock
	silence time.Duration

	mu    sync.Mutex
	all   []*reply
	armed bool
}

// sweepsPerSilence is how often the keeper looks within the time after which a
// caller gets a sign of life: it comes at most that part later.
const sweepsPerSilence = 10

func (k *keeper) add(r *reply) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r.slot = len(k.all)
	k.all = append(k.all, r)
	if !k.armed {
		k.armed = true
		k.clock.AfterFunc(k.silence/sweepsPerSilence, k.sweep)
	}
}

func (k *keeper) remove(r *reply) {
	k.mu.Lock()
	defer k.mu.Unlock()
	last := len(k.all) - 1
	k.all[r.slot] = k.all[last]
	k.all[r.slot].slot = r.slot
	k.all[last] = nil
	k.all = k.all[:last]
}

// sweep looks for silent callers. Each gets its sign of life from a goroutine
// of its own, because writing to one that doesn't read may take long.
func (k *keeper) sweep() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.all {
		if r.due() {
			k.clock.Go(r.ping)
		}
	}
	k.armed = len(k.all) > 0
	if k.armed {
		k.clock.AfterFunc(k.silence/sweepsPerSilence, k.sweep)
	}
}

// due reports whether a sign of life should be sent. A reply that is being
// written to is not silent.
func (r *reply) due() bool {
	if !r.mu.TryLock() {
		return false
	}
	defer r.mu.Unlock()
	return !r.over && r.quiet(r.clock.Mono())
}
