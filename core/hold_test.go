package core_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// held puts a hold for a time; the reach is "target/use case", either may be empty.
func (r *rig) held(t *testing.T, reach string, h circuit.Hold, d time.Duration) {
	t.Helper()
	target, useCase, _ := strings.Cut(reach, "/")
	o := core.Override{Target: target, UseCase: useCase, Hold: h, By: "aki", Reason: "because of " + reach}
	if h != circuit.HoldNone {
		o.Until = time.Now().Add(d)
	}
	if err := r.Hold(o); err != nil {
		t.Fatalf("%s: %v", reach, err)
	}
}

// on is the hold in force on a circuit, with its reach; "" for none.
func (r *rig) on(target, useCase int) string {
	c := r.Snapshot().Targets[target].Circuits[useCase]
	if c.Held == nil {
		return ""
	}
	return fmt.Sprintf("%v %s/%s", c.Held.Hold, c.Held.Target, c.Held.UseCase)
}

// story is what was recorded: hold, reach and who.
func (r *rig) story() (out []string) {
	for _, o := range r.tape.overrides {
		out = append(out, fmt.Sprintf("%v %s/%s by %s", o.Hold, o.Target, o.UseCase, o.By))
	}
	return out
}

func TestHold_EndsByItselfAndIsRecorded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		r.Start()
		begun := time.Now()
		r.held(t, "a1/", circuit.HoldOpen, time.Minute)
		if d, _ := r.ask(t.Context(), "assistant", &vendor{}); d.Target != "a2" {
			t.Errorf("held target: %q answered", d.Target)
		}
		c := r.Snapshot().Targets[0].Circuits[0]
		if c.State != circuit.Open || c.Computed != circuit.Closed || !c.Until.Equal(begun.Add(time.Minute)) {
			t.Errorf("effective %v, computed %v, until %v", c.State, c.Computed, c.Until)
		}
		if h := c.Held; h == nil || h.By != "aki" || h.Reason != "because of a1/" || !h.At.Equal(begun) || !h.Until.Equal(begun.Add(time.Minute)) {
			t.Errorf("held %+v", h)
		}
		time.Sleep(61 * time.Second)
		if d, _ := r.ask(t.Context(), "assistant", &vendor{}); d.Target != "a1" || r.on(0, 0) != "" {
			t.Errorf("after the hold: %q answered, %q in force", d.Target, r.on(0, 0))
		}
		r.Close()
		want := core.Override{At: begun.Add(time.Minute), Target: "a1", By: core.ByTime, Reason: "because of a1/"}
		if n := len(r.tape.overrides); n != 2 || !reflect.DeepEqual(r.tape.overrides[1], want) {
			t.Errorf("recorded %+v, want the end as %+v", r.tape.overrides, want)
		}
	})
}

func TestHold_WithoutBackgroundWork(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		r.held(t, "a1/assistant", circuit.HoldEmergency, time.Minute)
		time.Sleep(time.Minute)
		r.Tick()
		if got := r.story(); len(got) != 2 || got[1] != "none a1/assistant by time" || r.Snapshot().Targets[0].Overridden {
			t.Errorf("recorded %q", got)
		}
	})
}

func TestHold_Refused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, func(tb *core.Tables) { tb.UseCases[3].Targets = []string{"a1"} })
		before := r.Snapshot()
		good := core.Override{Target: "a1", UseCase: "assistant", Hold: circuit.HoldOpen, By: "aki", Reason: "why", Until: time.Now().Add(time.Hour)}
		for name, change := range map[string]func(*core.Override){
			"a reason":             func(o *core.Override) { o.Reason = "" },
			"say who":              func(o *core.Override) { o.By = "" },
			"lie ahead":            func(o *core.Override) { o.Until = time.Now() },
			"lie ahead at all":     func(o *core.Override) { o.Until = time.Time{} },
			"24h0m0s ahead":        func(o *core.Override) { o.Until = time.Now().Add(core.MaxHold + time.Millisecond) },
			"name a target":        func(o *core.Override) { o.Target, o.UseCase = "", "" },
			`with target "a9"`:     func(o *core.Override) { o.Target = "a9" },
			`no use case "batsch"`: func(o *core.Override) { o.UseCase = "batsch" },
			`"payments" with`:      func(o *core.Override) { o.Target, o.UseCase = "a2", "payments" }, // not served
			"hold number 9":        func(o *core.Override) { o.Hold = 9 },
			`released "a9"`:        func(o *core.Override) { o.Hold, o.Target = circuit.HoldNone, "a9" },
		} {
			o := good
			change(&o)
			err := r.Hold(o)
			says := strings.TrimSuffix(strings.TrimPrefix(name, "released "), " at all")
			if !errors.Is(err, core.ErrHold) || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if len(r.tape.overrides) != 0 || r.Snapshot() != before {
			t.Errorf("a refused hold left %+v", r.tape.overrides)
		}
		good.Until = time.Now().Add(core.MaxHold)
		if err := r.Hold(good); err != nil {
			t.Errorf("the longest hold: %v", err)
		}
	})
}

