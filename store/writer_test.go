package store

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/spillway-llm/spillway/core"
)

// still opens a database whose writer does nothing by itself.
func still(t *testing.T) *DB {
	t.Helper()
	cfg := Config{Path: filepath.Join(t.TempDir(), "spillway.db")}.withDefaults()
	db, err := open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		go db.writer.loop()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// TestWriter_CommitThatSeemedToFail reports an error after a commit that in
// fact happened: nothing may be written twice.
func TestWriter_CommitThatSeemedToFail(t *testing.T) {
	t.Parallel()
	db := still(t)
	w := db.writer
	for range batchRows + 10 {
		db.Record(&core.Decision{ID: "d"})
	}
	b, _, _ := w.mail.take(w.work)
	w.work, w.lost = b, loss{count: 3, from: 1, to: 2}
	for step := range 2 { // a full transaction, and the one with the gap
		pos, lost, told, head := w.pos, w.lost, w.told, w.head
		if err := w.batch(); err != nil {
			t.Fatal(err)
		}
		w.pos, w.lost, w.told, w.head, w.unsure = pos, lost, told, head, true
		if err := w.settle(); err != nil {
			t.Fatal(err)
		}
		if step == 1 && w.pending() {
			t.Errorf("at %d of %d, lost %+v", w.pos, len(w.work.records), w.lost)
		}
	}
	n, err := w.c.number("SELECT count(*) FROM events WHERE kind = 'decision'")
	if err != nil || n != batchRows+10 {
		t.Errorf("%d rows, %v", n, err)
	}
	if n, err := w.c.number("SELECT count(*) FROM events WHERE kind = 'gap'"); err != nil || n != 1 {
		t.Errorf("%d gaps, %v", n, err)
	}
	if r, err := db.Verify(context.Background()); err != nil || r.Broken != nil {
		t.Errorf("verify: %+v, %v", r, err)
	}
}

// TestWriter_FailedJob holds that a job's rows vanish with it, and that the
// chain goes on where it was.
func TestWriter_FailedJob(t *testing.T) {
	t.Parallel()
	db := still(t)
	w := db.writer
	before := w.head
	for _, trouble := range []error{errors.New("no"), sqlite3.Error{Code: sqlite3.ErrFull}} {
		err := w.transact(func() error {
			if err := w.append(1, kindConfig, "x", []byte("{}")); err != nil {
				return err
			}
			return trouble
		})
		var full sqlite3.Error
		if !errors.Is(err, trouble) || w.head != before || w.unsure != errors.As(err, &full) {
			t.Errorf("%v: head %d, unsure %v, %v", trouble, w.head.seq, w.unsure, err)
		}
	}
	if err := w.transact(func() error { return w.append(1, kindConfig, "y", []byte("{}")) }); err != nil || w.head.seq != before.seq+1 {
		t.Errorf("head %d, %v", w.head.seq, err)
	}
}

// TestWriter_Backoff grows from the interval to five seconds.
func TestWriter_Backoff(t *testing.T) {
	t.Parallel()
	db := still(t)
	w := db.writer
	if pause := w.turn(); pause != 0 {
		t.Errorf("with nothing to do: look again in %v", pause)
	}
	db.Record(&core.Decision{ID: "d"})
	if pause := w.turn(); pause != 50*time.Millisecond {
		t.Errorf("after writing: %v", pause)
	}
	if _, err := w.c.exec("ALTER TABLE run RENAME TO hidden"); err != nil {
		t.Fatal(err)
	}
	db.Record(&core.Decision{ID: "d"})
	var pauses []time.Duration
	for range 9 {
		pauses = append(pauses, w.turn())
	}
	if pauses[0] != 50*time.Millisecond || pauses[1] != 100*time.Millisecond || pauses[8] != 5*time.Second {
		t.Errorf("pauses: %v", pauses)
	}
	if _, err := w.c.exec("ALTER TABLE hidden RENAME TO run"); err != nil {
		t.Fatal(err)
	}
	if pause := w.turn(); pause != 50*time.Millisecond || db.Stats().Failing {
		t.Errorf("after recovery: %v, %+v", pause, db.Stats())
	}
}

// TestWriter_DocumentsOnce counts the insertions of documents, also beyond what
// the writer remembers.
func TestWriter_DocumentsOnce(t *testing.T) {
	t.Parallel()
	db := still(t)
	w := db.writer
	p := &core.Plan{Revision: "r"}
	for range 20 {
		db.Record(&core.Decision{ID: "d", Plan: p})
	}
	if _, err := w.drain(); err != nil {
		t.Fatal(err)
	}
	clear(w.known) // as after a long while
	db.Record(&core.Decision{ID: "d", Plan: &core.Plan{Revision: "r"}})
	if _, err := w.drain(); err != nil {
		t.Fatal(err)
	}
	n, err := w.c.number("SELECT count(*) FROM documents")
	if err != nil || n != 1 || len(w.known) != 1 {
		t.Errorf("%d documents, %d known, %v", n, len(w.known), err)
	}
}
