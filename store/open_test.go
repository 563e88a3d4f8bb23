package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/spillway-llm/spillway/store"
)

func TestOpen_NewFile(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	open(t, cfg)
	s := shell(t, cfg.Path)
	for query, want := range map[string]string{
		"PRAGMA page_size": "8192", "PRAGMA journal_mode": "wal", "PRAGMA auto_vacuum": "2", "PRAGMA integrity_check": "ok",
		"SELECT count(*) = max(number) AND min(number) = 1 FROM schema_migrations":          "1",
		"SELECT name FROM schema_migrations WHERE number = 1 AND applied_us > 0":            "history",
		"SELECT body ->> '$.version' || ' ' || (body ->> '$.what') FROM events WHERE seq=1": "v0-test started",
	} {
		var got string
		if err := s.QueryRow(query).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %q, %v", query, got, err)
		}
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-count"} {
		info, err := os.Stat(cfg.Path + suffix)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("spillway.db%s: %v, %v: others can read it", suffix, info.Mode(), err)
		}
	}
}

func TestOpen_AgainKeepsEverything(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	for i := range 3 {
		db := open(t, cfg)
		db.Record(decision(snapshot(t, 1), plan(), i))
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	db := open(t, cfg)
	list, err := db.Decisions(context.Background(), auditFilter(""))
	if err != nil || len(list) != 3 {
		t.Errorf("%d decisions, %v", len(list), err)
	}
	r, err := db.Verify(context.Background())
	if err != nil || r.Broken != nil || r.Events != 3*3+1 || r.Documents != 2 {
		t.Errorf("verify: %+v, %v", r, err)
	}
	gaps, err := db.Events(context.Background(), 0, 0, []string{"gap"}, 0)
	if err != nil || len(gaps) != 0 {
		t.Errorf("gaps after orderly stops: %v, %v", gaps, err)
	}
}

func TestOpen_Refusals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spoil func(t *testing.T, cfg store.Config)
		is    error
		says  []string
	}{
		"newer_schema": {
			func(t *testing.T, cfg store.Config) {
				if err := open(t, cfg).Close(); err != nil {
					t.Fatal(err)
				}
				if _, err := shell(t, cfg.Path).Exec("INSERT INTO schema_migrations VALUES (41, 'future', 1)"); err != nil {
					t.Fatal(err)
				}
			}, store.ErrNewer, []string{"version 41", "this program knows version", "spillway.db"},
		},
		"in_use": {func(t *testing.T, cfg store.Config) { open(t, cfg) }, store.ErrInUse, []string{"in use by another process"}},
		"another_programs": {func(t *testing.T, cfg store.Config) {
			if _, err := shell(t, cfg.Path).Exec("CREATE TABLE recipes (name TEXT)"); err != nil {
				t.Fatal(err)
			}
		}, nil, []string{"another program's database"}},
		"no_database": {func(t *testing.T, cfg store.Config) {
			if err := os.WriteFile(cfg.Path, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, nil, []string{"not a database"}},
		"no_folder": {func(t *testing.T, cfg store.Config) {
			if err := os.Remove(filepath.Dir(cfg.Path)); err != nil {
				t.Fatal(err)
			}
		}, os.ErrNotExist, []string{"no such file or directory"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t)
			tt.spoil(t, cfg)
			before, _ := os.ReadFile(cfg.Path)
			db, err := store.Open(context.Background(), cfg)
			if err == nil {
				t.Fatal("opened", db.Close())
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v is not %v", err, tt.is)
			}
			for _, s := range tt.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%v does not say %q", err, s)
				}
			}
			if after, _ := os.ReadFile(cfg.Path); string(after) != string(before) {
				t.Error("the refused file was changed")
			}
		})
	}
}

// TestOpen_FailedMigration holds that a step is applied whole or not at all, and
// that the next start with a mended step goes on from there.
func TestOpen_FailedMigration(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	shipped := os.DirFS(".")
	files := fstest.MapFS{}
	for _, name := range []string{"0001_history", "0002_views", "0003_policies", "0004_access"} {
		text, err := os.ReadFile("migrations/" + name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		files["migrations/"+name+".sql"] = &fstest.MapFile{Data: text}
	}
	files["migrations/0005_more.sql"] = &fstest.MapFile{Data: []byte("CREATE TABLE half (x TEXT); CREATE TABLE half (x TEXT);")}
	_, err := store.Open(context.Background(), cfg.Tune(0, 0, files))
	if err == nil || !strings.Contains(err.Error(), "0005_more") {
		t.Fatalf("a broken step: %v", err)
	}
	db := open(t, cfg.Tune(0, 0, shipped))
	if err := db.ExecAsWriter(context.Background(), "CREATE TABLE half (x TEXT)"); err != nil {
		t.Errorf("half a step was left behind: %v", err)
	}
}

func TestOpen_MigrationNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"0002_first.sql", "first.sql", "0001.sql"} {
		files := fstest.MapFS{"migrations/" + name: &fstest.MapFile{Data: []byte("SELECT 1")}}
		_, err := store.Open(context.Background(), config(t).Tune(0, 0, files))
		if err == nil || !strings.Contains(err.Error(), "want number 1 and a name") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpen_PathWithURICharacters(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Path = filepath.Join(filepath.Dir(cfg.Path), "100% #1 ?mode=memory.db")
	db := open(t, cfg)
	db.Record(decision(nil, nil, 1))
	flush(t, db)
	if _, err := os.Stat(cfg.Path); err != nil {
		t.Error(err)
	}
	if list, err := db.Decisions(context.Background(), auditFilter("")); err != nil || len(list) != 1 {
		t.Errorf("%d rows, %v", len(list), err)
	}
}
