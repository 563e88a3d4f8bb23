package store

import (
	"context"
	"io/fs"
	"time"
)

// Tune changes what only tests may change; zero values keep the defaults.
func (c Config) Tune(busyMS int, interval time.Duration, files fs.FS) Config {
	c.tuning.busyMS, c.tuning.interval, c.tuning.files = busyMS, interval, files
	c.tuning.iterations = 2 // 600,000 would make the suite crawl
	return c
}

// ExecAsWriter runs SQL on the writing connection, as a job.
func (db *DB) ExecAsWriter(ctx context.Context, query string) error {
	return db.writer.do(ctx, func(w *writer) error {
		_, err := w.exec(query)
		return err
	})
}

// PragmaAsWriter runs SQL on the writing connection outside a transaction.
func (db *DB) PragmaAsWriter(query string) error {
	_, err := db.writer.c.exec(query)
	return err
}

// Explain returns the query plan of a search for decisions, a step a line.
func (db *DB) Explain(ctx context.Context, query string) (plan string, err error) {
	rows, err := db.readers.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query)
	if err != nil {
		return "", err
	}
	defer closeRows(rows, &err)
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			return "", err
		}
		plan += detail + "\n"
	}
	return plan, rows.Err()
}

// PasswordIterations is the shipped figure.
const PasswordIterations = passwordIterations

// AppendText is the encoder's form of a string.
func AppendText(b []byte, s string) []byte { return appendText(b, s) }

// MaxText is the length at which strings are cut.
const MaxText = maxText
