package core

import (
	"fmt"
	"sync/atomic"
	"time"
)

// keyState says whether one provider key is in service. Its states change by
// compare and swap: a hand's word must not be lost to a vendor's answer, or to
// the time, that comes at the same moment.
type keyState struct {
	id     string
	secret Secret
	out    atomic.Uint32 // keyIn, keyByHand, or keyByHand+kind for a vendor's refusal
	back   atomic.Int64  // monotonic time at which the vendor's refusal is tested again
	probed atomic.Int32  // HTTP status of the last probe with it, 0 before
}

const (
	keyIn     = 0
	keyByHand = 1
)

// keyRetest is how long a key that its vendor refused stays out of service. It
// comes back by itself, because a pool that only shrinks decays into an outage;
// a key taken out by hand does not.
const keyRetest = 5 * time.Minute

func (k *keyState) usable() bool { return k.out.Load() == keyIn }

// set puts the key in or out of service, whatever it was before. KindNone is by
// hand.
func (k *keyState) set(usable bool, why Kind) {
	v := uint32(keyIn)
	if !usable {
		v = keyByHand + uint32(why)
	}
	k.out.Store(v)
}

// why is the vendor's reason for a key that is out of service, KindNone when it
// is in service or out of it by hand.
func (k *keyState) why() Kind {
	if v := k.out.Load(); v > keyByHand {
		return Kind(v - keyByHand)
	}
	return KindNone
}

// replaced is the state of a key that got another secret: a new chance after a
// vendor's refusal, but not after an operator's.
func (k *keyState) replaced(s Secret) *keyState {
	n := &keyState{id: k.id, secret: s}
	if k.out.Load() == keyByHand {
		n.out.Store(keyByHand)
	}
	return n
}

func (p *providerState) key(id string) *keyState {
	for _, k := range p.keys {
		if k.id == id {
			return k
		}
	}
	return nil
}

// inService counts the keys that are in service.
func (p *providerState) inService() int {
	n := 0
	for _, k := range p.keys {
		if k.usable() {
			n++
		}
	}
	return n
}

// retire takes a provider key out of service, loudly (R1.3).
func (e *Engine) retire(w *world, target int, a *Attempt, k Kind, now time.Duration) bool {
	p := w.providers[w.owner[target]]
	ks := p.key(a.Key.ID)
	if ks == nil || !ks.usable() {
		return false
	}
	ks.back.Store(int64(now + keyRetest))
	if !ks.out.CompareAndSwap(keyIn, keyByHand+uint32(k)) {
		return false
	}
	e.recorder.Record(&KeyState{
		At: e.clock.Wall(), Provider: a.Provider.ID, Key: a.Key.ID, Kind: k, By: "vendor",
		Left: p.inService(), Total: len(p.keys),
	})
	return true
}

// keyDraw decides which key is used: a conversation stays with its key, whose
// account holds its prompt cache (R2.4), and everybody else is spread.
func (f *flight) keyDraw() uint64 {
	if f.req.Affinity != 0 {
		return f.req.Affinity
	}
	return f.seed
}

// otherKey reports that the last attempt failed for the account that its key
// belongs to, or for its allowance, and that the target has another key to use
// (R3.2).
func (f *flight) otherKey(target int, k Kind) bool {
	if k != KindRateLimited && !k.AccountFault() {
		return false
	}
	key, _, _ := f.e.keyFor(f.w, target, f.keyDraw(), f.e.clock.Mono())
	return key >= 0 && f.attempt.Key.ID != f.w.providers[f.w.owner[target]].keys[key].id
}

// returnKeys puts keys back whose time out of service is over. The caller holds
// refresher.mu.
func (e *Engine) returnKeys(w *world, now time.Duration) {
	for i, p := range w.providers {
		for _, k := range p.keys {
			v := k.out.Load()
			if v <= keyByHand || int64(now) < k.back.Load() || !k.out.CompareAndSwap(v, keyIn) {
				continue
			}
			e.recorder.Record(&KeyState{
				At: e.clock.Wall(), Provider: w.rev.Catalog.Providers[i].ID, Key: k.id, Usable: true, By: "time",
				Left: p.inService(), Total: len(p.keys),
			})
		}
	}
}

// SetKey takes a provider key out of service by hand, or puts it back. By hand
// means until a hand puts it back: neither time nor a vendor's answer nor a new
// secret does. Retries that wait already respect it. By and reason are for the
// record.
func (e *Engine) SetKey(provider, key string, usable bool, by, reason string) error {
	w := e.snap.Load().world
	for i, p := range w.providers {
		if w.rev.Catalog.Providers[i].ID != provider {
			continue
		}
		if k := p.key(key); k != nil {
			k.set(usable, KindNone)
			e.recorder.Record(&KeyState{
				At: e.clock.Wall(), Provider: provider, Key: key, Usable: usable, By: by, Reason: reason,
				Left: p.inService(), Total: len(p.keys),
			})
			e.changed(e.clock.Mono())
			return nil
		}
	}
	return fmt.Errorf("set key: provider %q has no key %q", provider, key)
}
