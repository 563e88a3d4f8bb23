package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Draft is a set of policy files that acts on nothing.
type Draft struct {
	ID string
	// Base is the number of the revision that the draft was made from.
	Base int
	// Version counts saves from 1; 0 for a draft that was never saved.
	Version int
	Files   map[string]string // nil in lists
	At      time.Time
	By      string
}

// SaveDraft stores a draft if its version is still the stored one (0: there is
// none), and returns it with the next version; otherwise [ErrStale], and
// nothing is stored.
func (db *DB) SaveDraft(ctx context.Context, d Draft) (Draft, error) {
	files, err := json.Marshal(d.Files)
	if err != nil {
		return Draft{}, fmt.Errorf("save draft %s: %w", d.ID, err)
	}
	err = db.writer.do(ctx, func(w *writer) error {
		d.At = fromMicros(w.now().UnixMicro())
		return w.saveDraft(d, string(files))
	})
	if err != nil {
		return Draft{}, fmt.Errorf("save draft %s: %w", d.ID, err)
	}
	d.Version++
	return d, nil
}

func (w *writer) saveDraft(d Draft, files string) error {
	query := `UPDATE drafts SET base = ?1, version = ?2 + 1, files = ?3, updated_us = ?4, author = ?5
		WHERE id = ?6 AND version = ?2`
	if d.Version == 0 {
		query = `INSERT INTO drafts (base, version, files, updated_us, author, id)
			VALUES (?1, ?2 + 1, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING`
	}
	n, err := w.exec(query, int64(d.Base), int64(d.Version), files, d.At.UnixMicro(), d.By, d.ID)
	if err == nil && n == 0 {
		return ErrStale
	}
	return err
}

// Draft returns one draft, or [ErrNotFound].
func (db *DB) Draft(ctx context.Context, id string) (Draft, error) {
	d := Draft{ID: id}
	var updated int64
	var files string
	err := db.readers.QueryRowContext(ctx, "SELECT base, version, files, updated_us, author FROM drafts WHERE id = ?", id).
		Scan(&d.Base, &d.Version, &files, &updated, &d.By)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err == nil {
		err = json.Unmarshal([]byte(files), &d.Files)
	}
	if err != nil {
		return Draft{}, fmt.Errorf("read draft %s: %w", id, err)
	}
	d.At = fromMicros(updated)
	return d, nil
}

// Drafts returns all drafts without their files, the last saved first.
func (db *DB) Drafts(ctx context.Context) (list []Draft, err error) {
	rows, err := db.readers.QueryContext(ctx, "SELECT id, base, version, updated_us, author FROM drafts ORDER BY updated_us DESC, id")
	if err != nil {
		return nil, fmt.Errorf("list drafts: %w", err)
	}
	defer closeRows(rows, &err)
	for rows.Next() {
		var d Draft
		var updated int64
		if err := rows.Scan(&d.ID, &d.Base, &d.Version, &updated, &d.By); err != nil {
			return nil, fmt.Errorf("list drafts: %w", err)
		}
		d.At = fromMicros(updated)
		list = append(list, d)
	}
	return list, rows.Err()
}

// DropDraft forgets a draft; one that does not exist is no error.
func (db *DB) DropDraft(ctx context.Context, id string) error {
	err := db.writer.do(ctx, func(w *writer) error {
		_, err := w.exec("DELETE FROM drafts WHERE id = ?", id)
		return err
	})
	if err != nil {
		return fmt.Errorf("drop draft %s: %w", id, err)
	}
	return nil
}
