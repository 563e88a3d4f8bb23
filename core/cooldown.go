package core

import (
	"sync"
	"sync/atomic"
	"time"
)

// cooldownKey is what a 429 throttles: a vendor's allowance as one key sees it.
type cooldownKey struct{ group, key string }

// cooldowns holds the running cooldowns (R1.4).
type cooldowns struct {
	running atomic.Int32 // 0 lets the hot path skip the lock
	mu      sync.Mutex
	until   map[cooldownKey]time.Duration
}

// extend starts a cooldown or moves its end later, never earlier (R13 of the
// field failures), and reports the end and whether it moved.
func (c *cooldowns) extend(k cooldownKey, until time.Duration) (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until == nil {
		c.until = map[cooldownKey]time.Duration{}
	}
	if old, ok := c.until[k]; ok && old >= until {
		return old, false
	}
	c.until[k] = until
	c.running.Store(int32(len(c.until)))
	return until, true
}

// left is how long a cooldown still runs, 0 for none.
func (c *cooldowns) left(k cooldownKey, now time.Duration) time.Duration {
	if c.running.Load() == 0 {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if u, ok := c.until[k]; ok && u > now {
		return u - now
	}
	return 0
}

// expire forgets ended cooldowns.
func (c *cooldowns) expire(now time.Duration) {
	if c.running.Load() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, u := range c.until {
		if u <= now {
			delete(c.until, k)
		}
	}
	c.running.Store(int32(len(c.until)))
}

// all copies the running cooldowns.
func (c *cooldowns) all() map[cooldownKey]time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := make(map[cooldownKey]time.Duration, len(c.until))
	for k, u := range c.until {
		m[k] = u
	}
	return m
}

// keyFor chooses a key of a target's provider that is in service and not cooling
// down. The draw decides which: equal draws stay with their key while it can be
// used, and spread evenly over the others when it can't. Without a key it says
// why and how long that lasts.
func (e *Engine) keyFor(w *world, target int, draw uint64, now time.Duration) (key int, why Kind, wait time.Duration) {
	t := &w.rev.Catalog.Targets[target]
	key, why = -1, KindAuthProvider
	most := uint64(0)
	for i, k := range w.providers[w.owner[target]].keys {
		if !k.usable() {
			continue
		}
		left := e.cooldowns.left(cooldownKey{t.QuotaGroup, k.id}, now)
		// Rendezvous hashing: a key's coming and going moves nobody else's conversations.
		if rank := mix(draw ^ uint64(i)<<32); left == 0 && (key < 0 || rank > most) {
			key, most = i, rank
		}
		if why != KindCoolingDown || left < wait {
			why, wait = KindCoolingDown, left
		}
	}
	if key >= 0 {
		return key, KindNone, 0
	}
	return key, why, wait
}
