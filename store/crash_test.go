package store_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/store"
)

// childVariable carries the database's path to a child process, and
// childTask what it does there until it is killed.
const (
	childVariable = "SPILLWAY_TEST_STORE"
	childTask     = "SPILLWAY_TEST_TASK"
)

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv(childVariable); path != "" {
		if err := child(path, os.Getenv(childTask)); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1) // a child that is not killed has failed
	}
	os.Exit(m.Run())
}

func child(path, task string) error {
	cfg := store.Config{Path: path, Version: "v0-test"}
	if task == "known" {
		cfg = cfg.Tune(0, time.Hour, nil) // nothing is written after the first look
	}
	if task == "full" {
		cfg = cfg.Tune(0, time.Hour, nil)
		cfg.MaxEvents = 10
	}
	db, err := store.Open(context.Background(), cfg)
	if err != nil {
		return err
	}
	db.Record(&core.Transition{At: time.Now(), Target: "t1", UseCase: "assistant", To: circuit.Open, Cause: "overloaded", Until: time.Now().Add(time.Hour), Opens: 3})
	if err := db.Flush(context.Background()); err != nil {
		return err
	}
	if task == "load" {
		return underLoad(db, path)
	}
	if task == "spend" {
		return spendUntilKilled(db)
	}
	// Signals that are still under way may wake the writer a few times more; at
	// last it waits for its interval, and an event stays.
	total := 0
	for db.Stats().Pending == 0 {
		total++
		db.Record(&core.Decision{ID: fmt.Sprint(total), At: time.Now()})
		for range 10_000 {
			runtime.Gosched()
		}
	}
	for range 100 {
		total++
		db.Record(&core.Decision{ID: fmt.Sprint(total), At: time.Now()})
	}
	fmt.Println("ready", total)
	select {}
}

// underLoad records from four goroutines and notes, in a file of its own, how
// many calls have returned.
func underLoad(db *store.DB, path string) error {
	truth, err := os.Create(path + "-truth")
	if err != nil {
		return err
	}
	var n atomic.Int64
	var mu sync.Mutex // guards ready and the file
	var ready bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				db.Record(&core.Decision{ID: fmt.Sprint(i), At: time.Now(), Tags: strings.Repeat("x", 500)})
				mu.Lock()
				// A batch must be in the file, so that there is something to lose the rest of.
				if n.Add(1) >= 3000 && !ready && db.Stats().Written >= 500 {
					ready = true
					fmt.Println("ready", n.Load())
				}
				var b [8]byte
				binary.LittleEndian.PutUint64(b[:], uint64(n.Load()))
				_, _ = truth.WriteAt(b[:], 0)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return nil
}

// killChild runs a child until it is ready, kills it with SIGKILL, and returns
// how many decisions it says it had recorded.
func killChild(t *testing.T, path, task string) (recorded int64) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childVariable+"="+path, childTask+"="+task)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_ = c.Process.Kill()
	_ = c.Wait()
	if _, scanErr := fmt.Sscanf(line, "ready %d", &recorded); scanErr != nil {
		t.Fatalf("child said %q, %v", line, err)
	}
	return recorded
}

type gap struct {
	Cause   string `json:"cause"`
	Missing int64  `json:"missing"`
	Exact   bool   `json:"exact"`
	FromUS  int64  `json:"from_us"`
	ToUS    int64  `json:"to_us"`
}

