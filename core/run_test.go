package core_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

func targets(d *core.Decision) []string {
	var out []string
	for _, a := range d.Attempts {
		out = append(out, a.Target)
	}
	return out
}

func TestRun_Success(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		d, err := r.ask(t.Context(), "assistant", &vendor{take: 2 * time.Second})
		if err != nil || d.Target != "a1" || d.Situation != core.SituationNone || len(d.Attempts) != 1 {
			t.Fatalf("got %v, %+v", err, d)
		}
		if d.Duration != 2*time.Second || !d.CostKnown || d.Cost != 10*3_000_000+100*15_000_000 {
			t.Errorf("duration %v, cost %d known %v", d.Duration, d.Cost, d.CostKnown)
		}
		if r.tape.decisions != 1 || d.ID == "" || d.Revision != "default" {
			t.Errorf("decisions %d, id %q, revision %q", r.tape.decisions, d.ID, d.Revision)
		}
	})
}

func TestRun_FallsBack(t *testing.T) {
	for _, c := range []struct {
		name string
		kind core.Kind
		want []string
	}{
		{"overloaded_prefers_another_vendor", core.KindOverloaded, []string{"a1", "o1"}},
		{"server_error_takes_the_next_step", core.KindServerError, []string{"a1", "a2"}},
		{"refused_key_takes_another_vendor", core.KindAuthProvider, []string{"a1", "o1"}},
		{"no_credit_takes_another_vendor", core.KindBilling, []string{"a1", "o1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t)
				d, err := r.ask(t.Context(), "assistant", &vendor{script: map[string][]error{"a1": {fails(c.kind)}}})
				if err != nil || !slices.Equal(targets(d), c.want) || d.Situation != core.SituationFallback {
					t.Fatalf("got %v, %v, %v", err, targets(d), d.Situation)
				}
				if d.Target != c.want[1] || d.Attempts[0].Kind != c.kind {
					t.Errorf("answered by %q after %v", d.Target, d.Attempts[0].Kind)
				}
			})
		})
	}
}

func TestRun_CallersMistakeIsAnswered(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		for _, k := range []core.Kind{core.KindInvalidRequest, core.KindNotFound, core.KindContextExceeded, core.KindTooLarge} {
			for range 10 {
				v := &vendor{script: map[string][]error{"a1": {fails(k)}}}
				d, err := r.ask(t.Context(), "assistant", v)
				if core.KindOf(err) != k || len(d.Attempts) != 1 {
					t.Fatalf("%v: got %v after %v", k, err, targets(d))
				}
			}
		}
		if len(r.tape.transitions)+len(r.tape.cooldowns)+len(r.tape.keys) != 0 {
			t.Errorf("mistakes moved state: %+v", r.tape)
		}
	})
}

func TestRun_CircuitOpensAndIsSkipped(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		v := &vendor{script: map[string][]error{"a1": {fails(core.KindOverloaded)}}}
		for range 7 {
			r.ask(t.Context(), "assistant", v)
		}
		if v.hits["a1"] != 7 || len(r.tape.transitions) != 1 || r.tape.transitions[0].Cause != "overloaded" {
			t.Fatalf("hits %v, transitions %+v", v.hits, r.tape.transitions)
		}
		d, err := r.ask(t.Context(), "assistant", v)
		if err != nil || v.hits["a1"] != 7 || d.Situation != core.SituationRerouted || len(d.Attempts) != 1 {
			t.Fatalf("open circuit: %v, hits %v, %v", err, v.hits, d.Situation)
		}
		if l := r.Snapshot().Levels[0]; l != core.Degraded {
			t.Errorf("level %v, want degraded", l)
		}
		d, _ = r.ask(t.Context(), "batch", v)
		if d.Attempts[0].Target != "a1" {
			t.Error("another use case's circuit opened too")
		}
	})
}

func TestRun_HalfOpensByTimeAlone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		r.Start()
		v := &vendor{script: map[string][]error{"a1": {fails(core.KindServerError)}}}
		for range 7 {
			r.ask(t.Context(), "assistant", v)
		}
		time.Sleep(40 * time.Second)
		synctest.Wait()
		if got := r.tape.transitions; len(got) != 2 || got[1].To != circuit.HalfOpen {
			t.Fatalf("transitions %+v", got)
		}
		v.script = nil
		for range 2 {
			r.ask(t.Context(), "assistant", v)
		}
		if got := r.tape.transitions; len(got) != 3 || got[2].To != circuit.Closed {
			t.Fatalf("after two good probes: %+v", got)
		}
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if l := r.Snapshot().Levels[0]; l != core.Healthy {
			t.Errorf("level %v, want healthy again", l)
		}
		r.Close()
	})
}

