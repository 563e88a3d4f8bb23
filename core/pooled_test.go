package core_test

import (
	"context"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
)

// What a request waited for nothing, because its caller left, must not be
// recorded of the next one that uses the same memory.
func TestRun_WaitIsTheRequestsOwn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		v := &vendor{script: map[string][]error{"a1": {fails(core.KindRateLimited, 20*time.Second), nil}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if d, err := r.ask(ctx, "batch", v); core.KindOf(err) != core.KindCallerGone || len(d.Attempts) != 1 {
			t.Fatalf("got %v after %d attempts", err, len(d.Attempts))
		}
		if d, err := r.ask(t.Context(), "assistant", v); err != nil || d.Attempts[0].Wait != 0 {
			t.Errorf("got %v; the first attempt waited %v, want 0s", err, d.Attempts[0].Wait)
		}
	})
}
