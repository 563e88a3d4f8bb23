package reply_test

import (
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/reply"
)

func TestText_EveryKindHasASentence(t *testing.T) {
	t.Parallel()
	seen := map[string]core.Kind{}
	for k := core.KindNone + 1; k < core.KindCount; k++ {
		text := reply.Text(&core.Error{Kind: k})
		if !strings.HasSuffix(text, ".") || strings.Contains(text, "unknown reason") {
			t.Errorf("%v: %q", k, text)
		}
		if other, dup := seen[text]; dup {
			t.Errorf("%v says the same as %v: %q", k, other, text)
		}
		seen[text] = k
	}
	if got := reply.Text(&core.Error{Kind: core.KindCount}); got == "" {
		t.Error("an unknown kind says nothing")
	}
}

func TestText_OwnWordsAndSteps(t *testing.T) {
	t.Parallel()
	e := &core.Error{Kind: core.KindNoTarget, Message: "All models are out.", Tried: []string{"opus: overloaded (529)", "sol: open_circuit"}}
	if got, want := reply.Text(e), "All models are out. Tried: opus: overloaded (529); sol: open_circuit."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind              core.Kind
		own, usual, wants int
	}{
		{core.KindInvalidRequest, 0, 400, 400},
		{core.KindInvalidRequest, 401, 400, 401},
		{core.KindInvalidRequest, 422, 400, 422},
		{core.KindInvalidRequest, 502, 400, 400},
		{core.KindNotFound, 405, 404, 405},
		{core.KindAuthProvider, 401, 503, 503},
		{core.KindRateLimited, 429, 429, 429},
		{core.KindOverloaded, 503, 529, 529},
	} {
		if got := reply.Status(&core.Error{Kind: tc.kind, Status: tc.own}, tc.usual); got != tc.wants {
			t.Errorf("%v with %d: %d, want %d", tc.kind, tc.own, got, tc.wants)
		}
	}
}
