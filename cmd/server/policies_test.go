package main

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/core/audit"
	"github.com/spillway-llm/spillway/policies"
)

// shipped returns the shipped policies with one file changed.
func shipped(t *testing.T, name string, change func(string) string) []console.File {
	t.Helper()
	files := policies.Files()
	before, ok := files[name]
	if !ok {
		t.Fatalf("no file %s among the policies", name)
	}
	if files[name] = change(before); files[name] == before {
		t.Fatalf("%s did not change", name)
	}
	// The shipped tests would refuse some of these changes before the program does.
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasSuffix(name, "_test.rego") })
	return fileList(files)
}

// another is a revision that differs from the shipped one and decides the same.
func another(t *testing.T) []console.File {
	t.Helper()
	return shipped(t, "routing.rego", func(s string) string { return s + "\n# another revision\n" })
}

func TestActivate_NextDecisionNamesTheRevision(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	first := s.rules.engine.Revision().ID
	info, err := s.rules.Activate(t.Context(), another(t), console.Change{By: "ada", Reason: "a test", Expected: 1})
	if err != nil {
		t.Fatalf("Activate: %v", err)
	}
	if info.Number != 2 || info.ID == first || s.rules.engine.Revision().ID != info.ID {
		t.Errorf("revision %+v acts as %s", info, s.rules.engine.Revision().ID)
	}
	if a := s.post("/v1/messages", askAnthropic); a.status != http.StatusOK {
		t.Fatalf("answer = %d %s", a.status, a.body)
	}
	eventually(t, "the decision is in the history", func() bool {
		list, err := s.db.Decisions(t.Context(), audit.Filter{Revision: info.ID})
		return err == nil && len(list) == 1
	})
	back, err := s.rules.RollBack(t.Context(), 1, console.Change{By: "ada", Reason: "back", Expected: 2})
	if err != nil {
		t.Fatalf("RollBack: %v", err)
	}
	if back.Number != 3 || back.ID != first || back.RollbackOf != 1 || s.rules.engine.Revision().ID != first {
		t.Errorf("rolled back to %+v, acting %s", back, s.rules.engine.Revision().ID)
	}
}

func TestActivate_Refusals(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	first := s.rules.engine.Revision().ID
	change := console.Change{By: "ada", Reason: "a test", Expected: 1}
	var problems *console.ProblemsError
	for name, tt := range map[string]struct {
		files  []console.File
		change console.Change
		is     func(error) bool
	}{
		"stale":       {another(t), console.Change{By: "ada", Expected: 7}, func(err error) bool { return errors.Is(err, console.ErrStale) }},
		"syntax":      {shipped(t, "routing.rego", func(s string) string { return s + "\nplan := {" }), change, func(err error) bool { return errors.As(err, &problems) }},
		"entry_point": {shipped(t, "tiers.rego", func(string) string { return "package spillway.tiers\n" }), change, func(err error) bool { return errors.As(err, &problems) }},
		"network":     {shipped(t, "routing.rego", func(s string) string { return s + "\nx := http.send({\"method\": \"get\", \"url\": \"http://a\"})\n" }), change, func(err error) bool { return errors.As(err, &problems) }},
		"keys_lose": {shipped(t, "config/access/data.json", func(s string) string { return strings.Replace(s, `"free":`, `"gratis":`, 1) }), change, func(err error) bool {
			return errors.Is(err, console.ErrRefused) && strings.Contains(err.Error(), "simulated-free")
		}},
		"no_such_file": {nil, change, func(err error) bool { return errors.As(err, &problems) }},
	} {
		_, err := s.rules.Activate(t.Context(), tt.files, tt.change)
		if err == nil || !tt.is(err) {
			t.Errorf("%s: Activate = %v", name, err)
		}
	}
	if got := s.rules.engine.Revision().ID; got != first {
		t.Errorf("revision %s acts after refusals, want %s", got, first)
	}
	if active, err := s.db.ActiveRevision(t.Context()); err != nil || active.Number != 1 {
		t.Errorf("the database says revision %d acts, %v", active.Number, err)
	}
	if a := s.post("/v1/messages", askAnthropic, "X-Api-Key", simulatedFreeKey); a.status != http.StatusOK {
		t.Errorf("the free key answers %d after refusals", a.status)
	}
}

func TestRestart_KeepsTheRevisionAndNotTheShippedOne(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	info, err := s.rules.Activate(t.Context(), another(t), console.Change{By: "ada", Reason: "mine", Expected: 1})
	if err != nil {
		t.Fatalf("Activate: %v", err)
	}
	s.stop()
	again := start(t, Options{Data: s.cfg.Data})
	if got := again.rules.engine.Revision().ID; got != info.ID {
		t.Errorf("after a restart %s acts, want %s", got, info.ID)
	}
}

// A revision that names a target which is configured no more can't act: an
// earlier one does, and the database keeps the operator's.
func TestRestart_RevisionThatDoesNotFitAnyMore(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	files := shipped(t, "config/data.json", func(s string) string {
		return strings.Replace(s, `"id": "batch", "targets": []`, `"id": "batch", "targets": ["claude-opus-5-5"]`, 1)
	})
	if _, err := s.rules.Activate(t.Context(), files, console.Change{By: "ada", Reason: "opus", Expected: 1}); err != nil {
		t.Fatalf("Activate: %v", err)
	}
	rev, err := s.db.RevisionByNumber(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	s.stop()
	again := start(t, Options{
		Data: s.cfg.Data, Env: vendorEnvironment,
		Config: write(t, "spillway.yaml", strings.ReplaceAll(oneVendor, "URL", "http://127.0.0.1:1")),
	})
	if got := again.rules.engine.Revision().ID; got != rev.ID {
		t.Errorf("%s acts, want the first revision %s", got, rev.ID)
	}
	if active, err := again.db.ActiveRevision(t.Context()); err != nil || active.Number != 2 {
		t.Errorf("the database says revision %d acts, %v", active.Number, err)
	}
}
