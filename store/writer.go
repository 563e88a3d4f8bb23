package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mattn/go-sqlite3"
)

const (
	// batchRows bounds a transaction: more rows make no row cheaper, only the
	// pause longer.
	batchRows = 256
	// knownDigests bounds what the writer remembers as stored already.
	knownDigests = 4096
	maxBackoff   = 5 * time.Second
	// closeTries is how often Close tries to write what is left.
	closeTries = 3
)

// writer owns the writing connection; one goroutine runs it. Everything that
// changes the database goes through it, so nothing ever waits for a lock that
// another request holds.
type writer struct {
	c        *conn
	mail     *mailbox
	jobs     chan *job
	stop     chan struct{}
	done     chan struct{}
	log      *slog.Logger
	now      func() time.Time
	interval time.Duration
	run      string

	insertEvent, insertDocument, upsertState, deleteState, updateRun *statement

	head  head
	next  head // of the row being inserted
	row   chained
	known map[string]struct{} // digests of stored documents
	// work is being written, from position pos on; lost was refused after it.
	work batch
	pos  int
	lost loss
	// unsure is set after an error: a commit that failed may have happened.
	unsure bool
	// told is what the run row says.
	told runCounts

	written  atomic.Int64
	failures atomic.Int64 // in a row
	lastErr  atomic.Pointer[Failure]
	closeErr error
}

// runCounts is what the run row keeps.
type runCounts struct{ written, dropped, lastUS int64 }

// job is a change that a caller waits for.
type job struct {
	ctx  context.Context
	do   func(*writer) error
	done chan error
}

func (w *writer) prepare() (err error) {
	for _, p := range []struct {
		to  **statement
		sql string
	}{
		// The casts turn bytes into text without a copy and without a Go string.
		{&w.insertEvent, `INSERT INTO events (seq, at_us, kind, id, body, hash)
			VALUES (?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT), ?)`},
		{&w.insertDocument, `INSERT OR IGNORE INTO documents (digest, kind, body) VALUES (?, ?, CAST(? AS TEXT))`},
		// Of two cooldowns the later end wins (R1.4).
		{&w.upsertState, `INSERT INTO state (kind, subject, qualifier, until_us, body) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET until_us = excluded.until_us, body = excluded.body
			WHERE excluded.kind <> 'cooldown' OR excluded.until_us >= state.until_us`},
		{&w.deleteState, `DELETE FROM state WHERE kind = ? AND subject = ? AND qualifier = ?`},
		{&w.updateRun, `UPDATE run SET written = ?, dropped = ?, last_us = ?`},
	} {
		if *p.to, err = w.c.prepare(p.sql); err != nil {
			return err
		}
	}
	w.known = map[string]struct{}{}
	return w.loadHead()
}

func (w *writer) loadHead() error {
	row, err := w.c.row("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1")
	if err != nil || row == nil {
		return err
	}
	hash, _ := row[1].([]byte)
	seq, _ := row[0].(int64)
	if len(hash) != len(w.head.hash) {
		return fmt.Errorf("the hash of row %d has %d bytes", seq, len(hash))
	}
	w.head.seq = seq
	copy(w.head.hash[:], hash)
	return nil
}

// loop writes until stop is closed. It sleeps on a signal only when nothing is
// going on; under load it looks once an interval.
func (w *writer) loop() {
	defer close(w.done)
	timer := time.NewTimer(w.interval)
	defer timer.Stop()
	var pause time.Duration
	for {
		var tick <-chan time.Time
		if pause > 0 {
			timer.Reset(pause)
			tick = timer.C
		}
		select {
		case <-tick:
		case <-w.mail.wake:
		case j := <-w.jobs:
			w.serve(j)
		case <-w.stop:
			w.finish()
			return
		}
		pause = w.turn()
	}
}

// turn writes what waits and returns when to look again, 0 for not before a signal.
func (w *writer) turn() time.Duration {
	busy, err := w.drain()
	switch {
	case err != nil:
		return min(w.interval<<min(w.failures.Load()-1, 10), maxBackoff)
	case busy:
		return w.interval
	}
	return 0
}

// drain writes everything that was accepted before the call. busy is false when
// there was nothing.
func (w *writer) drain() (busy bool, err error) {
	if w.pending() {
		busy = true
		if err := w.flush(); err != nil {
			return true, w.failed(err)
		}
	}
	b, lost, ok := w.mail.take(w.work)
	w.work = b
	if !ok {
		return busy, nil
	}
	w.pos, w.lost = 0, lost
	if err := w.flush(); err != nil {
		return true, w.failed(err)
	}
	return true, nil
}

func (w *writer) pending() bool { return w.pos < len(w.work.records) || w.lost.count > 0 }

// flush writes the work and the gap behind it, and empties it.
func (w *writer) flush() error {
	for w.pending() {
		if err := w.batch(); err != nil {
			return err
		}
	}
	w.work.reset()
	w.pos = 0
	if w.failures.Swap(0) > 0 {
		w.log.Info("audit is written again", "dropped", w.told.dropped)
	}
	return nil
}

// failed notes an error. The rows stay where they are and are tried again.
func (w *writer) failed(err error) error {
	w.lastErr.Store(&Failure{At: w.now(), Err: err})
	if w.failures.Add(1) == 1 {
		w.log.Error("audit can't be written, trying again", "err", err)
	}
	return err
}

