package core_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
)

// pooled is one target behind three keys, and another at another vendor.
func pooled(t testing.TB, secret string) *core.Catalog {
	t.Helper()
	p := core.Provider{ID: "o", Wire: core.WireOpenAI, Vendor: "openai", Nodes: []core.Node{{ID: "n", BaseURL: "http://o"}}}
	for _, id := range []string{"k1", "k2", "k3"} {
		p.Keys = append(p.Keys, core.Key{ID: id, Secret: core.NewSecret(secret)})
	}
	b := p
	b.ID, b.Vendor, b.Keys = "b", "other", p.Keys[:1]
	c, err := core.NewCatalog([]core.Provider{p, b}, []core.Target{
		{ID: "o1", Provider: "o", Model: "gpt"}, {ID: "b1", Provider: "b", Model: "gpt"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newPooledRig(t testing.TB, change ...func(*core.Tables)) *rig {
	t.Helper()
	rev := core.DefaultRevision(pooled(t, "s"))
	for _, f := range change {
		f(rev.Tables)
	}
	tp := &tape{}
	e, err := core.New(core.Config{Revision: rev, Recorder: tp, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return &rig{e, tp, rev}
}

// talk makes a request of a conversation, 0 for none; refuse names the keys that
// fail, and how. It returns the record.
func (r *rig) talk(t testing.TB, conversation uint64, refuse map[string]core.Kind) *core.Decision {
	t.Helper()
	req := &core.Request{Affinity: conversation}
	_, _ = core.Do(t.Context(), r.Engine, req, func(_ context.Context, a *core.Attempt) (int, error) {
		if k := refuse[a.Key.ID]; k != core.KindNone && a.Target.ID == "o1" {
			return 0, fails(k, 30*time.Second)
		}
		return 0, nil
	})
	return &req.Decision
}

// keysOf are the keys of a decision's attempts at the pool, in order.
func keysOf(d *core.Decision) (keys []string) {
	for _, a := range d.Attempts {
		if a.Target == "o1" {
			keys = append(keys, a.Key)
		}
	}
	return keys
}

func TestKeys_ConversationsStayAndSpread(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newPooledRig(t)
		first, count := map[uint64]string{}, map[string]int{}
		for c := uint64(1); c <= 300; c++ {
			first[c] = keysOf(r.talk(t, c, nil))[0]
			count[first[c]]++
		}
		for k, n := range count {
			if len(count) != 3 || n < 70 || n > 130 {
				t.Errorf("%s serves %d of 300 conversations, want about a third", k, n)
			}
		}
		if err := r.SetKey("o", "k2", false, "op", "test"); err != nil {
			t.Fatal(err)
		}
		moved := map[string]int{}
		for c := uint64(1); c <= 300; c++ {
			switch k := keysOf(r.talk(t, c, nil))[0]; {
			case first[c] == "k2":
				moved[k]++
			case k != first[c]:
				t.Fatalf("conversation %d moved from %s to %s, and neither was touched", c, first[c], k)
			}
		}
		if moved["k2"] != 0 || moved["k1"] < 25 || moved["k3"] < 25 {
			t.Errorf("the conversations of the lost key went to %v", moved)
		}
	})
}

func TestKeys_AnotherTakesOverAtOnce(t *testing.T) {
	for _, k := range []core.Kind{core.KindRateLimited, core.KindBilling, core.KindAuthProvider, core.KindQuotaExhausted} {
		t.Run(k.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newPooledRig(t)
				d := r.talk(t, 0, map[string]core.Kind{"k1": k, "k2": k})
				keys := keysOf(d)
				if d.Target != "o1" || keys[len(keys)-1] != "k3" || d.Duration != 0 {
					t.Fatalf("answered by %q with %v after %v", d.Target, keys, d.Duration)
				}
				for range 20 {
					if again := keysOf(r.talk(t, 0, map[string]core.Kind{"k1": k, "k2": k})); again[len(again)-1] != "k3" {
						t.Fatalf("then with %v", again)
					}
				}
				if p := r.Snapshot().Providers[0]; p.UsableKeys != 1 || p.Keys != 3 || !p.FewKeys() {
					t.Errorf("the picture shows %+v", p)
				}
				if p := r.Snapshot().Providers[1]; p.UsableKeys != 1 || p.FewKeys() {
					t.Errorf("another provider's picture shows %+v", p)
				}
				time.Sleep(5*time.Minute + time.Second)
				if p := r.Snapshot().Providers[0]; p.UsableKeys != 3 {
					t.Errorf("without any request, once the time is over, the picture shows %+v", p)
				}
			})
		})
	}
}

// TestKeys_SwitchIsARetry holds that trying another key is paid for like any
// other retry, and ends at the cap on attempts.
func TestKeys_SwitchIsARetry(t *testing.T) {
	all := map[string]core.Kind{"k1": core.KindBilling, "k2": core.KindBilling, "k3": core.KindBilling}
	inBubble(t, func(t *testing.T) {
		r := newPooledRig(t, func(tb *core.Tables) { tb.Budgets[0][0].Capacity = 1 })
		if d := r.talk(t, 0, all); len(keysOf(d)) != 2 || d.Target != "b1" || d.Skips[0].Kind != core.KindBudgetEmpty {
			t.Errorf("tried %v, skipped %+v, answered by %q", keysOf(d), d.Skips, d.Target)
		}
	})
	t.Run("until none is left", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			r := newPooledRig(t)
			if d := r.talk(t, 0, all); len(keysOf(d)) != 3 || d.Target != "b1" {
				t.Errorf("tried %v, answered by %q", keysOf(d), d.Target)
			}
			if d := r.talk(t, 0, all); len(d.Attempts) != 1 || d.Target != "b1" {
				t.Errorf("then %d attempts, answered by %q", len(d.Attempts), d.Target)
			}
		})
	})
}