// The newest hold that covers a circuit acts, and what lies below it acts again.
func TestHold_Layers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		check := func(when string, want ...string) {
			t.Helper()
			r.Tick()
			// a1 and a2 in assistant, a1 in batch
			if got := []string{r.on(0, 0), r.on(1, 0), r.on(0, 1)}; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %q, want %q", when, got, want)
			}
		}
		r.held(t, "a1/", circuit.HoldOpen, time.Hour)
		check("one target", "forced_open a1/", "", "forced_open a1/")
		r.held(t, "/assistant", circuit.HoldEmergency, 10*time.Minute)
		check("an emergency above it", "emergency /assistant", "emergency /assistant", "forced_open a1/")
		r.held(t, "a1/assistant", circuit.HoldClosed, time.Minute)
		check("one circuit above both", "forced_closed a1/assistant", "emergency /assistant", "forced_open a1/")
		time.Sleep(time.Minute)
		check("its time is over", "emergency /assistant", "emergency /assistant", "forced_open a1/")
		time.Sleep(9 * time.Minute)
		check("the emergency is over", "forced_open a1/", "", "forced_open a1/")
		if c := r.Snapshot().Targets[0].Circuits[0]; c.State != circuit.Open {
			t.Errorf("the maintenance was forgotten: %v", c.State)
		}
		r.held(t, "a1/", circuit.HoldObserve, time.Minute)
		check("another of the same reach", "observe a1/", "", "observe a1/")
		time.Sleep(time.Minute)
		check("which replaced the first", "", "", "")
	})
}

func TestHold_Release(t *testing.T) {
	for name, tc := range map[string]struct {
		holds, release []string
		want           []string // on a1 in assistant and batch, on a2 in assistant
		records        []string
	}{
		"nothing":          {nil, []string{"a1/"}, []string{"", "", ""}, nil},
		"the same reach":   {[]string{"a1/"}, []string{"a1/"}, []string{"", "", ""}, []string{"none a1/ by aki"}},
		"all that is here": {[]string{"a1/assistant", "a1/batch", "a2/"}, []string{"a1/"}, []string{"", "", "observe a2/"}, []string{"none a1/assistant by aki", "none a1/batch by aki"}},
		"a part": {
			[]string{"a1/"}, []string{"a1/assistant"}, []string{"", "observe a1/", ""}, []string{"none a1/assistant by aki"},
		},
		"a part, then all": {
			[]string{"a1/"}, []string{"a1/assistant", "a1/"}, []string{"", "", ""}, []string{"none a1/assistant by aki", "none a1/ by aki"},
		},
		"a part of two": {
			[]string{"a1/assistant", "/assistant"}, []string{"a1/assistant"}, []string{"", "", "observe /assistant"}, []string{"none a1/assistant by aki"},
		},
		"across": {
			[]string{"/assistant", "a1/batch"}, []string{"a1/"}, []string{"", "", "observe /assistant"}, []string{"none a1/batch by aki", "none a1/ by aki"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t)
				for _, reach := range tc.holds {
					r.held(t, reach, circuit.HoldObserve, time.Hour)
				}
				for _, reach := range tc.release {
					r.held(t, reach, circuit.HoldNone, 0)
				}
				check := func(when string, r *rig) {
					if got := []string{r.on(0, 0), r.on(0, 1), r.on(1, 0)}; !reflect.DeepEqual(got, tc.want) {
						t.Errorf("%s: got %q, want %q", when, got, tc.want)
					}
				}
				check("released", r)
				if got := r.story()[len(tc.holds):]; !reflect.DeepEqual(append([]string(nil), got...), tc.records) {
					t.Errorf("recorded %q, want %q", got, tc.records)
				}
				again := newRig(t)
				again.Restore(r.State())
				check("after a restart", again)
			})
		})
	}
}

func TestHold_SurvivesARestart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		r.held(t, "a1/", circuit.HoldOpen, time.Minute)
		time.Sleep(time.Second)
		r.held(t, "/assistant", circuit.HoldEmergency, time.Hour)
		s := r.State()
		s.Overrides[0], s.Overrides[1] = s.Overrides[1], s.Overrides[0] // stores have an order of their own
		time.Sleep(30 * time.Second)

		again := newRig(t)
		again.Restore(s)
		if got := []string{again.on(0, 0), again.on(0, 1), again.on(2, 0)}; !reflect.DeepEqual(got, []string{"emergency /assistant", "forced_open a1/", "emergency /assistant"}) {
			t.Errorf("restored %q", got)
		}
		if len(again.tape.overrides) != 0 {
			t.Errorf("recorded a second time: %q", again.story())
		}
		if h := again.Snapshot().Targets[0].Circuits[1].Held; h == nil || h.By != "aki" || time.Until(h.Until) != 29*time.Second {
			t.Errorf("held %+v", h)
		}
		time.Sleep(29 * time.Second)
		again.Tick()
		if again.on(0, 1) != "" || len(again.story()) != 1 {
			t.Errorf("after its end %q is in force, recorded %q", again.on(0, 1), again.story())
		}
	})
}

