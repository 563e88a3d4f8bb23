package core

import (
	"fmt"
	"sync/atomic"
	"time"
)

// keyState says whether one provider key is in service.
type keyState struct {
	id     string
	secret Secret
	out    atomic.Uint32 // 0 in service; 1+kind out of it, 1 by hand
	back   atomic.Int64  // monotonic time at which the vendor's refusal is tested again
}

// keyRetest is how long a key that its vendor refused stays out of service. It
// comes back by itself, because a pool that only shrinks decays into an outage;
// a key taken out by hand does not.
const keyRetest = 5 * time.Minute

func (k *keyState) usable() bool { return k.out.Load() == 0 }

// set reports whether the state changed.
func (k *keyState) set(usable bool, why Kind) bool {
	v := uint32(0)
	if !usable {
		v = 1 + uint32(why)
	}
	return k.out.Swap(v) != v
}

// why is the vendor's reason for a key that is out of service.
func (k *keyState) why() Kind {
	if v := k.out.Load(); v > 0 {
		return Kind(v - 1)
	}
	return KindNone
}

func (p *providerState) key(id string) *keyState {
	for _, k := range p.keys {
		if k.id == id {
			return k
		}
	}
	return nil
}

// retire takes a provider key out of service, loudly (R1.3).
func (e *Engine) retire(w *world, target int, a *Attempt, k Kind, now time.Duration) bool {
	ks := w.providers[w.owner[target]].key(a.Key.ID)
	if ks == nil || !ks.usable() {
		return false
	}
	ks.back.Store(int64(now + keyRetest))
	if !ks.set(false, k) {
		return false
	}
	e.recorder.Record(&KeyState{
		At: e.clock.Wall(), Provider: a.Provider.ID, Key: a.Key.ID, Kind: k, By: "vendor",
	})
	return true
}

// returnKeys puts keys back whose time out of service is over. The caller holds
// refresher.mu.
func (e *Engine) returnKeys(w *world, now time.Duration) {
	for i, p := range w.providers {
		for _, k := range p.keys {
			if k.why() == KindNone || int64(now) < k.back.Load() {
				continue
			}
			k.set(true, KindNone)
			e.recorder.Record(&KeyState{
				At: e.clock.Wall(), Provider: w.rev.Catalog.Providers[i].ID, Key: k.id, Usable: true, By: "time",
			})
		}
	}
}

// SetKey takes a provider key out of service by hand, or puts it back. By hand
// means until a hand puts it back.
func (e *Engine) SetKey(provider, key string, usable bool, by string) error {
	w := e.snap.Load().world
	for i, p := range w.providers {
		if w.rev.Catalog.Providers[i].ID != provider {
			continue
		}
		if k := p.key(key); k != nil {
			k.set(usable, KindNone)
			e.recorder.Record(&KeyState{At: e.clock.Wall(), Provider: provider, Key: key, Usable: usable, By: by})
			e.changed(e.clock.Mono())
			return nil
		}
	}
	return fmt.Errorf("set key: provider %q has no key %q", provider, key)
}
