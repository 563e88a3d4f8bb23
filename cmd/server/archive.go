package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/core/audit"
	"github.com/spillway-llm/spillway/store"
)

// archive shows the store to the console, which knows it by its own ports only.
type archive struct{ db *store.DB }

var (
	_ console.History   = archive{}
	_ console.Revisions = archive{}
	_ console.Drafts    = archive{}
	_ console.Sessions  = archive{}
)

// told translates the store's answers into the console's; all others stay.
func told(err error) error {
	for from, to := range map[error]error{
		store.ErrNotFound:    console.ErrNotFound,
		store.ErrStale:       console.ErrStale,
		store.ErrCredentials: console.ErrCredentials,
	} {
		if errors.Is(err, from) {
			return fmt.Errorf("%w: %w", to, err)
		}
	}
	return err
}

// Decisions returns the newest decisions that pass the filter.
func (a archive) Decisions(ctx context.Context, f audit.Filter) ([]audit.Decision, error) {
	list, err := a.db.Decisions(ctx, f)
	return list, told(err)
}

// Decision returns one decision with its neighbours.
func (a archive) Decision(ctx context.Context, id string) (audit.Detail, error) {
	d, err := a.db.Decision(ctx, id)
	return d, told(err)
}

// Events returns the newest events other than decisions.
func (a archive) Events(ctx context.Context, before, after int64, limit int, kinds ...string) ([]audit.Event, error) {
	list, err := a.db.Events(ctx, before, after, kinds, limit)
	return list, told(err)
}

// Active returns the acting revision.
func (a archive) Active(ctx context.Context) (console.Revision, error) {
	r, err := a.db.ActiveRevision(ctx)
	return revision(r), told(err)
}

// List returns revisions without their files, newest first.
func (a archive) List(ctx context.Context, before, limit int) ([]console.RevisionInfo, error) {
	list, err := a.db.Revisions(ctx, before, limit)
	out := make([]console.RevisionInfo, len(list))
	for i, r := range list {
		out[i] = revisionInfo(r)
	}
	return out, told(err)
}

// Revision returns one revision by its number.
func (a archive) Revision(ctx context.Context, number int) (console.Revision, error) {
	r, err := a.db.RevisionByNumber(ctx, number)
	return revision(r), told(err)
}

func revision(r store.Revision) console.Revision {
	return console.Revision{RevisionInfo: revisionInfo(r), Files: fileList(r.Files)}
}

func revisionInfo(r store.Revision) console.RevisionInfo {
	info := console.RevisionInfo{Number: r.Number, ID: r.ID, At: r.At, By: r.By, Reason: r.Reason, Active: r.Active}
	if r.Action == store.ActionRollback {
		info.RollbackOf = r.Parent
	}
	return info
}

// fileList sorts files by name, as the console shows them.
func fileList(files map[string]string) []console.File {
	out := make([]console.File, 0, len(files))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		out = append(out, console.File{Name: name, Text: files[name]})
	}
	return out
}

// fileMap is the other way round. Of two files of one name, which the console
// does not make, the last counts.
func fileMap(files []console.File) map[string]string {
	out := make(map[string]string, len(files))
	for _, f := range files {
		out[f.Name] = f.Text
	}
	return out
}

// Drafts returns all drafts without their files.
func (a archive) Drafts(ctx context.Context) ([]console.Draft, error) {
	list, err := a.db.Drafts(ctx)
	out := make([]console.Draft, len(list))
	for i, d := range list {
		out[i] = draft(d)
	}
	return out, told(err)
}

// Draft returns one draft.
func (a archive) Draft(ctx context.Context, id string) (console.Draft, error) {
	d, err := a.db.Draft(ctx, id)
	return draft(d), told(err)
}

// SaveDraft stores the draft if its version is still the stored one.
func (a archive) SaveDraft(ctx context.Context, d console.Draft) (console.Draft, error) {
	saved, err := a.db.SaveDraft(ctx, store.Draft{
		ID: d.ID, Base: d.Base, Version: d.Version, Files: fileMap(d.Files), By: d.By,
	})
	return draft(saved), told(err)
}

// DropDraft forgets a draft.
func (a archive) DropDraft(ctx context.Context, id string) error {
	return told(a.db.DropDraft(ctx, id))
}

func draft(d store.Draft) console.Draft {
	return console.Draft{ID: d.ID, Base: d.Base, Version: d.Version, By: d.By, At: d.At, Files: fileList(d.Files)}
}

// SaveSession stores a session.
func (a archive) SaveSession(ctx context.Context, s console.Session) error {
	return told(a.db.SaveSession(ctx, store.Session{
		Hash: store.SessionHash(s.Hash), Operator: s.Operator, MustChange: s.MustSetPassword,
		CreatedAt: s.CreatedAt, SeenAt: s.SeenAt,
	}))
}

// Session returns a session.
func (a archive) Session(ctx context.Context, hash console.SessionHash) (console.Session, error) {
	s, err := a.db.Session(ctx, store.SessionHash(hash))
	return console.Session{
		Hash: console.SessionHash(s.Hash), Operator: s.Operator, MustSetPassword: s.MustChange,
		CreatedAt: s.CreatedAt, SeenAt: s.SeenAt,
	}, told(err)
}

// EndSession forgets a session.
func (a archive) EndSession(ctx context.Context, hash console.SessionHash) error {
	return told(a.db.EndSession(ctx, store.SessionHash(hash)))
}

// EndSessions forgets all sessions of an operator except keep.
func (a archive) EndSessions(ctx context.Context, operator string, keep console.SessionHash) error {
	return told(a.db.EndSessions(ctx, operator, store.SessionHash(keep)))
}
