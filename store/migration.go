package store

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// applicationID marks a file as ours ("SPWY"), so that another program's
// database is never migrated by mistake.
const applicationID = 0x53505759

// ErrNewer marks a database that a newer program has written.
var ErrNewer = errors.New("written by a newer version")

// migration is one step of the schema.
type migration struct {
	number int
	name   string
	sql    string
}

// migrations returns the embedded steps in order. Numbers count from 1 without
// a gap; file names are like 0001_history.sql.
func migrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	list := make([]migration, 0, len(names))
	for i, file := range names {
		base := strings.TrimSuffix(path.Base(file), ".sql")
		digits, name, ok := strings.Cut(base, "_")
		n, err := strconv.Atoi(digits)
		if err != nil || !ok || n != i+1 {
			return nil, fmt.Errorf("migration %s: want number %d and a name", file, i+1)
		}
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, err
		}
		list = append(list, migration{number: n, name: name, sql: string(text)})
	}
	return list, nil
}

// prepareFile sets what only a new file can be given, and what every
// connection needs. NORMAL can lose the newest transactions at a power loss,
// never at a crash of the process, and never damages the file.
func prepareFile(c *conn) error {
	tables, err := c.number("SELECT count(*) FROM sqlite_master")
	if err != nil {
		return err
	}
	id, err := c.number("PRAGMA application_id")
	if err != nil {
		return err
	}
	if tables > 0 && id != applicationID {
		return errors.New("it is another program's database: choose another file or data folder")
	}
	if tables == 0 {
		// Incremental vacuum can't be turned on later without rewriting the file.
		_, err = c.exec(fmt.Sprintf("PRAGMA page_size=8192; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA application_id=%d", applicationID))
		if err != nil {
			return err
		}
	}
	_, err = c.exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=67108864; PRAGMA foreign_keys=ON")
	return err
}

// migrate brings the schema up to date, one transaction a step.
func migrate(c *conn, list []migration, now func() time.Time) error {
	_, err := c.exec(`CREATE TABLE IF NOT EXISTS schema_migrations (
		number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_us INTEGER NOT NULL) STRICT`)
	if err != nil {
		return err
	}
	have, err := c.number("SELECT coalesce(max(number), 0) FROM schema_migrations")
	if err != nil {
		return err
	}
	if have > int64(len(list)) {
		return fmt.Errorf("its schema is version %d, this program knows version %d: start the newer program again, or use another data folder: %w",
			have, len(list), ErrNewer)
	}
	for _, m := range list[have:] {
		err := c.inTx(func() error {
			if _, err := c.exec(m.sql); err != nil {
				return err
			}
			_, err := c.exec("INSERT INTO schema_migrations (number, name, applied_us) VALUES (?, ?, ?)",
				int64(m.number), m.name, now().UnixMicro())
			return err
		})
		if err != nil {
			return fmt.Errorf("migrate to %04d_%s: %w", m.number, m.name, err)
		}
	}
	return nil
}
