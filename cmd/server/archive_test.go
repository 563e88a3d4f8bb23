package main

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/policies"
	"github.com/spillway-llm/spillway/store"
)

func TestArchive_AnswersAreTheConsoles(t *testing.T) {
	t.Parallel()
	a := archive{openStore(t)}
	_, noRevision := a.Revision(t.Context(), 7)
	_, noDecision := a.Decision(t.Context(), "none")
	_, noDraft := a.Draft(t.Context(), "none")
	_, noSession := a.Session(t.Context(), console.SessionHash{1})
	for name, err := range map[string]error{
		"revision": noRevision, "decision": noDecision, "draft": noDraft, "session": noSession,
	} {
		if !errors.Is(err, console.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", name, err)
		}
	}
}

func TestArchive_Revisions(t *testing.T) {
	t.Parallel()
	db := openStore(t)
	a := archive{db}
	files := policies.Files()
	activate := func(action string, parent, expected int) {
		t.Helper()
		_, err := db.Activate(t.Context(), store.ActivateRequest{
			Files: files, ID: "x", By: "ada", Reason: "why", Action: action, Parent: parent, ExpectedNumber: expected,
		})
		if err != nil {
			t.Fatalf("Activate: %v", err)
		}
	}
	activate(store.ActionDefault, 0, 0)
	activate(store.ActionActivate, 0, 1)
	activate(store.ActionRollback, 1, 2)
	list, err := a.List(t.Context(), 0, 10)
	if err != nil || len(list) != 3 {
		t.Fatalf("List = %+v, %v", list, err)
	}
	if list[0].RollbackOf != 1 || !list[0].Active || list[1].RollbackOf != 0 || list[1].Active || list[0].By != "ada" {
		t.Errorf("revisions = %+v", list)
	}
	acting, err := a.Active(t.Context())
	if err != nil || acting.Number != 3 || len(acting.Files) != len(files) {
		t.Fatalf("Active = %+v, %v", acting.RevisionInfo, err)
	}
	if !slices.IsSortedFunc(acting.Files, func(a, b console.File) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	}) {
		t.Error("the files are not sorted by name")
	}
}

func TestArchive_Drafts(t *testing.T) {
	t.Parallel()
	a := archive{openStore(t)}
	d := console.Draft{ID: "d1", Base: 1, By: "ada", Files: []console.File{{Name: "b.rego", Text: "b"}, {Name: "a.rego", Text: "a"}}}
	saved, err := a.SaveDraft(t.Context(), d)
	if err != nil || saved.Version != 1 {
		t.Fatalf("SaveDraft = %+v, %v", saved, err)
	}
	if _, err := a.SaveDraft(t.Context(), d); !errors.Is(err, console.ErrStale) {
		t.Errorf("a save over a newer draft = %v, want ErrStale", err)
	}
	got, err := a.Draft(t.Context(), "d1")
	want := []console.File{{Name: "a.rego", Text: "a"}, {Name: "b.rego", Text: "b"}}
	if err != nil || !slices.Equal(got.Files, want) || got.Base != 1 || got.By != "ada" {
		t.Errorf("Draft = %+v, %v", got, err)
	}
	if err := a.DropDraft(t.Context(), "d1"); err != nil {
		t.Fatalf("DropDraft: %v", err)
	}
	if list, err := a.Drafts(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("Drafts = %+v, %v, want none", list, err)
	}
}

func TestArchive_Sessions(t *testing.T) {
	t.Parallel()
	a := archive{openStore(t)}
	now := time.Now().Truncate(time.Microsecond)
	s := console.Session{Hash: console.SessionHash{1}, Operator: "ada", MustSetPassword: true, CreatedAt: now, SeenAt: now}
	other := console.Session{Hash: console.SessionHash{2}, Operator: "ada", CreatedAt: now, SeenAt: now}
	for _, x := range []console.Session{s, other} {
		if err := a.SaveSession(t.Context(), x); err != nil {
			t.Fatalf("SaveSession: %v", err)
		}
	}
	got, err := a.Session(t.Context(), s.Hash)
	if err != nil || got.Operator != "ada" || !got.MustSetPassword || !got.CreatedAt.Equal(now) || !got.SeenAt.Equal(now) {
		t.Errorf("Session = %+v, %v", got, err)
	}
	if err := a.EndSessions(t.Context(), "ada", s.Hash); err != nil {
		t.Fatalf("EndSessions: %v", err)
	}
	if _, err := a.Session(t.Context(), other.Hash); !errors.Is(err, console.ErrNotFound) {
		t.Errorf("the other session = %v, want ErrNotFound", err)
	}
	if err := a.EndSession(t.Context(), s.Hash); err != nil {
		t.Fatalf("EndSession: %v", err)
	}
	if _, err := a.Session(t.Context(), s.Hash); !errors.Is(err, console.ErrNotFound) {
		t.Errorf("the ended session = %v, want ErrNotFound", err)
	}
}
