package main

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/core/audit"
	"github.com/spillway-llm/spillway/core/policy"
	"github.com/spillway-llm/spillway/policies"
	"github.com/spillway-llm/spillway/store"
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

// explained adds the problems, which the error itself does not quote.
func explained(err error) error {
	var p *console.ProblemsError
	if errors.As(err, &p) {
		return fmt.Errorf("%w: %+v", err, p.Problems)
	}
	return err
}

func TestActivate_NextDecisionNamesTheRevision(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	first := s.rules.engine.Revision().ID
	info, err := s.rules.Activate(t.Context(), another(t), console.Change{By: "ada", Reason: "a test", Expected: 1})
	if err != nil {
		t.Fatalf("Activate: %v", explained(err))
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
		t.Fatalf("RollBack: %v", explained(err))
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

// A database whose only revision this program can't use is served by the
// shipped policies.
func TestRestart_NoUsableRevision(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(data, databaseName)})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	_, err = db.Activate(t.Context(), store.ActivateRequest{
		Files: policy.Files{"routing.rego": "package old"}, ID: "of-another-version", By: "ada", Action: store.ActionDefault,
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	s := start(t, Options{Data: data})
	if got, want := s.rules.engine.Revision().ID, policy.Digest(policies.Files()); got != want {
		t.Errorf("%s acts, want the shipped %s", got, want)
	}
	if a := s.post("/v1/messages", askAnthropic); a.status != http.StatusOK {
		t.Errorf("answer = %d %s", a.status, a.body)
	}
	checkPoisoned(t, s, "of-another-version")
}

// checkPoisoned waits until the history says that a revision can't act.
func checkPoisoned(t *testing.T, s *started, revision string) {
	t.Helper()
	eventually(t, "the history names the unusable revision", func() bool {
		list, err := s.db.Events(t.Context(), 0, 0, []string{"policy"}, 10)
		return err == nil && slices.ContainsFunc(list, func(e audit.Event) bool {
			return strings.Contains(string(e.Body), "poisoned") && strings.Contains(string(e.Body), revision)
		})
	})
}

func TestOnFailure_OnlyTheEndOfARevisionIsAnEvent(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.rules.onFailure(policy.Failure{Code: policy.CodeConflict, Revision: "single-failure"})
	s.rules.onFailure(policy.Failure{Code: policy.CodePoisoned, Revision: "beyond-stopping"})
	checkPoisoned(t, s, "beyond-stopping")
	list, err := s.db.Events(t.Context(), 0, 0, []string{"policy"}, 10)
	if err != nil || slices.ContainsFunc(list, func(e audit.Event) bool { return strings.Contains(string(e.Body), "single-failure") }) {
		t.Errorf("events = %v, %v", list, err)
	}
}

// The console is told the worst first, whatever the order in the files.
func TestCheck_ErrorsFirst(t *testing.T) {
	t.Parallel()
	list := problemList(policy.Problems{
		{File: "a.rego", Severity: policy.SeverityWarning}, {File: "b.rego", Severity: policy.SeverityError},
		{File: "c.rego", Severity: policy.SeverityWarning}, {File: "d.rego", Severity: policy.SeverityError},
	})
	var order string
	for _, p := range list {
		order += p.File[:1]
	}
	if order != "bdac" {
		t.Errorf("order = %s, want errors first and else the files' order", order)
	}
}

func TestOnlySlow(t *testing.T) {
	t.Parallel()
	slow := policy.Problem{Code: policy.CodeDeadline, Severity: policy.SeverityError}
	for name, tt := range map[string]struct {
		problems policy.Problems
		want     bool
	}{
		"none":           {nil, false},
		"slow":           {policy.Problems{slow, slow}, true},
		"slow_warning":   {policy.Problems{slow, {Code: "lint", Severity: policy.SeverityWarning}}, true},
		"slow_and_wrong": {policy.Problems{slow, {Code: policy.CodeData, Severity: policy.SeverityError}}, false},
		"wrong":          {policy.Problems{{Code: policy.CodeData, Severity: policy.SeverityError}}, false},
	} {
		if got := onlySlow(tt.problems); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
