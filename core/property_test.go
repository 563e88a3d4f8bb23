package core_test

import (
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spillway-llm/spillway/core"
)

// erratic is a vendor whose every answer is drawn: it may fail in any way, take
// its time, show content first, panic, or be left by its caller.
type erratic struct {
	rt     *rapid.T
	cancel context.CancelFunc
}

func (v *erratic) Prepare(*core.Target) error {
	if rapid.IntRange(0, 19).Draw(v.rt, "portable") == 0 {
		return &core.Error{Op: "prepare", Kind: core.KindNotPortable}
	}
	return nil
}

func (v *erratic) Attempt(ctx context.Context, a *core.Attempt) error {
	take := time.Duration(rapid.IntRange(0, 90_000).Draw(v.rt, "take")) * time.Millisecond
	if rapid.Bool().Draw(v.rt, "content") {
		a.FirstContent()
	}
	switch rapid.IntRange(0, 30).Draw(v.rt, "event") {
	case 0:
		panic("a defect of the caller's")
	case 1:
		v.cancel()
	}
	select {
	case <-time.After(take):
	case <-ctx.Done():
		return ctx.Err()
	}
	kind := core.Kind(rapid.IntRange(0, int(core.KindCallerGone)).Draw(v.rt, "kind"))
	if kind == core.KindNone {
		a.FirstContent()
		return nil
	}
	e := &core.Error{Op: "call", Kind: kind, Status: 500}
	if rapid.Bool().Draw(v.rt, "hint") {
		e.RetryAfter, e.HintGiven = time.Duration(rapid.IntRange(0, 100_000).Draw(v.rt, "after"))*time.Millisecond, true
	}
	return e
}

// Whatever vendors and callers do, a request stays within its attempts, its
// hops and its time, and everything that it took comes back.
func TestRun_CapsHoldWhateverHappens(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		// A bubble has no deadline to ask for, so the test hides its own.
		rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req := &core.Request{Facts: core.Facts{
				UseCase:  rapid.SampledFrom(core.DefaultUseCases()).Draw(rt, "use case"),
				Audience: core.AudiencePaid, Stream: rapid.Bool().Draw(rt, "stream"),
				MaxTokens: rapid.IntRange(0, 100_000).Draw(rt, "tokens"),
			}}
			run(ctx, r, req, &erratic{rt, cancel})
			checkCaps(rt, &req.Decision)
			time.Sleep(time.Duration(rapid.IntRange(0, 200).Draw(rt, "pause")) * time.Second)
			r.Tick()
			for i, l := range r.Snapshot().Targets {
				if l.InFlight != 0 {
					rt.Fatalf("target %d: %d attempts never ended", i, l.InFlight)
				}
			}
		})
	})
}

// run survives the panics that the vendor draws.
func run(ctx context.Context, r *rig, req *core.Request, v *erratic) {
	defer func() { _ = recover() }()
	_ = r.Run(ctx, req, v)
	r.Finish(req)
}

func checkCaps(rt *rapid.T, d *core.Decision) {
	limits := core.DefaultLimits()
	if len(d.Attempts) > limits.MaxAttempts {
		rt.Fatalf("%d attempts", len(d.Attempts))
	}
	hops := 0
	for i, a := range d.Attempts {
		if i > 0 && a.Target != d.Attempts[i-1].Target {
			hops++
		}
		if a.Start+a.Duration > limits.Total() {
			rt.Fatalf("attempt %d ended after %v", i+1, a.Start+a.Duration)
		}
		if i > 0 && d.Attempts[i-1].FirstContent > 0 {
			rt.Fatalf("attempt %d follows one that showed content", i+1)
		}
	}
	if hops > limits.MaxHops {
		rt.Fatalf("%d hops", hops)
	}
}