// batch writes the next rows in one transaction.
func (w *writer) batch() error {
	if err := w.settle(); err != nil || !w.pending() {
		return err
	}
	end := min(w.pos+batchRows, len(w.work.records))
	counts, gap := w.told, loss{}
	if end == len(w.work.records) {
		gap = w.lost
	}
	err := w.transact(func() error {
		for i := w.pos; i < end; i++ {
			if err := w.writeRecord(&w.work.records[i]); err != nil {
				return err
			}
			counts.lastUS = w.work.records[i].at
		}
		counts.written += int64(end - w.pos)
		if gap.count > 0 {
			counts.dropped += gap.count
			if err := w.writeGap(gapQueueFull, w.run, gap, true); err != nil {
				return err
			}
		}
		return w.updateRun.exec(counts.written, counts.dropped, counts.lastUS)
	})
	if err == nil {
		w.accept(end, counts)
	}
	return err
}

// transact runs f in a transaction. After an error of the database nothing is
// taken for granted: not the chain's end, nor which documents are stored.
func (w *writer) transact(f func() error) error {
	if err := w.settle(); err != nil {
		return err
	}
	before := w.head
	err := w.c.inTx(f)
	if err != nil {
		w.head = before
		var trouble sqlite3.Error
		if errors.As(err, &trouble) {
			w.unsure = true
			clear(w.known)
		}
	}
	return err
}

// accept takes note of a batch that is in the database.
func (w *writer) accept(end int, counts runCounts) {
	w.pos = end
	if counts.dropped > w.told.dropped {
		w.lost = loss{}
	}
	w.told = counts
	w.written.Store(counts.written)
}

// settle finds out, after an error, whether the transaction was committed after
// all, so that no row is written twice.
func (w *writer) settle() error {
	if !w.unsure {
		return nil
	}
	row, err := w.c.row("SELECT written, dropped, last_us FROM run")
	if err != nil {
		return err
	}
	if row == nil {
		return errors.New("the run row is gone")
	}
	if err := w.loadHead(); err != nil {
		return err
	}
	var have runCounts
	have.written, _ = row[0].(int64)
	have.dropped, _ = row[1].(int64)
	have.lastUS, _ = row[2].(int64)
	w.accept(w.pos+int(have.written-w.told.written), have)
	w.unsure = false
	return nil
}

// writeRecord writes one event, the documents that it names first, and what it
// does to the state.
func (w *writer) writeRecord(r *record) error {
	w.row.open(w.head, r.at, r.kind, w.work.bytes[r.start:r.mid])
	b := append(w.row.buf, w.work.bytes[r.mid:r.end]...)
	if r.kind == kindDecision {
		e := encoder{b: b}
		if r.plan != nil {
			digest, body := r.plan.Document()
			if err := w.writeDocument("plan", digest, body); err != nil {
				return err
			}
			e.text("plan", digest)
		}
		if r.snapshot != nil {
			digest, body := r.snapshot.Document()
			if err := w.writeDocument("snapshot", digest, body); err != nil {
				return err
			}
			e.text("snapshot", digest)
		}
		b = append(e.b, '}')
	}
	w.row.buf = b
	if err := w.writeRow(r.at, r.kind); err != nil {
		return err
	}
	return w.writeChange(r.change)
}

// writeRow inserts the row that w.row holds and moves the head.
func (w *writer) writeRow(at int64, kind string) error {
	w.next = w.row.next(w.head)
	if err := w.insertEvent.exec(w.next.seq, at, kind, w.row.idBytes(), w.row.bodyBytes(), w.next.hash[:]); err != nil {
		return err
	}
	w.head = w.next
	return nil
}

// append writes an event that did not come through the mailbox.
func (w *writer) append(at int64, kind, id string, body []byte) error {
	w.row.open(w.head, at, kind, []byte(id))
	w.row.buf = append(w.row.buf, body...)
	return w.writeRow(at, kind)
}

// writeDocument stores a document unless it is known to be there.
func (w *writer) writeDocument(kind, digest string, body []byte) error {
	if _, ok := w.known[digest]; ok {
		return nil
	}
	if err := w.insertDocument.exec(digest, kind, body); err != nil {
		return err
	}
	if len(w.known) >= knownDigests {
		clear(w.known)
	}
	w.known[digest] = struct{}{}
	return nil
}

func (w *writer) writeChange(c *change) error {
	switch {
	case c == nil:
		return nil
	case c.body == "":
		return w.deleteState.exec(c.kind, c.subject, c.qualifier)
	}
	return w.upsertState.exec(c.kind, c.subject, c.qualifier, c.untilUS, c.body)
}

// do has the writer run f in a transaction of its own, after everything that
// was accepted before. When ctx ends meanwhile, f may still be done, or running.
func (w *writer) do(ctx context.Context, f func(*writer) error) error {
	j := &job{ctx: ctx, do: f, done: make(chan error, 1)}
	select {
	case w.jobs <- j:
	case <-w.done:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serve runs a job. Its rows must not overtake accepted events, but events that
// can't be written must not hold it up for ever either: it then fails by itself.
func (w *writer) serve(j *job) {
	if err := j.ctx.Err(); err != nil {
		j.done <- err
		return
	}
	_, err := w.drain()
	if err == nil && j.do != nil {
		err = w.transact(func() error { return j.do(w) })
	}
	j.done <- err
}

// finish writes what is left and says goodbye.
func (w *writer) finish() {
	for try := 1; ; try++ {
		_, err := w.drain()
		if err == nil {
			err = w.transact(w.writeStopped)
		}
		if err == nil || try == closeTries {
			if err != nil {
				w.closeErr = fmt.Errorf("write the last events: %w", err)
			}
			return
		}
		pause := time.NewTimer(w.interval << try)
		<-pause.C
	}
}

// exec is a shorthand for jobs.
func (w *writer) exec(query string, args ...driver.Value) (int64, error) {
	return w.c.exec(query, args...)
}
