// Package store keeps the history, the policies and what must survive a
// restart in one SQLite file.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/core"
)

// The errors that callers tell apart; all others are trouble with the file.
var (
	// ErrNotFound is something that was never stored, or is gone.
	ErrNotFound = errors.New("not found")
	// ErrStale is a change based on something that changed meanwhile: nothing was done.
	ErrStale = errors.New("changed meanwhile")
	// ErrExists is a new thing under a name that is taken.
	ErrExists = errors.New("exists already")
	// ErrInUse is a database that another process has open.
	ErrInUse = errors.New("in use by another process")
	// ErrClosed is a use after [DB.Close].
	ErrClosed = errors.New("store is closed")
	// ErrCredentials is a name and password that do not fit; it does not say which.
	ErrCredentials = errors.New("name or password is wrong")
)

// Config says where and how to store. Only Path is required.
type Config struct {
	// Path is the database file; its folder must exist. Beside it appear
	// SQLite's -wal and -shm, and -count, which accounts for crashes.
	Path string
	// Version is the program's version, for the record of its start.
	Version string
	// Now is the calendar time, [time.Now] by default.
	Now func() time.Time
	// Logger hears of trouble, never of contents. It defaults to none.
	Logger *slog.Logger
	// MaxEvents bounds the events that wait to be written (8,192).
	MaxEvents int
	// MaxBytes bounds their size in bytes (16 MiB).
	MaxBytes int

	tuning tuning
}

// tuning is what only tests change.
type tuning struct {
	busyMS     int           // how long to wait for another program's lock
	interval   time.Duration // between looks at the mailbox
	iterations int           // of the password hash
	files      fs.FS         // the migrations
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.MaxEvents = orDefault(c.MaxEvents, 8192)
	c.MaxBytes = orDefault(c.MaxBytes, 16<<20)
	c.tuning.busyMS = orDefault(c.tuning.busyMS, 5000)
	c.tuning.interval = orDefault(c.tuning.interval, 50*time.Millisecond)
	c.tuning.iterations = orDefault(c.tuning.iterations, passwordIterations)
	if c.tuning.files == nil {
		c.tuning.files = migrationFiles
	}
	return c
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	cfg      Config
	counter  *counter
	mail     *mailbox
	writer   *writer
	readers  *sql.DB
	encoders sync.Pool
	closing  sync.Once
	closeErr error
	// activated is the highest revision number whose activation is recorded.
	activated activatedNumber
}

var _ core.Recorder = (*DB)(nil)

// readerConns is how many queries may run at a time; each holds a connection.
const readerConns = 4

// Open opens or creates the database, upgrades its schema, accounts for events
// that a crash of the process before has lost, and starts the writer. It
// returns [ErrInUse] while another process has the file, and [ErrNewer] for a
// file of a later version of the program; neither changes anything.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	cfg = cfg.withDefaults()
	db, err := open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", cfg.Path, err)
	}
	go db.writer.loop()
	return db, nil
}

func open(ctx context.Context, cfg Config) (db *DB, err error) {
	count, err := openCounter(cfg.Path + "-count")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, count.close())
		}
	}()
	if err := createFile(cfg.Path); err != nil {
		return nil, err
	}
	c, err := openConn(cfg.Path, cfg.tuning.busyMS)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.raw.Close())
		}
	}()
	w, err := newWriter(c, cfg, count)
	if err != nil {
		return nil, err
	}
	db = &DB{cfg: cfg, counter: count, mail: w.mail, writer: w}
	db.encoders.New = func() any { return &encoder{b: make([]byte, 0, 2048)} }
	if err := db.openReaders(ctx); err != nil {
		return nil, err
	}
	return db, nil
}