// What ended while no process ran is recorded by the next one, and a wall clock
// that was set back does not make a hold longer than it may be.
func TestHold_EndedWhileNothingRan(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		r.held(t, "a1/", circuit.HoldOpen, time.Minute)
		s := r.State()
		end := s.Overrides[0].Until
		s.Overrides = append(s.Overrides, core.Override{Target: "a2", Hold: circuit.HoldOpen, By: "aki", Until: time.Now().Add(48 * time.Hour)})
		time.Sleep(time.Hour)
		again := newRig(t)
		again.Restore(s)
		if got := again.tape.overrides; len(got) != 1 || got[0].By != core.ByTime || !got[0].At.Equal(end) || again.on(0, 0) != "" {
			t.Errorf("recorded %+v", got)
		}
		if again.on(1, 0) == "" {
			t.Error("the other hold was lost")
		}
		time.Sleep(core.MaxHold)
		again.Tick()
		if again.on(1, 0) != "" {
			t.Error("a hold outlived the longest time")
		}
	})
}

// A hold reaches circuits that come with a later revision.
func TestHold_NewCircuits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		r.held(t, "/assistant", circuit.HoldOpen, time.Hour)
		old := catalog(t)
		more, err := core.NewCatalog(old.Providers, append(old.Targets, core.Target{ID: "o2", Provider: "o", ContextTokens: 200_000}))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Activate(core.DefaultRevision(more)); err != nil {
			t.Fatal(err)
		}
		if d, err := r.ask(t.Context(), "assistant", &vendor{}); err == nil {
			t.Errorf("%q answered", d.Target)
		}
		if d, err := r.ask(t.Context(), "batch", &vendor{}); err != nil || r.on(3, 0) != "forced_open /assistant" || r.on(3, 1) != "" {
			t.Errorf("%q answered batch, %v; held: %q and %q", d.Target, err, r.on(3, 0), r.on(3, 1))
		}
	})
}

// Operators, time and requests at once: what was recorded, kept as a store keeps
// it, restores to what is in force.
func TestHold_RecordsAreInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		r.Start()
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				random := rand.New(rand.NewPCG(1, uint64(i)))
				for range 60 {
					reach := []string{"a1/", "a1/assistant", "/assistant", "a2/assistant", "o1/batch"}[random.IntN(5)]
					target, useCase, _ := strings.Cut(reach, "/")
					o := core.Override{Target: target, UseCase: useCase, Hold: circuit.Hold(random.IntN(5)), By: "aki", Reason: "x", Until: time.Now().Add(time.Duration(1+random.IntN(60)) * time.Second)}
					if err := r.Hold(o); err != nil {
						t.Error(err)
					}
					r.ask(t.Context(), "assistant", &vendor{})
					time.Sleep(time.Duration(random.IntN(3)) * 250 * time.Millisecond)
				}
			})
		}
		all.Wait()
		r.Close()
		type scope struct{ target, useCase string }
		stored := map[scope]core.Override{}
		for _, o := range r.tape.overrides {
			stored[scope{o.Target, o.UseCase}] = o
			if o.Hold == circuit.HoldNone && o.Until.IsZero() {
				delete(stored, scope{o.Target, o.UseCase})
			}
		}
		again := newRig(t)
		again.Restore(core.State{Overrides: slices.Collect(maps.Values(stored))})
		r.Tick()
		inForce := 0
		for target := range 3 {
			for useCase := range 2 {
				got, want := again.on(target, useCase), r.on(target, useCase)
				if got != want {
					t.Errorf("target %d, use case %d: restored %q, in force %q", target, useCase, got, want)
				}
				inForce += len(want)
			}
		}
		if inForce == 0 {
			t.Error("nothing is in force at the end: the test tests nothing")
		}
	})
}

// The emergency preset goes on where the circuits would have given up.
func TestHold_EmergencyForAllTargets(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		bad := fails(core.KindServerError)
		v := &vendor{script: map[string][]error{"a1": {bad}, "a2": {bad}, "o1": {bad}}}
		r.held(t, "/assistant", circuit.HoldEmergency, time.Hour)
		for range 19 {
			r.ask(t.Context(), "assistant", v)
		}
		for i, l := range r.Snapshot().Targets {
			if c := l.Circuits[0]; c.State != circuit.Closed || !l.Overridden {
				t.Errorf("target %d: %v after 19 failures", i, c.State)
			}
			if l.Circuits[1].Held != nil {
				t.Errorf("target %d: batch is held too", i)
			}
		}
		r.ask(t.Context(), "assistant", v)
		c := r.Snapshot().Targets[0].Circuits[0]
		if c.State != circuit.Open || !c.Until.After(time.Now()) || c.Until.After(time.Now().Add(40*time.Second)) {
			t.Errorf("after 20 failures: %v until %v, want open until its own time", c.State, c.Until)
		}
	})
}