// TestKeys_HintOfZeroKeepsTheKey holds that "try again now" is no reason to try
// the same key again without any wait.
func TestKeys_HintOfZeroKeepsTheKey(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		d, err := r.ask(t.Context(), "assistant", &vendor{script: map[string][]error{"a1": {fails(core.KindRateLimited, 0)}}})
		if err == nil || len(d.Attempts) != 2 || d.Attempts[1].Wait == 0 {
			t.Errorf("%v after %+v", err, d.Attempts)
		}
	})
}

// TestKeys_ByHandOutlastsEverything holds that a key which an operator took out
// stays out whatever time, vendors, reloads and restarts do.
func TestKeys_ByHandOutlastsEverything(t *testing.T) {
	for name, happens := range map[string]func(*testing.T, *rig) *rig{
		"time": func(_ *testing.T, r *rig) *rig {
			time.Sleep(24 * time.Hour)
			return r
		},
		"a new secret": func(t *testing.T, r *rig) *rig {
			if err := r.Activate(core.DefaultRevision(pooled(t, "another"))); err != nil {
				t.Error(err)
			}
			return r
		},
		"a restart": func(t *testing.T, r *rig) *rig {
			s := r.State()
			time.Sleep(24 * time.Hour)
			again := newPooledRig(t)
			again.Restore(s)
			return again
		},
		"a vendor's refusal before": func(t *testing.T, r *rig) *rig {
			for _, usable := range []bool{true, false} {
				if err := r.SetKey("o", "k1", usable, "op", "test"); err != nil {
					t.Error(err)
				}
				r.talk(t, 0, map[string]core.Kind{"k1": core.KindBilling})
			}
			time.Sleep(24 * time.Hour)
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newPooledRig(t)
				if err := r.SetKey("o", "k1", false, "op", "test"); err != nil {
					t.Fatal(err)
				}
				r = happens(t, r)
				for range 30 {
					if d := r.talk(t, 0, nil); d.Attempts[0].Key == "k1" {
						t.Fatal("the key was used again")
					}
				}
			})
		})
	}
}

func TestKeys_NewSecretIsANewChance(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newPooledRig(t)
		for range 20 {
			r.talk(t, 0, map[string]core.Kind{"k1": core.KindAuthProvider})
		}
		if n := r.Snapshot().Providers[0].UsableKeys; n != 2 {
			t.Fatalf("%d keys usable, want 2", n)
		}
		if err := r.Activate(core.DefaultRevision(pooled(t, "another"))); err != nil {
			t.Fatal(err)
		}
		if n := r.Snapshot().Providers[0].UsableKeys; n != 3 {
			t.Errorf("%d keys usable after the secrets were replaced, want 3", n)
		}
	})
}

// TestKeys_HandAndVendorAtOnce holds that of an operator and a vendor who take a
// key out at the same moment the operator wins.
func TestKeys_HandAndVendorAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for range 100 {
			r := newPooledRig(t)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() { r.talk(t, 0, map[string]core.Kind{"k1": core.KindBilling}) })
			}
			wg.Go(func() {
				if err := r.SetKey("o", "k1", false, "op", "test"); err != nil {
					t.Error(err)
				}
			})
			wg.Wait()
			time.Sleep(time.Hour)
			r.Tick()
			if n := r.Snapshot().Providers[0].UsableKeys; n != 2 {
				t.Fatalf("an hour later %d keys are usable, want 2", n)
			}
		}
	})
}
