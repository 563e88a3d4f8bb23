package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/audit"
	"github.com/spillway-llm/spillway/store"
)

// BenchmarkRecord is what a request pays: encoding and a copy under the lock.
func BenchmarkRecord(b *testing.B) {
	cfg := config(b).Tune(0, time.Hour, nil)
	cfg.MaxEvents, cfg.MaxBytes = 1<<16, 1<<30
	db := open(b, cfg)
	d := answered(snapshot(b, 1), plan(), 1)
	b.ReportAllocs()
	for i := range b.N {
		if i%512 == 511 {
			b.StopTimer()
			flush(b, db)
			b.StartTimer()
		}
		db.Record(d)
	}
}

// BenchmarkWriter is the whole way into the file, a row at an iteration.
func BenchmarkWriter(b *testing.B) {
	cfg := config(b).Tune(0, time.Hour, nil)
	cfg.MaxEvents, cfg.MaxBytes = 1<<16, 1<<30
	db := open(b, cfg)
	snap, p := snapshot(b, 1), plan()
	d := answered(snap, p, 1)
	b.ReportAllocs()
	for i := range b.N {
		db.Record(d)
		if i%512 == 511 {
			flush(b, db)
		}
	}
	if err := db.Flush(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkMillion measures questions to a history of a million decisions
// (10,000 with -short): common ones stop at a page, rare ones walk the table.
func BenchmarkMillion(b *testing.B) {
	rows := 1_000_000
	if testing.Short() {
		rows = 10_000
	}
	cfg := config(b)
	cfg.MaxEvents, cfg.MaxBytes = 1<<17, 1<<30
	db := open(b, cfg)
	seed(b, db, rows)
	hour := noon().Add(time.Duration(rows/2) * time.Millisecond)
	for _, q := range []struct {
		name   string
		filter audit.Filter
	}{
		{"page", audit.Filter{}},
		{"deep page", audit.Filter{Before: int64(rows / 10)}},
		{"use case", audit.Filter{UseCase: "use-3"}},
		{"failed", audit.Filter{Outcome: "failed"}},
		{"one rare kind", audit.Filter{Outcome: "billing"}},
		{"degraded", audit.Filter{Degraded: true, UseCase: "use-3"}},
		{"minute", audit.Filter{From: hour, To: hour.Add(time.Minute)}},
		{"key, none", audit.Filter{KeyID: "k-none"}},
		{"query, none", audit.Filter{Query: "zzzz"}},
		{"query an id", audit.Filter{Query: fmt.Sprintf("0d%022d", rows/2)}},
	} {
		b.Run(q.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := db.Decisions(context.Background(), q.filter); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("view limit 5", func(b *testing.B) {
		s := shell(b, cfg.Path)
		for b.Loop() {
			if _, err := s.Exec("SELECT * FROM v_decisions LIMIT 5"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			if r, err := db.Verify(context.Background()); err != nil || r.Broken != nil {
				b.Fatal(r, err)
			}
		}
	})
}

// seed records a mixed history: 40 kinds of requests, 1 % failures, 2 % fallbacks.
func seed(b *testing.B, db *store.DB, rows int) {
	b.Helper()
	snap, p := snapshot(b, 1), plan()
	for i := range rows {
		d := answered(snap, p, i)
		if i%50 == 7 {
			d = decision(snap, p, i)
		}
		if i%100 == 3 {
			d.Outcome, d.Target = core.KindNoTarget, ""
		}
		d.Facts.UseCase, d.KeyID = fmt.Sprintf("use-%d", i%5), fmt.Sprintf("k-%d", i%8)
		db.Record(d)
		if i%10_000 == 9999 {
			flush(b, db)
		}
	}
}
