package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// KeyHash is the SHA-256 of a caller's key, which itself is never stored. Keys
// have at least 128 random bits, so that nothing slower is needed.
type KeyHash [sha256.Size]byte

// HashKey is the hash under which a key is stored.
func HashKey(key string) KeyHash { return sha256.Sum256([]byte(key)) }

// minKeyLen is the length of 128 bits in base 64.
const minKeyLen = 22

// CallerKey is a caller's key and what the access policy reads of it.
type CallerKey struct {
	ID     string
	Name   string
	Hash   KeyHash
	Plan   string
	Tenant string
	// Attributes are read by the access policy.
	Attributes KeyAttributes
	CreatedAt  time.Time
	// DisabledAt is zero while the key works.
	DisabledAt time.Time
}

// KeyAttributes are a key's wishes, which the access policy bounds.
type KeyAttributes struct {
	UseCases []string `json:"use_cases,omitempty"`
	Language string   `json:"language,omitempty"`
}

// AddKey stores a key under its hash and returns it as stored. Its ID and the
// key must be new, or it is [ErrExists].
func (db *DB) AddKey(ctx context.Context, k CallerKey, key string) (CallerKey, error) {
	if len(key) < minKeyLen {
		return CallerKey{}, fmt.Errorf("add key %s: it has %d characters, want at least %d random ones", k.ID, len(key), minKeyLen)
	}
	attributes, err := json.Marshal(k.Attributes)
	if err != nil {
		return CallerKey{}, fmt.Errorf("add key %s: %w", k.ID, err)
	}
	k.Hash = HashKey(key)
	err = db.writer.do(ctx, func(w *writer) error {
		k.CreatedAt = fromMicros(w.now().UnixMicro())
		return insertNew(w.exec(`INSERT INTO keys (id, name, hash, plan, tenant, attributes, created_us, disabled_us)
			VALUES (?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING`,
			k.ID, k.Name, k.Hash[:], k.Plan, k.Tenant, string(attributes), k.CreatedAt.UnixMicro()))
	})
	if err != nil {
		return CallerKey{}, fmt.Errorf("add key %s: %w", k.ID, err)
	}
	return k, nil
}

// insertNew turns an insertion that changed nothing into ErrExists.
func insertNew(changed int64, err error) error {
	if err == nil && changed == 0 {
		return ErrExists
	}
	return err
}

// Keys returns all keys, disabled ones included, in the order of their making.
func (db *DB) Keys(ctx context.Context) (list []CallerKey, err error) {
	rows, err := db.readers.QueryContext(ctx, `SELECT id, name, hash, plan, tenant, attributes, created_us, disabled_us
		FROM keys ORDER BY created_us, id`)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	defer closeRows(rows, &err)
	for rows.Next() {
		var k CallerKey
		var hash []byte
		var attributes string
		var created, disabled int64
		if err := rows.Scan(&k.ID, &k.Name, &hash, &k.Plan, &k.Tenant, &attributes, &created, &disabled); err != nil {
			return nil, fmt.Errorf("list keys: %w", err)
		}
		if err := json.Unmarshal([]byte(attributes), &k.Attributes); err != nil {
			return nil, fmt.Errorf("list keys: attributes of %s: %w", k.ID, err)
		}
		copy(k.Hash[:], hash)
		k.CreatedAt, k.DisabledAt = fromMicros(created), fromMicros(disabled)
		list = append(list, k)
	}
	return list, rows.Err()
}

// DisableKey takes a key out of service for good; [ErrNotFound] when there is
// no such key. Disabling it again changes nothing.
func (db *DB) DisableKey(ctx context.Context, id string) error {
	err := db.writer.do(ctx, func(w *writer) error {
		n, err := w.exec("UPDATE keys SET disabled_us = iif(disabled_us = 0, ?, disabled_us) WHERE id = ?",
			w.now().UnixMicro(), id)
		if err == nil && n == 0 {
			return ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("disable key %s: %w", id, err)
	}
	return nil
}
