package core_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
)

// windows is a small target, another of the same size, and a large one that can
// take tools, none of them images.
func newWindows(t testing.TB, change func(*core.Tables)) *rig {
	t.Helper()
	key := []core.Key{{ID: "k", Secret: core.NewSecret("s")}}
	node := []core.Node{{ID: "n", BaseURL: "http://x"}}
	tools := core.Capabilities{Tools: true}
	c, err := core.NewCatalog([]core.Provider{
		{ID: "a", Wire: core.WireAnthropic, Vendor: "a", Keys: key, Nodes: node},
		{ID: "b", Wire: core.WireAnthropic, Vendor: "b", Keys: key, Nodes: node},
		{ID: "c", Wire: core.WireAnthropic, Vendor: "c", Keys: key, Nodes: node},
	}, []core.Target{
		{ID: "small", Provider: "a", ContextTokens: 1000},
		{ID: "same", Provider: "b", ContextTokens: 1000},
		{ID: "large", Provider: "c", ContextTokens: 5000, Capabilities: tools},
	})
	if err != nil {
		t.Fatal(err)
	}
	rev := core.DefaultRevision(c)
	change(rev.Tables)
	tp := &tape{}
	e, err := core.New(core.Config{Revision: rev, Recorder: tp, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return &rig{e, tp, rev}
}

func TestRun_MistakeOutranksLaterFailures(t *testing.T) {
	goOn := func(tb *core.Tables) {
		for _, k := range []core.Kind{core.KindContextExceeded, core.KindNotFound} {
			tb.Reactions[0][k][0][0].Next, tb.Reactions[0][k][1][0].Next = core.NextAny, core.NextAny
		}
	}
	for _, tt := range []struct {
		name         string
		first, later core.Kind
		want         []string
	}{
		{"too_long_wants_more_room", core.KindContextExceeded, core.KindServerError, []string{"small", "large"}},
		{"too_long_for_that_one_too", core.KindContextExceeded, core.KindContextExceeded, []string{"small", "large"}},
		{"not_found_takes_the_next", core.KindNotFound, core.KindServerError, []string{"small", "same"}},
		{"and_stops_after_it", core.KindNotFound, core.KindOverloaded, []string{"small", "same"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newWindows(t, goOn)
				later := []error{fails(tt.later)}
				d, err := r.ask(t.Context(), "assistant", &vendor{script: map[string][]error{
					"small": {&core.Error{Kind: tt.first, Message: "the first one's words"}}, "same": later, "large": later,
				}})
				var e *core.Error
				if !errors.As(err, &e) || e.Kind != tt.first || e.Message != "the first one's words" || e.RetryAfter != 0 {
					t.Errorf("got %+v", e)
				}
				if got := targets(d); !slices.Equal(got, tt.want) || d.Outcome != tt.first {
					t.Errorf("tried %v, recorded as %v", got, d.Outcome)
				}
			})
		})
	}
}

// foreign is an attempter whose request fits no target's form.
type foreign struct{}

func (foreign) Prepare(t *core.Target) error {
	return &core.Error{Op: "prepare " + t.ID, Kind: core.KindNotPortable, Code: "field"}
}

func (foreign) Attempt(context.Context, *core.Attempt) error { return nil }

