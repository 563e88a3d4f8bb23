package core_test

import (
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

func TestTarget_Standby(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{"yes": true, "true": true, "no": false, "": false, "YES": false} {
		if got := (&core.Target{Labels: map[string]string{"standby": word}}).Standby(); got != want {
			t.Errorf("%q: got %v", word, got)
		}
	}
	if (&core.Target{}).Standby() {
		t.Error("a target without labels is a standby")
	}
}

// All circuits open is a designed state: the standby answers then, and its own
// circuit is slower to give up (R1.7).
func TestStandby_AllOpen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := catalog(t)
		c.Targets[2].Labels = map[string]string{"standby": "yes"}
		e, err := core.New(core.Config{Revision: core.DefaultRevision(c), Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		r := &rig{Engine: e, tape: &tape{}}
		bad := fails(core.KindServerError)
		v := &vendor{script: map[string][]error{"a1": {bad}, "a2": {bad}}}
		for i := range 7 {
			if d, err := r.ask(t.Context(), "assistant", v); err == nil || d.Target != "" {
				t.Fatalf("request %d was answered by %q while others were left", i+1, d.Target)
			}
		}
		d, err := r.ask(t.Context(), "assistant", v)
		if err != nil || d.Target != "o1" || d.Plan.Preferred != "a1" || d.Level != core.Degraded {
			t.Fatalf("got %v by %q, preferred %q, %v", err, d.Target, d.Plan.Preferred, d.Level)
		}
		if v.hits["a1"] != 7 || v.hits["a2"] != 7 || v.hits["o1"] != 1 {
			t.Errorf("hits %v", v.hits)
		}
		v.script["o1"] = []error{bad}
		for range 9 {
			r.ask(t.Context(), "assistant", v)
		}
		if got := r.Snapshot().Targets[2].Circuits[0].State; got != circuit.Closed {
			t.Errorf("after 9 failures the standby is %v", got)
		}
		r.ask(t.Context(), "assistant", v)
		cl := r.Snapshot().Targets[2].Circuits[0]
		if left := time.Until(cl.Until); cl.State != circuit.Open || left < 60*time.Second || left > 66*time.Second {
			t.Errorf("after 10 failures the standby is %v for %v", cl.State, left)
		}
		if got := r.Snapshot().Levels[0]; got != core.Unhealthy {
			t.Errorf("with the standby out too the use case is %v", got)
		}
		time.Sleep(35 * time.Second) // the others are half-open again, and come first
		v.script = nil
		for range 4 {
			if d, err := r.ask(t.Context(), "assistant", v); err != nil || d.Target == "o1" {
				t.Errorf("recovered: got %v by %q", err, d.Target)
			}
		}
		if err := r.Hold(core.Override{Target: "a2", UseCase: "assistant", Hold: circuit.HoldClosed, By: "op", Reason: "no traffic", Until: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // the standby's circuit gets no call to close with
		r.Tick()
		if s := r.Snapshot(); s.Levels[0] != core.Healthy || s.Targets[2].Circuits[0].State == circuit.Closed {
			t.Errorf("recovered: %v, the standby %v", s.Levels[0], s.Targets[2].Circuits[0].State)
		}
	})
}
