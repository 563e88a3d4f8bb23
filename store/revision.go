package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spillway-llm/spillway/core"
)

// The actions that make a revision.
const (
	// ActionDefault installs the policies that came with the program.
	ActionDefault = "default"
	// ActionActivate makes an operator's draft act.
	ActionActivate = "activate"
	// ActionRollback makes an earlier revision's files act again.
	ActionRollback = "rollback"
)

// Revision is a version of the policies that was made to act.
type Revision struct {
	// Number counts activations from 1.
	Number int
	// ID is the hex SHA-256 over modules and data; equal files share it.
	ID string
	// Files are the modules and data by path; nil in lists.
	Files  map[string]string
	At     time.Time
	By     string
	Reason string
	Action string
	// Parent is the revision that the files come from: the one before for an
	// activation, the one that acts again for a roll-back; 0 for none.
	Parent int
	// Undoes is the revision that a roll-back replaced, 0 otherwise.
	Undoes int
	// Active marks the acting revision.
	Active bool
}

// ActivateRequest asks for a revision to act.
type ActivateRequest struct {
	Files  map[string]string
	ID     string
	By     string
	Reason string
	Action string
	// Parent is the revision that a roll-back makes act again; for other
	// actions it is set to ExpectedNumber.
	Parent int
	// ExpectedNumber is the revision that acted when the change was decided, 0
	// for none: [ErrStale] when another one acts by now.
	ExpectedNumber int
}

// Activate stores a new revision, makes it the acting one and records that, all
// or nothing. The record is an event like any other, so that the history holds
// every activation even if the process dies at once.
func (db *DB) Activate(ctx context.Context, req ActivateRequest) (Revision, error) {
	rev, err := db.activate(ctx, req)
	if err != nil {
		return Revision{}, fmt.Errorf("activate revision: %w", err)
	}
	return rev, nil
}

func (db *DB) activate(ctx context.Context, req ActivateRequest) (Revision, error) {
	if req.ID == "" || len(req.Files) == 0 {
		return Revision{}, errors.New("id or files are missing")
	}
	files, err := json.Marshal(req.Files)
	if err != nil {
		return Revision{}, err
	}
	rev := Revision{
		ID: req.ID, Files: req.Files, By: req.By, Reason: req.Reason, Action: req.Action,
		Parent: req.ExpectedNumber, Active: true,
	}
	switch req.Action {
	case ActionDefault, ActionActivate:
	case ActionRollback:
		rev.Parent, rev.Undoes = req.Parent, req.ExpectedNumber
	default:
		return Revision{}, fmt.Errorf("action %q is not one of default, activate, rollback", req.Action)
	}
	err = db.writer.do(ctx, func(w *writer) error {
		rev.At = fromMicros(w.now().UnixMicro())
		return w.activate(&rev, string(files), req.ExpectedNumber, &db.activated)
	})
	if err != nil { // the writer may still hold rev
		return Revision{}, err
	}
	return rev, nil
}

