package store

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// passwordIterations of PBKDF2-HMAC-SHA-256, OWASP's figure.
const passwordIterations = 600_000

const saltLen = 16

// Operator is somebody who may sign in to the console.
type Operator struct {
	Name string
	// MustChange is true until a one-time password was replaced.
	MustChange bool
	CreatedAt  time.Time
	// ChangedAt is when the password was set.
	ChangedAt time.Time
}

// hashPassword takes a fifth of a second on purpose.
func hashPassword(password string, salt []byte, iterations int) ([]byte, error) {
	return pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
}

// newHash draws a salt. rand.Read never fails: it ends the process instead.
func (db *DB) newHash(password string) (salt, hash []byte, err error) {
	salt = make([]byte, saltLen)
	_, _ = rand.Read(salt)
	hash, err = hashPassword(password, salt, db.cfg.tuning.iterations)
	return salt, hash, err
}

// AddOperator makes a new operator; [ErrExists] when the name is taken.
// mustChange marks the password as a one-time one.
func (db *DB) AddOperator(ctx context.Context, name, password string, mustChange bool) error {
	salt, hash, err := db.newHash(password)
	if err == nil {
		err = db.writer.do(ctx, func(w *writer) error {
			now := w.now().UnixMicro()
			return insertNew(w.exec(`INSERT INTO operators (name, salt, hash, iterations, must_change, created_us, changed_us)
				VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
				name, salt, hash, int64(db.cfg.tuning.iterations), mustChange, now, now))
		})
	}
	if err != nil {
		return fmt.Errorf("add operator %s: %w", name, err)
	}
	return nil
}

// SetPassword replaces an operator's password; the old one, one-time or not, is
// void at once. [ErrNotFound] when there is no such operator.
func (db *DB) SetPassword(ctx context.Context, name, password string) error {
	salt, hash, err := db.newHash(password)
	if err == nil {
		err = db.writer.do(ctx, func(w *writer) error {
			n, err := w.exec(`UPDATE operators SET salt = ?, hash = ?, iterations = ?, must_change = 0, changed_us = ? WHERE name = ?`,
				salt, hash, int64(db.cfg.tuning.iterations), w.now().UnixMicro(), name)
			if err == nil && n == 0 {
				return ErrNotFound
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("set password of %s: %w", name, err)
	}
	return nil
}

// SignIn checks a password, or returns [ErrCredentials]. A name that does not
// exist takes as long as a wrong password.
func (db *DB) SignIn(ctx context.Context, name, password string) (Operator, error) {
	op := Operator{Name: name}
	salt, want, iterations := make([]byte, saltLen), make([]byte, sha256.Size), db.cfg.tuning.iterations
	var created, changed int64
	err := db.readers.QueryRowContext(ctx,
		"SELECT salt, hash, iterations, must_change, created_us, changed_us FROM operators WHERE name = ?", name).
		Scan(&salt, &want, &iterations, &op.MustChange, &created, &changed)
	unknown := errors.Is(err, sql.ErrNoRows)
	if err != nil && !unknown {
		return Operator{}, fmt.Errorf("sign in: %w", err)
	}
	got, err := hashPassword(password, salt, iterations)
	if err != nil {
		return Operator{}, fmt.Errorf("sign in: %w", err)
	}
	if subtle.ConstantTimeCompare(got, want) != 1 || unknown {
		return Operator{}, fmt.Errorf("sign in: %w", ErrCredentials)
	}
	op.CreatedAt, op.ChangedAt = fromMicros(created), fromMicros(changed)
	return op, nil
}

// Operators returns who may sign in, by name.
func (db *DB) Operators(ctx context.Context) (list []Operator, err error) {
	rows, err := db.readers.QueryContext(ctx, "SELECT name, must_change, created_us, changed_us FROM operators ORDER BY name")
	if err != nil {
		return nil, fmt.Errorf("list operators: %w", err)
	}
	defer closeRows(rows, &err)
	for rows.Next() {
		var op Operator
		var created, changed int64
		if err := rows.Scan(&op.Name, &op.MustChange, &created, &changed); err != nil {
			return nil, fmt.Errorf("list operators: %w", err)
		}
		op.CreatedAt, op.ChangedAt = fromMicros(created), fromMicros(changed)
		list = append(list, op)
	}
	return list, rows.Err()
}
