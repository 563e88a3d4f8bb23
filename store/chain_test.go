package store_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core/audit"
)

func auditFilter(useCase string) audit.Filter { return audit.Filter{UseCase: useCase} }

// TestEvents_ChainAsDocumented computes the hashes from the documentation's
// words alone, as an auditor would in another language.
func TestEvents_ChainAsDocumented(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	db := open(t, cfg)
	snap, p := snapshot(t, 1), plan()
	for i := range 5 {
		db.Record(decision(snap, p, i))
	}
	flush(t, db)
	rows, err := shell(t, cfg.Path).Query("SELECT seq, at_us, kind, id, body, hash FROM events ORDER BY seq")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	previous, n := make([]byte, 32), 0
	for rows.Next() {
		var seq, at int64
		var kind, id, body string
		var hash []byte
		if err := rows.Scan(&seq, &at, &kind, &id, &body, &hash); err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		h.Write(previous)
		for _, part := range []any{seq, at, int64(len(kind)), kind, int64(len(id)), id, body} {
			if s, ok := part.(string); ok {
				h.Write([]byte(s))
				continue
			}
			if err := binary.Write(h, binary.BigEndian, part); err != nil {
				t.Fatal(err)
			}
		}
		if n++; hex.EncodeToString(h.Sum(nil)) != hex.EncodeToString(hash) {
			t.Errorf("row %d: hash %x", seq, hash)
		}
		previous = hash
	}
	if rows.Err() != nil || n != 6 {
		t.Errorf("%d rows, %v", n, rows.Err())
	}
	if r, err := db.Verify(context.Background()); err != nil || r.Broken != nil || r.Head != hex.EncodeToString(previous) || r.Seq != 6 {
		t.Errorf("verify: %+v %v", r, err)
	}
}

func TestEvents_AppendOnly(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	db := open(t, cfg)
	db.Record(decision(snapshot(t, 1), plan(), 1))
	flush(t, db)
	for query, want := range map[string]string{
		"UPDATE events SET body = '{}'":       "events are append-only",
		"DELETE FROM events":                  "events are append-only",
		"UPDATE documents SET body = '{}'":    "documents are append-only",
		"DELETE FROM documents":               "documents are append-only",
		"UPDATE events SET at_us = 1 WHERE 1": "events are append-only",
	} {
		if _, err := shell(t, cfg.Path).Exec(query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", query, err)
		}
	}
}

func TestVerify_FindsTampering(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change string
		seq    int64
		what   string
	}{
		"changed":  {"DROP TRIGGER events_no_update; UPDATE events SET body = replace(body, '529', '200') WHERE seq = 4", 4, "hash"},
		"time":     {"DROP TRIGGER events_no_update; UPDATE events SET at_us = at_us + 1 WHERE seq = 3", 3, "hash"},
		"removed":  {"DROP TRIGGER events_no_delete; DELETE FROM events WHERE seq = 3", 3, "missing"},
		"first":    {"DROP TRIGGER events_no_delete; DELETE FROM events WHERE seq = 1", 1, "missing"},
		"swapped":  {"DROP TRIGGER events_no_update; UPDATE events SET seq = -seq WHERE seq IN (3, 4); UPDATE events SET seq = 7 + seq WHERE seq < 0", 3, "hash"},
		"appended": {"INSERT INTO events SELECT 7, at_us, kind, 'forged', body, hash FROM events WHERE seq = 6", 7, "hash"},
		"document": {"DROP TRIGGER documents_no_update; UPDATE documents SET body = replace(body, 'circuit_open', 'cost') WHERE kind = 'plan'", 0, "digest"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t)
			db := open(t, cfg)
			snap, p := snapshot(t, 1), plan()
			for i := range 5 {
				db.Record(decision(snap, p, i))
			}
			flush(t, db)
			if _, err := shell(t, cfg.Path).Exec(tt.change); err != nil {
				t.Fatal(err)
			}
			r, err := db.Verify(context.Background())
			if err != nil || r.Broken == nil || r.Broken.Seq != tt.seq || !strings.Contains(r.Broken.What, tt.what) {
				t.Fatalf("verify: %+v, %+v, %v", r, r.Broken, err)
			}
			if isDocument := r.Broken.Document != ""; isDocument != (tt.seq == 0) {
				t.Errorf("document %q", r.Broken.Document)
			}
		})
	}
}
