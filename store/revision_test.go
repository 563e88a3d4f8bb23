package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/store"
)

func request(n int, expected int) store.ActivateRequest {
	return store.ActivateRequest{
		Files: map[string]string{"routing/routing.rego": fmt.Sprintf("package spillway.routing # %d", n)}, ID: fmt.Sprintf("id-%d", n),
		By: "ann", Reason: "because", Action: store.ActionActivate, ExpectedNumber: expected,
	}
}

func TestRevisions_ActivateAndRollBack(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	db := open(t, cfg)
	ctx := context.Background()
	if _, err := db.ActiveRevision(ctx); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("active revision of a new database: %v", err)
	}
	first := request(1, 0)
	first.Action = store.ActionDefault
	back := request(1, 2)
	back.Action, back.Parent = store.ActionRollback, 1
	for i, req := range []store.ActivateRequest{first, request(2, 1), back} {
		rev, err := db.Activate(ctx, req)
		if err != nil || rev.Number != i+1 || !rev.At.Equal(noon()) || !rev.Active {
			t.Fatalf("activate %d: %+v, %v", i+1, rev, err)
		}
	}
	rev, err := db.ActiveRevision(ctx)
	if err != nil || rev.Number != 3 || rev.ID != "id-1" || rev.Action != "rollback" || rev.Parent != 1 || rev.Undoes != 2 ||
		rev.By != "ann" || rev.Reason != "because" || !rev.Active || !maps.Equal(rev.Files, first.Files) {
		t.Errorf("active: %+v, %v", rev, err)
	}
	if rev, err := db.RevisionByNumber(ctx, 2); err != nil || rev.ID != "id-2" || rev.Parent != 1 || rev.Undoes != 0 || rev.Active {
		t.Errorf("number 2: %+v, %v", rev, err)
	}
	if rev, err := db.RevisionByID(ctx, "id-1"); err != nil || rev.Number != 3 {
		t.Errorf("id-1: %+v, %v", rev, err)
	}
	if _, err := db.RevisionByNumber(ctx, 9); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("number 9: %v", err)
	}
	list, err := db.Revisions(ctx, 3, 1)
	if err != nil || len(list) != 1 || list[0].Number != 2 || list[0].Files != nil {
		t.Errorf("list: %+v, %v", list, err)
	}
	checkRow(t, firstRow(t, shell(t, cfg.Path), "SELECT * FROM v_policy_history"), map[string]string{
		"action": "rollback", "number": "3", "revision": "id-1", "previous": "id-2", "by": "ann", "reason": "because",
	})
	if _, err := shell(t, cfg.Path).Exec("UPDATE revisions SET author = 'bob'"); err == nil {
		t.Error("a revision was changed")
	}
}

func TestRevisions_Refusals(t *testing.T) {
	t.Parallel()
	db := open(t, config(t))
	ctx := context.Background()
	if _, err := db.Activate(ctx, request(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Activate(ctx, request(2, 0)); !errors.Is(err, store.ErrStale) {
		t.Errorf("stale: %v", err)
	}
	noFiles, noID, action := request(3, 1), request(3, 1), request(3, 1)
	noFiles.Files, noID.ID, action.Action = nil, "", "publish"
	for _, req := range []store.ActivateRequest{noFiles, noID, action} {
		if _, err := db.Activate(ctx, req); err == nil {
			t.Errorf("accepted %+v", req)
		}
	}
	events, err := db.Events(ctx, 0, 0, []string{"policy"}, 0)
	if err != nil || len(events) != 1 {
		t.Errorf("%d policy events, %v: refused changes must leave none", len(events), err)
	}
}

func TestRevisions_OneOfManyWins(t *testing.T) {
	t.Parallel()
	db := open(t, config(t))
	var won, stale atomic.Int64
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			switch _, err := db.Activate(context.Background(), request(i, 0)); {
			case err == nil:
				won.Add(1)
			case errors.Is(err, store.ErrStale):
				stale.Add(1)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || stale.Load() != 19 {
		t.Errorf("%d won, %d were stale", won.Load(), stale.Load())
	}
}

// TestRevisions_RecordedOnce holds that whoever tells all recorders of an
// activation does not double it in the history, even after a restart.
func TestRevisions_RecordedOnce(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	db := open(t, cfg)
	rev, err := db.Activate(context.Background(), request(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	change := &core.PolicyChange{At: rev.At, Action: rev.Action, Revision: rev.ID, Number: rev.Number, By: rev.By}
	db.Record(change)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, cfg)
	db.Record(change)
	db.Record(&core.PolicyChange{At: rev.At, Action: "poisoned", Revision: rev.ID, Number: rev.Number})
	flush(t, db)
	events, err := db.Events(context.Background(), 0, 0, []string{"policy"}, 0)
	if err != nil || len(events) != 2 {
		t.Errorf("%d policy events, want the activation and the poisoning: %v", len(events), err)
	}
}

func TestDrafts(t *testing.T) {
	t.Parallel()
	db := open(t, config(t))
	ctx := context.Background()
	d, err := db.SaveDraft(ctx, store.Draft{ID: "d1", Base: 3, By: "ann", Files: map[string]string{"a.rego": "x"}})
	if err != nil || d.Version != 1 || !d.At.Equal(noon()) {
		t.Fatalf("first save: %+v, %v", d, err)
	}
	d.Files["a.rego"] = "y"
	if d, err = db.SaveDraft(ctx, d); err != nil || d.Version != 2 {
		t.Fatalf("second save: %+v, %v", d, err)
	}
	for _, version := range []int{0, 1, 3} {
		old := store.Draft{ID: "d1", Version: version, Files: map[string]string{"a.rego": "lost?"}}
		if _, err := db.SaveDraft(ctx, old); !errors.Is(err, store.ErrStale) {
			t.Errorf("save over version %d: %v", version, err)
		}
	}
	got, err := db.Draft(ctx, "d1")
	if err != nil || got.Version != 2 || got.Base != 3 || got.By != "ann" || got.Files["a.rego"] != "y" {
		t.Errorf("read: %+v, %v", got, err)
	}
	if list, err := db.Drafts(ctx); err != nil || len(list) != 1 || list[0].ID != "d1" || list[0].Files != nil {
		t.Errorf("list: %+v, %v", list, err)
	}
	for range 2 {
		if err := db.DropDraft(ctx, "d1"); err != nil {
			t.Error(err)
		}
	}
	if _, err := db.Draft(ctx, "d1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("dropped: %v", err)
	}
	if _, err := db.SaveDraft(ctx, got); !errors.Is(err, store.ErrStale) {
		t.Errorf("save of a dropped draft: %v", err)
	}
}
