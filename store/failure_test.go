package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/store"
)

func fullDisk(t *testing.T, db *store.DB) (restore func()) {
	t.Helper()
	if err := db.PragmaAsWriter("PRAGMA max_page_count = 1"); err != nil { // SQLite takes the present size
		t.Fatal(err)
	}
	return func() {
		if err := db.PragmaAsWriter("PRAGMA max_page_count = 1000000"); err != nil {
			t.Fatal(err)
		}
	}
}

// fillUp records until the disk refuses: a few pages may still have room.
func fillUp(t *testing.T, db *store.DB) (recorded int) {
	t.Helper()
	for n := range 100 {
		for i := range 20 {
			db.Record(decision(nil, nil, 20*n+i))
		}
		if db.Flush(context.Background()) != nil {
			return 20 * (n + 1)
		}
	}
	t.Fatal("the disk never got full")
	return 0
}

// TestWriter_DiskFull is field-failures R39's last line and R35: nothing
// blocks, refused events are counted, and it recovers by itself.
func TestWriter_DiskFull(t *testing.T) {
	t.Parallel()
	cfg := config(t).Tune(0, time.Hour, nil)
	cfg.MaxEvents = 50
	db := open(t, cfg)
	restore := fullDisk(t, db)
	recorded := fillUp(t, db)
	for i := range 200 { // far more than there is room for
		db.Record(decision(nil, nil, recorded+i))
	}
	recorded += 200
	s := db.Stats()
	if !s.Failing || s.Last == nil || s.Dropped == 0 || s.Pending == 0 || s.Accepted+s.Dropped != int64(recorded) {
		t.Errorf("while full: %+v", s)
	}
	if _, err := db.SaveDraft(context.Background(), store.Draft{ID: "d"}); err == nil {
		t.Error("a draft was saved on a full disk")
	}
	restore()
	flush(t, db)
	s = db.Stats()
	if s.Failing || s.Pending != 0 || s.Written != s.Accepted || s.Last == nil {
		t.Errorf("after recovery: %+v", s)
	}
	var missing int64
	for _, g := range gaps(t, db) {
		missing += g.Missing
		if g.Cause != "queue_full" || !g.Exact || g.FromUS == 0 || g.ToUS < g.FromUS {
			t.Errorf("gap: %+v", g)
		}
	}
	if missing != s.Dropped {
		t.Errorf("gaps name %d, %d were dropped", missing, s.Dropped)
	}
	if r, err := db.Verify(context.Background()); err != nil || r.Broken != nil {
		t.Errorf("verify: %+v, %v", r, err)
	}
}

func TestWriter_LockedByAnotherProgram(t *testing.T) {
	t.Parallel()
	cfg := config(t).Tune(1, time.Hour, nil)
	db := open(t, cfg)
	other, err := shell(t, cfg.Path).Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(context.Background(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	db.Record(decision(snapshot(t, 1), plan(), 1))
	if err := db.Flush(context.Background()); err == nil {
		t.Fatal("written through another program's lock")
	}
	if _, err := db.Decisions(context.Background(), auditFilter("")); err != nil {
		t.Errorf("reading while locked: %v", err)
	}
	if _, err := other.ExecContext(context.Background(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	flush(t, db)
	if s := db.Stats(); s.Written != 1 || s.Failing {
		t.Errorf("stats: %+v", s)
	}
}

// TestWriter_LogsOnce holds that a full disk does not fill the log as well.
func TestWriter_LogsOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer // written by the writer alone, read after Close
	cfg := config(t).Tune(0, time.Hour, nil)
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	db := open(t, cfg)
	restore := fullDisk(t, db)
	fillUp(t, db)
	for range 5 {
		if err := db.Flush(context.Background()); err == nil {
			t.Fatal("the disk has room")
		}
	}
	restore()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"audit can't be written": 1, "audit is written again": 1, "k-team": 0} {
		if got := strings.Count(log.String(), text); got != want {
			t.Errorf("%q is %d times in the log, want %d:\n%s", text, got, want, log.String())
		}
	}
}

// TestWriter_CloseOnFullDisk gives up after a few tries and says so; the next
// start accounts for what was lost.
func TestWriter_CloseOnFullDisk(t *testing.T) {
	t.Parallel()
	cfg := config(t).Tune(0, time.Millisecond, nil)
	db, err := store.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	fullDisk(t, db)
	recorded := fillUp(t, db)
	if err := db.Close(); err == nil || !strings.Contains(err.Error(), "write the last events") {
		t.Errorf("close: %v", err)
	}
	got := gaps(t, open(t, cfg))
	if len(got) != 1 || !got[0].Exact || got[0].Missing+decisions(t, cfg.Path) != int64(recorded) {
		t.Errorf("gaps %+v, %d rows of %d", got, decisions(t, cfg.Path), recorded)
	}
}

// TestWriter_RetriesByItself needs no further event and no Flush to recover.
func TestWriter_RetriesByItself(t *testing.T) {
	t.Parallel()
	cfg := config(t).Tune(0, time.Millisecond, nil)
	db := open(t, cfg)
	restore := fullDisk(t, db)
	fillUp(t, db)
	restore()
	deadline := time.After(30 * time.Second)
	for tick := time.NewTicker(time.Millisecond); db.Stats().Pending > 0; {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("still failing: %+v", db.Stats())
		}
	}
}

// TestWriter_ForeignRow is an insertion by hand: it is not overwritten, the
// chain goes on behind it, and Verify names it.
func TestWriter_ForeignRow(t *testing.T) {
	t.Parallel()
	cfg := config(t).Tune(0, time.Hour, nil)
	db := open(t, cfg)
	if _, err := shell(t, cfg.Path).Exec("INSERT INTO events SELECT 2, at_us, kind, id, body, hash FROM events"); err != nil {
		t.Fatal(err)
	}
	db.Record(decision(nil, nil, 1))
	_ = db.Flush(context.Background()) // the writer may find out now or before
	flush(t, db)
	r, err := db.Verify(context.Background())
	if err != nil || r.Broken == nil || r.Broken.Seq != 2 || db.Stats().Written != 1 {
		t.Errorf("verify: %+v, %v", r, err)
	}
}

func TestQueue_BoundedByBytes(t *testing.T) {
	t.Parallel()
	cfg := config(t).Tune(0, time.Hour, nil)
	cfg.MaxBytes = 10_000
	db := open(t, cfg)
	restore := fullDisk(t, db)
	fillUp(t, db)
	for i := range 100 {
		db.Record(decision(nil, nil, i))
	}
	if s := db.Stats(); s.Dropped == 0 || s.Pending > 2*20 {
		t.Errorf("stats: %+v", s)
	}
	restore()
	flush(t, db)
}

// TestQueue_Swaps holds that a queue many times the transaction's size, filled
// by several goroutines, arrives whole and in order.
func TestQueue_Swaps(t *testing.T) {
	t.Parallel()
	db := open(t, config(t))
	for i := range 3000 {
		db.Record(&core.Decision{ID: fmt.Sprintf("%06d", i)})
	}
	flush(t, db)
	list, err := db.Decisions(context.Background(), auditFilter(""))
	if err != nil || len(list) != 50 || list[0].ID != "002999" || list[49].ID != "002950" {
		t.Errorf("%d rows, %v", len(list), err)
	}
}

func TestFlush_ContextEnds(t *testing.T) {
	t.Parallel()
	db := open(t, config(t))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := db.Flush(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