func TestRun_RateLimited(t *testing.T) {
	t.Run("short_hint_is_waited_for", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			r := newRig(t)
			v := &vendor{script: map[string][]error{"a1": {fails(core.KindRateLimited, 3*time.Second), nil}}}
			d, err := r.ask(t.Context(), "assistant", v)
			if err != nil || d.Target != "a1" || d.Attempts[1].Wait < 3*time.Second {
				t.Fatalf("got %v, %+v", err, d.Attempts)
			}
		})
	})
	t.Run("long_hint_is_answered_and_routed_around", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			r := newRig(t)
			v := &vendor{script: map[string][]error{"a1": {fails(core.KindRateLimited, 20*time.Second), nil}}}
			_, err := r.ask(t.Context(), "assistant", v)
			var e *core.Error
			if !errors.As(err, &e) || e.Kind != core.KindRateLimited || e.RetryAfter != 20*time.Second {
				t.Fatalf("got %+v", err)
			}
			d, err := r.ask(t.Context(), "assistant", v)
			if err != nil || d.Target != "o1" || d.Situation != core.SituationRerouted {
				t.Fatalf("during the cooldown: %v, %v by %q", err, d.Situation, d.Target)
			}
			time.Sleep(20*time.Second + time.Millisecond)
			if d, _ = r.ask(t.Context(), "assistant", v); d.Target != "a1" {
				t.Errorf("after the cooldown %q answered", d.Target)
			}
			if len(r.tape.transitions) != 0 {
				t.Errorf("a 429 moved a circuit: %+v", r.tape.transitions)
			}
		})
	})
	t.Run("batch_waits_longer", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			r := newRig(t)
			v := &vendor{script: map[string][]error{"a1": {fails(core.KindRateLimited, 20*time.Second), nil}}}
			d, err := r.ask(t.Context(), "batch", v)
			if err != nil || d.Target != "a1" || d.Duration < 20*time.Second {
				t.Fatalf("got %v after %v", err, d.Duration)
			}
		})
	})
	t.Run("the_later_end_wins", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			r := newRig(t)
			for _, hint := range []time.Duration{20 * time.Second, 6 * time.Second} {
				v := &vendor{script: map[string][]error{"a1": {fails(core.KindRateLimited, hint)}}}
				r.ask(t.Context(), "assistant", v)
			}
			if n := len(r.tape.cooldowns); n != 1 {
				t.Errorf("%d cooldowns recorded, want the longer one only", n)
			}
		})
	})
}

func TestRun_CallerGoneIsNeutral(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			d, err := r.ask(ctx, "assistant", &vendor{take: time.Minute})
			cancel()
			if core.KindOf(err) != core.KindCallerGone || d.Outcome != core.KindCallerGone || len(d.Attempts) != 1 {
				t.Fatalf("got %v, %+v", err, d)
			}
		}
		if len(r.tape.transitions) != 0 {
			t.Errorf("leaving callers opened a circuit: %+v", r.tape.transitions)
		}
	})
}

func TestRun_Timeouts(t *testing.T) {
	silent := func(ctx context.Context, a *core.Attempt) (string, error) {
		if a.Target.ID == "o1" {
			return "ok", nil
		}
		<-ctx.Done()
		return "", ctx.Err()
	}
	t.Run("first_content_falls_back", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			r := newRig(t)
			req := &core.Request{Facts: core.Facts{Stream: true}}
			_, err := core.Do(t.Context(), r.Engine, req, silent)
			d := &req.Decision
			if err != nil || d.Attempts[0].Kind != core.KindTimeoutFirstContent || d.Attempts[0].Duration != 30*time.Second {
				t.Fatalf("got %v, %+v", err, d.Attempts)
			}
		})
	})
	t.Run("idle_ends_a_committed_stream", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			r := newRig(t)
			req := &core.Request{Facts: core.Facts{Stream: true}}
			_, err := core.Do(t.Context(), r.Engine, req, func(ctx context.Context, a *core.Attempt) (string, error) {
				a.FirstContent()
				for range 10 {
					time.Sleep(20 * time.Second)
					a.Progress()
				}
				<-ctx.Done()
				return "", ctx.Err()
			})
			if core.KindOf(err) != core.KindTimeoutIdle || req.Decision.Duration != 230*time.Second {
				t.Fatalf("got %v after %v", err, req.Decision.Duration)
			}
			if len(req.Decision.Attempts) != 1 {
				t.Error("a committed stream was tried again")
			}
		})
	})
	t.Run("whole_request", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			r := newRig(t)
			req := &core.Request{Facts: core.Facts{Stream: true}}
			_, err := core.Do(t.Context(), r.Engine, req, func(ctx context.Context, a *core.Attempt) (string, error) {
				a.FirstContent()
				for ctx.Err() == nil {
					time.Sleep(time.Second)
					a.Progress()
				}
				return "", ctx.Err()
			})
			if core.KindOf(err) != core.KindTimeoutWhole || req.Decision.Duration > 601*time.Second {
				t.Fatalf("got %v after %v", err, req.Decision.Duration)
			}
		})
	})
}

