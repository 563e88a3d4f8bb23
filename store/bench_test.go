package store_test

import (
	"context"
	"testing"
	"time"
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
