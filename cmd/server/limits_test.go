package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/console"
)

// A cap comes into force with the revision that has it, for keys that are there
// already, and a restart doesn't forget what was spent.
func TestLimits_CapOfAPlan(t *testing.T) {
	t.Parallel()
	o := Options{Data: t.TempDir()}
	s := start(t, o)
	ask := func(s *started, key string) answer {
		const dear = `{"model":"claude-opus-5-5","max_tokens":40,"messages":[{"role":"user","content":"Hello"}]}`
		return s.post("/v1/messages", dear, "X-Api-Key", key)
	}
	if a := ask(s, simulatedPaidKey); a.status != http.StatusOK {
		t.Fatalf("before: %d %s", a.status, a.body)
	}
	capped := shipped(t, "config/limits/data.json", func(text string) string {
		return strings.Replace(text, `"plans": {}`, `"plans": {"paid": {"spend": {"usd_per_day": 0.002}}}`, 1)
	})
	if _, err := s.rules.Activate(t.Context(), capped, console.Change{By: "ada", Reason: "a cap", Expected: 1}); err != nil {
		t.Fatal(explained(err))
	}
	sent := 0
	var a answer
	for a = ask(s, simulatedPaidKey); a.status == http.StatusOK && sent < 100; a = ask(s, simulatedPaidKey) {
		sent++
	}
	if a.status != http.StatusTooManyRequests || sent == 0 || !strings.Contains(a.body, `"code":"spend_per_day"`) {
		t.Fatalf("after %d requests: %d %s", sent, a.status, a.body)
	}
	if a := ask(s, simulatedAdminKey); a.status != http.StatusOK {
		t.Errorf("another plan: %d %s", a.status, a.body)
	}
	s.stop()
	again := start(t, o)
	if a := ask(again, simulatedPaidKey); a.status != http.StatusTooManyRequests || !strings.Contains(a.body, `"code":"spend_per_day"`) {
		t.Errorf("after the restart: %d %s", a.status, a.body)
	}
}

func TestLimits_WrongFigureChangesNothing(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	wrong := shipped(t, "config/limits/data.json", func(text string) string {
		return strings.Replace(text, `"limit": 20`, `"limit": -1`, 1)
	})
	_, err := s.rules.Activate(t.Context(), wrong, console.Change{By: "ada", Reason: "a slip", Expected: 1})
	if err == nil || !strings.Contains(explained(err).Error(), "limit is -1, not in 0..100000") {
		t.Errorf("Activate = %v", explained(err))
	}
	for _, l := range s.rules.engine.Loads() {
		if l.Limit < 20 {
			t.Errorf("%+v after a refused activation", l)
		}
	}
}