// activate runs in a job's transaction. The number is raised before the commit:
// whoever records the activation again does so after it.
func (w *writer) activate(rev *Revision, files string, expected int, activated *activatedNumber) error {
	row, err := w.c.row("SELECT a.number, r.id FROM active AS a JOIN revisions AS r ON r.number = a.number")
	if err != nil {
		return err
	}
	var acting int64
	var previous string
	if row != nil {
		acting, _ = row[0].(int64)
		previous, _ = row[1].(string)
	}
	if acting != int64(expected) {
		return fmt.Errorf("revision %d acts by now, not %d: %w", acting, expected, ErrStale)
	}
	last, err := w.c.number("SELECT coalesce(max(number), 0) FROM revisions")
	if err != nil {
		return err
	}
	rev.Number = int(last) + 1
	_, err = w.exec(`INSERT INTO revisions (number, id, files, created_us, author, reason, action, parent, undoes)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		int64(rev.Number), rev.ID, files, rev.At.UnixMicro(), rev.By, rev.Reason, rev.Action, int64(rev.Parent), int64(rev.Undoes))
	if err != nil {
		return err
	}
	if _, err := w.exec("INSERT OR REPLACE INTO active (one, number) VALUES (1, ?)", int64(rev.Number)); err != nil {
		return err
	}
	e := encoder{b: []byte{'{'}}
	n := e.policyChange(&core.PolicyChange{
		At: rev.At, Action: rev.Action, Revision: rev.ID, Previous: previous, Number: rev.Number, By: rev.By, Reason: rev.Reason,
	})
	if err := w.append(rev.At.UnixMicro(), n.kind, n.id, append(e.b, '}')); err != nil {
		return err
	}
	activated.Store(int64(rev.Number))
	return nil
}

// activatedNumber is the newest activation that is recorded already.
type activatedNumber struct{ atomic.Int64 }

// covers reports whether the change is an activation that Activate recorded.
func (n *activatedNumber) covers(p *core.PolicyChange) bool {
	switch p.Action {
	case ActionDefault, ActionActivate, ActionRollback:
		return p.Number > 0 && int64(p.Number) <= n.Load()
	}
	return false
}

const revisionColumns = `r.number, r.id, r.created_us, r.author, r.reason, r.action, r.parent, r.undoes,
	r.number = coalesce((SELECT number FROM active), 0)`

// ActiveRevision returns the acting revision, or [ErrNotFound] in a new database.
func (db *DB) ActiveRevision(ctx context.Context) (Revision, error) {
	return db.revision(ctx, "r.number = (SELECT number FROM active)")
}

// RevisionByNumber returns one revision, or [ErrNotFound].
func (db *DB) RevisionByNumber(ctx context.Context, number int) (Revision, error) {
	return db.revision(ctx, "r.number = ?", number)
}

// RevisionByID returns the newest revision of an id, which decisions name, or
// [ErrNotFound].
func (db *DB) RevisionByID(ctx context.Context, id string) (Revision, error) {
	return db.revision(ctx, "r.id = ?", id)
}

func (db *DB) revision(ctx context.Context, where string, args ...any) (Revision, error) {
	row := db.readers.QueryRowContext(ctx, "SELECT "+revisionColumns+", r.files FROM revisions AS r WHERE "+where+
		" ORDER BY r.number DESC LIMIT 1", args...)
	var files string
	rev, err := scanRevision(row, &files)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err == nil {
		err = json.Unmarshal([]byte(files), &rev.Files)
	}
	if err != nil {
		return Revision{}, fmt.Errorf("read revision: %w", err)
	}
	return rev, nil
}

// Revisions returns revisions with a number below before (0: no bound), newest
// first, without their files.
func (db *DB) Revisions(ctx context.Context, before, limit int) (list []Revision, err error) {
	rows, err := db.readers.QueryContext(ctx, "SELECT "+revisionColumns+` FROM revisions AS r
		WHERE ?1 = 0 OR r.number < ?1 ORDER BY r.number DESC LIMIT ?2`, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list revisions: %w", err)
	}
	defer closeRows(rows, &err)
	for rows.Next() {
		rev, err := scanRevision(rows)
		if err != nil {
			return nil, fmt.Errorf("list revisions: %w", err)
		}
		list = append(list, rev)
	}
	return list, rows.Err()
}

// scanner is a row, alone or in a result set.
type scanner interface{ Scan(dest ...any) error }

func scanRevision(row scanner, more ...any) (Revision, error) {
	var rev Revision
	var created int64
	dest := append([]any{
		&rev.Number, &rev.ID, &created, &rev.By, &rev.Reason, &rev.Action, &rev.Parent, &rev.Undoes, &rev.Active,
	}, more...)
	err := row.Scan(dest...)
	rev.At = fromMicros(created)
	return rev, err
}

func (db *DB) activeNumber(ctx context.Context) (int, error) {
	var n int
	err := db.readers.QueryRowContext(ctx, "SELECT coalesce(max(number), 0) FROM active").Scan(&n)
	return n, err
}