func gaps(t *testing.T, db *store.DB) (list []gap) {
	t.Helper()
	events, err := db.Events(context.Background(), 0, 0, []string{"gap"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		var g gap
		if err := json.Unmarshal(e.Body, &g); err != nil {
			t.Fatal(err)
		}
		list = append(list, g)
	}
	return list
}

// decisions counts the rows.
func decisions(t *testing.T, path string) (n int64) {
	t.Helper()
	if err := shell(t, path).QueryRow("SELECT count(*) FROM events WHERE kind = 'decision'").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// reopen opens what a killed process left, and checks what must always hold.
func reopen(t *testing.T, cfg store.Config) *store.DB {
	t.Helper()
	db := open(t, cfg)
	r, err := db.Verify(context.Background())
	if err != nil || r.Broken != nil {
		t.Errorf("verify after a kill: %+v, %v", r, err)
	}
	s, err := db.LoadState(context.Background())
	if err != nil || len(s.Circuits) != 1 || s.Circuits[0].Target != "t1" || s.Circuits[0].Opens != 3 {
		t.Errorf("the open circuit did not survive: %+v, %v", s, err)
	}
	return db
}

func TestCrash_GapIsExact(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Now = time.Now
	recorded := killChild(t, cfg.Path, "known")
	db := reopen(t, cfg)
	got := gaps(t, db)
	if len(got) != 1 || got[0].Cause != "crash" || !got[0].Exact || got[0].FromUS > got[0].ToUS {
		t.Fatalf("gaps: %+v", got)
	}
	if rows := decisions(t, cfg.Path); rows+got[0].Missing != recorded || got[0].Missing < 100 {
		t.Errorf("%d rows and %d missing of %d", rows, got[0].Missing, recorded)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if again := gaps(t, open(t, cfg)); len(again) != 1 {
		t.Errorf("the gap was recorded again: %+v", again)
	}
}

func TestCrash_UnderLoad(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Now = time.Now
	killChild(t, cfg.Path, "load")
	db := reopen(t, cfg)
	var missing int64
	for _, g := range gaps(t, db) {
		if missing += g.Missing; !g.Exact {
			t.Errorf("gap: %+v", g)
		}
		if g.Cause == "crash" && g.Missing > 1000 && g.ToUS-g.FromUS > 1_000_000 {
			t.Errorf("more than 1,000 rows and more than 1 s are lost: %+v", g)
		}
	}
	rows := decisions(t, cfg.Path)
	b, err := os.ReadFile(cfg.Path + "-truth")
	if err != nil || len(b) != 8 {
		t.Fatal(len(b), err)
	}
	truth := int64(binary.LittleEndian.Uint64(b))
	// Each of the four may have been between its Record and its note.
	if surplus := rows + missing - truth; surplus < 0 || surplus > 4 {
		t.Errorf("%d rows + %d missing, but %d calls had returned", rows, missing, truth)
	}
	if rows == 0 {
		t.Error("nothing was written at all")
	}
}

func TestCrash_RefusedEventsAreCounted(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Now = time.Now
	recorded := killChild(t, cfg.Path, "full")
	got := gaps(t, reopen(t, cfg))
	var lost, refused int64
	for _, g := range got {
		if g.Cause == "crash" {
			lost += g.Missing
		} else {
			refused += g.Missing
		}
	}
	rows := decisions(t, cfg.Path)
	if rows+lost+refused != recorded || refused == 0 {
		t.Errorf("%d rows, gaps %+v: together not %d", rows, got, recorded)
	}
}

// TestCrash_WithoutCount loses the counter file as well: the gap admits that it
// does not know.
func TestCrash_WithoutCount(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"removed":    os.Remove,
		"truncated":  func(path string) error { return os.Truncate(path, 3) },
		"other_run":  func(path string) error { return overwrite(path, 8, "another run") },
		"other_boot": func(path string) error { return overwrite(path, 24, "reboot") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t)
			cfg.Now = time.Now
			killChild(t, cfg.Path, "known")
			if err := spoil(cfg.Path + "-count"); err != nil {
				t.Fatal(err)
			}
			got := gaps(t, reopen(t, cfg))
			if len(got) != 1 || got[0].Exact || got[0].Missing != 0 || got[0].Cause != "crash" {
				t.Errorf("gaps: %+v", got)
			}
		})
	}
}

func overwrite(path string, at int64, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt([]byte(text), at); err != nil {
		return err
	}
	return f.Close()
}