func TestRun_WhatNobodyCanServe(t *testing.T) {
	for name, tt := range map[string]struct {
		facts core.Facts
		want  core.Kind
		words string
	}{
		"prompt_too_long":  {core.Facts{InputTokens: 6000}, core.KindContextExceeded, "prompt is too long: 6000 tokens > 5000 maximum"},
		"answer_too_long":  {core.Facts{InputTokens: 3000, MaxTokens: 2100}, core.KindContextExceeded, "3000 + 2100 tokens > 5000 maximum"},
		"images":           {core.Facts{Needs: core.Needs{Images: true, Tools: true}}, core.KindInvalidRequest, "needs tools, images"},
		"long_with_images": {core.Facts{InputTokens: 6000, Needs: core.Needs{Images: true}}, core.KindInvalidRequest, "images"},
		"tools_too_long":   {core.Facts{InputTokens: 6000, Needs: core.Needs{Tools: true}}, core.KindContextExceeded, "5000 maximum"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newWindows(t, func(*core.Tables) {})
				tt.facts.UseCase = "assistant"
				_, err := core.Do(t.Context(), r.Engine, &core.Request{Facts: tt.facts}, (&vendor{}).call)
				var e *core.Error
				if !errors.As(err, &e) || e.Kind != tt.want || !strings.Contains(e.Message, tt.words) || e.HintGiven {
					t.Errorf("got %+v", e)
				}
			})
		})
	}
	t.Run("not_portable", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			r := newWindows(t, func(*core.Tables) {})
			req := &core.Request{Facts: core.Facts{UseCase: "assistant"}}
			if err := r.Run(t.Context(), req, foreign{}); core.KindOf(err) != core.KindNotPortable {
				t.Errorf("got %v", err)
			}
		})
	})
}

// TestRun_WaitingMayHelp holds that a request which could be served later is not
// called the caller's mistake, and is told how long that takes.
func TestRun_WaitingMayHelp(t *testing.T) {
	tools := core.Facts{UseCase: "assistant", Needs: core.Needs{Tools: true}}
	for name, tt := range map[string]struct {
		kind core.Kind
		n    int
		want core.Kind
	}{
		"throttled":    {core.KindRateLimited, 1, core.KindCoolingDown},
		"open_circuit": {core.KindServerError, 7, core.KindNoTarget},
		"refused_key":  {core.KindAuthProvider, 1, core.KindNoTarget},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newWindows(t, func(*core.Tables) {})
				v := &vendor{script: map[string][]error{"large": {fails(tt.kind, 20*time.Second)}}}
				for range tt.n {
					_, _ = core.Do(t.Context(), r.Engine, &core.Request{Facts: tools}, v.call)
				}
				_, err := core.Do(t.Context(), r.Engine, &core.Request{Facts: tools}, v.call)
				var e *core.Error
				if !errors.As(err, &e) || e.Kind != tt.want || e.Spent || v.hits["large"] != tt.n {
					t.Errorf("got %+v after %d calls", e, v.hits["large"])
				}
				if waits := tt.kind != core.KindAuthProvider; e.HintGiven != waits || waits && e.RetryAfter < 15*time.Second {
					t.Errorf("told to wait %v, %v", e.RetryAfter, e.HintGiven)
				}
			})
		})
	}
}

// TestRun_RetryThatCameTooLate holds that a request whose retry met a cooldown
// that grew meanwhile is told of that one, not of the hint it began with.
func TestRun_RetryThatCameTooLate(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		other := make(chan error)
		go func() {
			_, err := r.ask(t.Context(), "assistant", &vendor{
				take: 10 * time.Millisecond, script: map[string][]error{"a1": {fails(core.KindRateLimited, 20*time.Second)}},
			})
			other <- err
		}()
		time.Sleep(time.Millisecond)
		go func() { <-other }()
		d, err := r.ask(t.Context(), "assistant", &vendor{script: map[string][]error{"a1": {fails(core.KindRateLimited, time.Second)}}})
		var e *core.Error
		if !errors.As(err, &e) || e.Kind != core.KindRateLimited || !e.Spent || len(d.Attempts) != 1 || d.Duration < time.Second {
			t.Fatalf("got %+v after %v", err, d.Duration)
		}
		if sum := d.Duration + e.RetryAfter; sum < 20*time.Second || sum > 20*time.Second+20*time.Millisecond {
			t.Errorf("after %v told to wait %v, and the cooldown lasts 20 s", d.Duration, e.RetryAfter)
		}
		r.Tick()
		if b := r.Snapshot().Targets[0].Circuits[0].BudgetTokens; b != 600 {
			t.Errorf("%v tokens of 600 are left, and no retry was sent", b)
		}
	})
}