// createFile makes a new database unreadable for others: it holds hashes of
// passwords and who asked what. SQLite gives its side files the same mode.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// newWriter readies the file and starts a run in it.
func newWriter(c *conn, cfg Config, count *counter) (*writer, error) {
	list, err := migrations(cfg.tuning.files)
	if err != nil {
		return nil, err
	}
	if err := prepareFile(c); err != nil {
		return nil, err
	}
	if err := migrate(c, list, cfg.Now); err != nil {
		return nil, err
	}
	w := &writer{
		c: c, jobs: make(chan *job), stop: make(chan struct{}), done: make(chan struct{}),
		log: cfg.Logger, now: cfg.Now, interval: cfg.tuning.interval,
	}
	w.mail = newMailbox(cfg.MaxEvents, cfg.MaxBytes, count)
	if err := w.prepare(); err != nil {
		return nil, err
	}
	if err := w.begin(cfg.Version, count); err != nil {
		return nil, fmt.Errorf("record the start: %w", err)
	}
	if err := count.start(w.run); err != nil {
		cfg.Logger.Warn("a crash will be recorded without a count", "err", err)
	}
	return w, nil
}

func (db *DB) openReaders(ctx context.Context) error {
	dsn := fmt.Sprintf("file:%s?mode=ro&_query_only=1&_busy_timeout=%d", escapePath(db.cfg.Path), db.cfg.tuning.busyMS)
	pool, err := sql.Open("sqlite3", dsn)
	if err != nil {
		return err
	}
	pool.SetMaxOpenConns(readerConns)
	pool.SetMaxIdleConns(readerConns)
	db.readers = pool
	number, err := db.activeNumber(ctx)
	if err != nil {
		return errors.Join(err, pool.Close())
	}
	db.activated.Store(int64(number))
	return nil
}

// Record takes note of an event. It copies what it needs before it returns,
// never waits for the disk, and counts the event as dropped when too many wait;
// the history then says so itself. An activation that [DB.Activate] has already
// recorded is not recorded twice.
func (db *DB) Record(ev core.Event) {
	e, _ := db.encoders.Get().(*encoder)
	e.b = e.b[:0]
	switch ev := ev.(type) {
	case *core.Decision:
		e.decision(ev)
		db.mail.put(record{
			at: ev.At.UnixMicro(), kind: kindDecision, snapshot: ev.Snapshot, plan: ev.Plan,
		}, ev.ID, e.b)
	case *core.PolicyChange:
		if !db.activated.covers(ev) {
			db.recordOther(e, ev)
		}
	default:
		db.recordOther(e, ev)
	}
	db.encoders.Put(e)
}

func (db *DB) recordOther(e *encoder, ev core.Event) {
	if n, ok := e.event(ev); ok {
		db.mail.put(record{at: n.at.UnixMicro(), kind: n.kind, change: n.change}, n.id, e.b)
	}
}

// Flush returns once everything recorded before is in the database, or with
// the reason why it can't be written now.
func (db *DB) Flush(ctx context.Context) error { return db.writer.do(ctx, nil) }

// Close refuses further events, writes those that wait, and closes the file.
// Events that could not be written are an error, and a gap record at the next
// start. Later calls return the same error.
func (db *DB) Close() error {
	db.closing.Do(func() {
		db.mail.close()
		close(db.writer.stop)
		<-db.writer.done
		db.closeErr = errors.Join(db.writer.closeErr, db.readers.Close(), db.writer.c.raw.Close(), db.counter.close())
	})
	return db.closeErr
}

// Failure is why the audit can't be written.
type Failure struct {
	At  time.Time
	Err error
}

// Stats is the store's own health.
type Stats struct {
	// Accepted events are in the queue or in the database; Written ones are rows.
	Accepted, Written int64
	// Dropped events were refused because too many waited.
	Dropped int64
	// Pending events wait to be written.
	Pending int64
	// Failing reports that the last attempt to write failed; it goes on trying.
	Failing bool
	// Last is the newest failure, nil when there was none; it stays after recovery.
	Last *Failure
}

// Stats returns the counts since Open.
func (db *DB) Stats() Stats {
	written := db.writer.written.Load()
	accepted, dropped := db.mail.counts()
	return Stats{
		Accepted: accepted, Written: written, Dropped: dropped, Pending: accepted - written,
		Failing: db.writer.failures.Load() > 0, Last: db.writer.lastErr.Load(),
	}
}
