package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/mattn/go-sqlite3"
)

// conn is the one connection that writes. It goes around database/sql, which
// costs 2 µs a row and hides on which connection a transaction runs. It is not
// safe for concurrent use.
type conn struct{ raw *sqlite3.SQLiteConn }

func openConn(path string, busyMS int) (*conn, error) {
	dsn := (&url.URL{Scheme: "file", Opaque: escapePath(path)}).String()
	raw, err := (&sqlite3.SQLiteDriver{}).Open(fmt.Sprintf("%s?_busy_timeout=%d", dsn, busyMS))
	if err != nil {
		return nil, err
	}
	sc, ok := raw.(*sqlite3.SQLiteConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("driver connection is a %T", raw), raw.Close())
	}
	return &conn{raw: sc}, nil
}

// escapePath keeps characters with a meaning in URIs ("?", "#", "%") in the name.
func escapePath(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// exec runs statements and returns how many rows the last one changed.
func (c *conn) exec(query string, args ...driver.Value) (int64, error) {
	res, err := c.raw.Exec(query, args)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// row returns the first row of a query, nil when there is none.
func (c *conn) row(query string, args ...driver.Value) ([]driver.Value, error) {
	rows, err := c.raw.Query(query, args)
	if err != nil {
		return nil, err
	}
	dest := make([]driver.Value, len(rows.Columns()))
	err = rows.Next(dest)
	if closeErr := rows.Close(); err == nil {
		err = closeErr
	}
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	return dest, err
}

// number returns the one number that a query asks for; no row is 0.
func (c *conn) number(query string, args ...driver.Value) (int64, error) {
	row, err := c.row(query, args...)
	if err != nil || row == nil {
		return 0, err
	}
	n, _ := row[0].(int64)
	return n, nil
}

// inTx runs f in a transaction that takes the write lock at its start: one
// that reads first could fail at its first write, whatever the busy timeout.
func (c *conn) inTx(f func() error) error {
	if _, err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := f()
	if err == nil {
		_, err = c.exec("COMMIT")
	}
	if err != nil && !c.raw.AutoCommit() {
		_, rollbackErr := c.exec("ROLLBACK")
		return errors.Join(err, rollbackErr)
	}
	return err
}

// statement is a prepared statement with reusable arguments.
type statement struct {
	raw  *sqlite3.SQLiteStmt
	args []driver.NamedValue
}

func (c *conn) prepare(query string) (*statement, error) {
	raw, err := c.raw.Prepare(query)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", query, err)
	}
	st, ok := raw.(*sqlite3.SQLiteStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("driver statement is a %T", raw), raw.Close())
	}
	s := &statement{raw: st, args: make([]driver.NamedValue, st.NumInput())}
	for i := range s.args {
		s.args[i].Ordinal = i + 1
	}
	return s, nil
}

// exec runs the statement. It must not be given more values than parameters.
func (s *statement) exec(values ...driver.Value) error {
	for i, v := range values {
		s.args[i].Value = v
	}
	_, err := s.raw.ExecContext(context.Background(), s.args)
	return err
}
