package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// The limits of a session (console.md 3.5).
const (
	// SessionIdle ends a session that was not used for so long.
	SessionIdle = 30 * time.Minute
	// SessionLifetime ends any session.
	SessionLifetime = 12 * time.Hour
)

// SessionHash is the SHA-256 of a session's token: the token itself is only in
// the operator's cookie. Its hex form may be shown, to name a session in lists.
type SessionHash [sha256.Size]byte

// HashToken is the hash under which a session is stored.
func HashToken(token string) SessionHash { return sha256.Sum256([]byte(token)) }

// Session is a signed-in browser.
type Session struct {
	Hash     SessionHash
	Operator string
	// MustChange limits the session to choosing a password.
	MustChange bool
	// CreatedAt and SeenAt bound the session, see [SessionLifetime] and [SessionIdle].
	CreatedAt, SeenAt time.Time
	UserAgent         string
}

// SaveSession stores a session, in place of one with the same hash, and forgets
// those that have ended. Zero times are set to now.
func (db *DB) SaveSession(ctx context.Context, s Session) error {
	err := db.writer.do(ctx, func(w *writer) error {
		now := w.now()
		created, seen := orDefault(s.CreatedAt, now), orDefault(s.SeenAt, now)
		_, err := w.exec("DELETE FROM sessions WHERE seen_us <= ? OR created_us <= ?",
			now.Add(-SessionIdle).UnixMicro(), now.Add(-SessionLifetime).UnixMicro())
		if err != nil {
			return err
		}
		_, err = w.exec(`INSERT OR REPLACE INTO sessions (hash, operator, must_change, created_us, seen_us, user_agent)
			VALUES (?, ?, ?, ?, ?, ?)`,
			s.Hash[:], s.Operator, s.MustChange, created.UnixMicro(), seen.UnixMicro(), cutText(s.UserAgent))
		return err
	})
	if err != nil {
		return fmt.Errorf("save session: %w", err)
	}
	return nil
}

const sessionColumns = "SELECT hash, operator, must_change, created_us, seen_us, user_agent FROM sessions WHERE seen_us > ? AND created_us > ?"

// liveBounds are the arguments of sessionColumns: what is older has ended.
func (db *DB) liveBounds() (seen, created int64) {
	now := db.cfg.Now()
	return now.Add(-SessionIdle).UnixMicro(), now.Add(-SessionLifetime).UnixMicro()
}

// Session returns a session, or [ErrNotFound] when it does not exist or has ended.
func (db *DB) Session(ctx context.Context, hash SessionHash) (Session, error) {
	seen, created := db.liveBounds()
	s, err := scanSession(db.readers.QueryRowContext(ctx, sessionColumns+" AND hash = ?", seen, created, hash[:]))
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return Session{}, fmt.Errorf("read session: %w", err)
	}
	return s, nil
}

// TouchSession notes that a session was used now; [ErrNotFound] when it has
// ended. Callers should not touch one more than once a minute: it is a write.
func (db *DB) TouchSession(ctx context.Context, hash SessionHash) error {
	err := db.writer.do(ctx, func(w *writer) error {
		now := w.now()
		n, err := w.exec("UPDATE sessions SET seen_us = ? WHERE hash = ? AND seen_us > ? AND created_us > ?",
			now.UnixMicro(), hash[:], now.Add(-SessionIdle).UnixMicro(), now.Add(-SessionLifetime).UnixMicro())
		if err == nil && n == 0 {
			return ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("touch session: %w", err)
	}
	return nil
}

// Sessions returns an operator's sessions ("" for everybody's), the last used first.
func (db *DB) Sessions(ctx context.Context, operator string) (list []Session, err error) {
	seen, created := db.liveBounds()
	rows, err := db.readers.QueryContext(ctx, sessionColumns+" AND (?3 = '' OR operator = ?3) ORDER BY seen_us DESC", seen, created, operator)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	defer closeRows(rows, &err)
	for rows.Next() {
		s, err := scanSession(rows)
		if err != nil {
			return nil, fmt.Errorf("list sessions: %w", err)
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

func scanSession(row scanner) (s Session, err error) {
	var hash []byte
	var created, seen int64
	err = row.Scan(&hash, &s.Operator, &s.MustChange, &created, &seen, &s.UserAgent)
	copy(s.Hash[:], hash)
	s.CreatedAt, s.SeenAt = fromMicros(created), fromMicros(seen)
	return s, err
}

// EndSession forgets a session; one that does not exist is no error.
func (db *DB) EndSession(ctx context.Context, hash SessionHash) error {
	return db.endSessions(ctx, "DELETE FROM sessions WHERE hash = ?", hash[:])
}

// EndSessions forgets all sessions of an operator except keep.
func (db *DB) EndSessions(ctx context.Context, operator string, keep SessionHash) error {
	return db.endSessions(ctx, "DELETE FROM sessions WHERE operator = ? AND hash <> ?", operator, keep[:])
}

func (db *DB) endSessions(ctx context.Context, query string, args ...driver.Value) error {
	err := db.writer.do(ctx, func(w *writer) error {
		_, err := w.exec(query, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}
