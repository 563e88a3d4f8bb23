package core_test

import (
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

func TestEngine_StateSurvivesARestart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		v := &vendor{script: map[string][]error{"a1": {fails(core.KindOverloaded)}}}
		for range 7 {
			r.ask(t.Context(), "assistant", v)
		}
		r.ask(t.Context(), "admin", &vendor{script: map[string][]error{"a1": {fails(core.KindRateLimited, time.Minute)}}})
		s := r.State()
		time.Sleep(10 * time.Second)

		again := newRig(t)
		again.Restore(s)
		l := again.Snapshot().Targets[0]
		if l.Circuits[0].State != circuit.Open || !l.CoolingDown {
			t.Fatalf("restored %+v", l)
		}
		if left := time.Until(l.Circuits[0].Until); left <= 15*time.Second || left > 25*time.Second {
			t.Errorf("open for another %v", left)
		}
		if left := time.Until(l.CooldownUntil); left != 50*time.Second {
			t.Errorf("cooling for another %v", left)
		}
	})
}

func TestEngine_ActivateKeepsCounts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		v := &vendor{script: map[string][]error{"a1": {fails(core.KindServerError)}}}
		for range 4 {
			r.ask(t.Context(), "assistant", v)
		}
		next := core.DefaultRevision(catalog(t))
		next.ID = "next"
		next.Tables.Circuits[0][0].FailureThreshold = 5
		if err := r.Activate(next); err != nil {
			t.Fatal(err)
		}
		d, _ := r.ask(t.Context(), "assistant", v)
		if d.Revision != "next" || len(r.tape.transitions) != 1 {
			t.Errorf("revision %q, transitions %+v", d.Revision, r.tape.transitions)
		}
	})
}

func TestEngine_AccountFaultRetiresTheKey(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		v := &vendor{script: map[string][]error{"a1": {fails(core.KindBilling)}}}
		for range 5 {
			if d, err := r.ask(t.Context(), "assistant", v); err != nil || d.Target != "o1" {
				t.Fatalf("got %v by %q", err, d.Target)
			}
		}
		if v.hits["a1"] != 1 || len(r.tape.keys) != 1 || len(r.tape.transitions) != 0 {
			t.Errorf("hits %v, keys %+v", v.hits, r.tape.keys)
		}
		v.script = nil
		time.Sleep(6 * time.Minute)
		if d, _ := r.ask(t.Context(), "assistant", v); d.Target != "a1" {
			t.Errorf("after the key's time out %q answered", d.Target)
		}
		if err := r.SetKey("a", "k1", false, "op", "test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if d, _ := r.ask(t.Context(), "assistant", v); d.Target != "o1" {
			t.Errorf("a key taken out by hand answered through %q", d.Target)
		}
		if r.SetKey("a", "k9", true, "op", "test") == nil {
			t.Error("an unknown key was set")
		}
	})
}

func TestEngine_SnapshotMovesOnlyWhenSomethingMoved(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		before := r.Snapshot()
		for range 10 {
			time.Sleep(time.Second)
			r.Tick()
		}
		if r.Snapshot() != before {
			t.Error("a quiet engine made a new snapshot")
		}
		digest, body := before.Document()
		again, _ := before.Document()
		if digest != again || len(body) == 0 {
			t.Errorf("digest %q then %q", digest, again)
		}
	})
}