func TestRun_Caps(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		v := &vendor{script: map[string][]error{
			"a1": {fails(core.KindServerError)}, "a2": {fails(core.KindServerError)}, "o1": {fails(core.KindServerError)},
		}}
		d, err := r.ask(t.Context(), "batch", v)
		if len(d.Attempts) != 4 {
			t.Errorf("%d attempts, want 4 over all targets", len(d.Attempts))
		}
		var e *core.Error
		if !errors.As(err, &e) || len(e.Tried) != 4 {
			t.Errorf("the error lists %q", e.Tried)
		}
	})
}

func TestRun_RetryBudgetEmpty(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, func(tb *core.Tables) {
			for i := range tb.Budgets[1] {
				tb.Budgets[1][i].Capacity = 1
			}
		})
		v := &vendor{script: map[string][]error{"a1": {fails(core.KindServerError)}}}
		d, err := r.ask(t.Context(), "batch", v)
		if err != nil || !slices.Equal(targets(d), []string{"a1", "a1", "a2"}) {
			t.Fatalf("got %v, %v", err, targets(d))
		}
		if len(d.Skips) != 1 || d.Skips[0].Kind != core.KindBudgetEmpty {
			t.Errorf("skips %+v", d.Skips)
		}
	})
}

func TestRun_MarkedRetryIsNotMultiplied(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		v := &vendor{script: map[string][]error{"a1": {fails(core.KindServerError)}}}
		req := &core.Request{Facts: core.Facts{UseCase: "batch"}, RetryOf: 1}
		_, err := core.Do(t.Context(), r.Engine, req, v.call)
		if err != nil || v.hits["a1"] != 1 {
			t.Errorf("got %v, hits %v", err, v.hits)
		}
	})
}

func TestRun_PanicGivesThePermitBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		for range 30 {
			func() {
				defer func() { recover() }()
				core.Do(t.Context(), r.Engine, &core.Request{}, func(context.Context, *core.Attempt) (int, error) {
					panic("defect")
				})
			}()
		}
		r.Tick()
		if n := r.Snapshot().Targets[0].InFlight; n != 0 {
			t.Errorf("%d attempts still in flight", n)
		}
	})
}

func TestRun_AffinityFollowsTheConversation(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		v := &vendor{script: map[string][]error{"a1": {fails(core.KindOverloaded), nil}}}
		for i, want := range []string{"", "o1"} {
			req := &core.Request{Affinity: 42}
			if _, err := core.Do(t.Context(), r.Engine, req, v.call); err != nil {
				t.Fatal(err)
			}
			if got := req.Decision.Facts.AffinityTarget; got != want {
				t.Errorf("turn %d: affinity %q, want %q", i, got, want)
			}
		}
	})
}

func TestRun_OnePercentErrorsOpenNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		r.Start()
		n := 0
		call := func(context.Context, *core.Attempt) (int, error) {
			n++
			if n%100 == 0 {
				return 0, fails(core.KindServerError)
			}
			return 0, nil
		}
		for range 60_000 { // 100 a second for ten minutes
			time.Sleep(10 * time.Millisecond)
			if _, err := core.Do(t.Context(), r.Engine, &core.Request{}, call); err != nil {
				t.Fatal(err)
			}
		}
		r.Close()
		if len(r.tape.transitions) != 0 {
			t.Errorf("circuits moved: %+v", r.tape.transitions)
		}
	})
}
