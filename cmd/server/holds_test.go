package main

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// What an operator holds in the console is what the engine obeys, what the
// database records, and what is refused with a text that says why.
func TestHolds_ReachTheEngine(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	h := holds{s.rules.engine}
	o := core.Override{Target: "claude-haiku-5-5", Hold: circuit.HoldOpen, By: "ada", Reason: "vendor page", Until: time.Now().Add(time.Hour)}
	if err := h.Hold(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if a := s.post("/v1/messages", askAnthropic); a.status != http.StatusOK || a.header.Get("Spillway-Target") == "claude-haiku-5-5" {
		t.Errorf("held, answered %d by %q", a.status, a.header.Get("Spillway-Target"))
	}
	if err := h.Release(t.Context(), "claude-haiku-5-5", "", "ada"); err != nil {
		t.Fatal(err)
	}
	if a := s.post("/v1/messages", askAnthropic); a.header.Get("Spillway-Target") != "claude-haiku-5-5" {
		t.Errorf("released, answered by %q", a.header.Get("Spillway-Target"))
	}
	eventually(t, "both are in the history", func() bool {
		list, err := archive{s.db}.Events(t.Context(), 0, 0, 10, "override")
		return err == nil && len(list) == 2 && strings.Contains(string(list[1].Body), `"by":"ada","reason":"vendor page"`)
	})
	for _, wrong := range []core.Override{
		{Target: "gpt-9", Hold: circuit.HoldOpen, By: "ada", Reason: "x", Until: time.Now().Add(time.Hour)},
		{Target: "claude-haiku-5-5", Hold: circuit.HoldOpen, By: "ada", Reason: "x", Until: time.Now().Add(25 * time.Hour)},
	} {
		if err := h.Hold(t.Context(), wrong); !errors.Is(err, console.ErrRefused) {
			t.Errorf("%+v: %v, want a refusal", wrong, err)
		}
	}
	if err := h.Release(t.Context(), "gpt-9", "", "ada"); !errors.Is(err, console.ErrRefused) {
		t.Errorf("release of an unknown target: %v", err)
	}
}
