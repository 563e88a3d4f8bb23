package main

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/store"
)

func openStore(t *testing.T) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), databaseName)})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return db
}

func openOperators(t *testing.T, db *store.DB) *operators {
	t.Helper()
	o, err := newOperators(t.Context(), db)
	if err != nil {
		t.Fatalf("newOperators: %v", err)
	}
	return o
}

func TestOperators_OneTimePassword(t *testing.T) {
	t.Parallel()
	db := openStore(t)
	o := openOperators(t, db)
	first := o.password()
	if len(first) < 20 {
		t.Fatalf("the one-time password %q is guessable", first)
	}
	for _, try := range [][2]string{{"admin", "wrong"}, {"root", first}, {"admin", ""}} {
		if _, err := o.SignIn(t.Context(), try[0], try[1]); !errors.Is(err, console.ErrCredentials) {
			t.Errorf("SignIn(%q, %q) = %v, want ErrCredentials", try[0], try[1], err)
		}
	}
	op, err := o.SignIn(t.Context(), "admin", first)
	if err != nil || !op.MustSetPassword {
		t.Fatalf("SignIn = %+v, %v, want a sign-in that must choose a password", op, err)
	}
	if err := o.SetPassword(t.Context(), "admin", "a long enough password"); err != nil {
		t.Fatalf("SetPassword: %v", err)
	}
	if _, err := o.SignIn(t.Context(), "admin", first); !errors.Is(err, console.ErrCredentials) {
		t.Errorf("the one-time password works a second time: %v", err)
	}
	op, err = o.SignIn(t.Context(), "admin", "a long enough password")
	if err != nil || op.MustSetPassword {
		t.Errorf("SignIn with the chosen password = %+v, %v", op, err)
	}
	if again := openOperators(t, db); again.password() != "" {
		t.Error("a new one-time password although one was chosen")
	}
}

// Whoever missed the password finds a new one at the next start, and the old
// one is void.
func TestOperators_MissedPassword(t *testing.T) {
	t.Parallel()
	db := openStore(t)
	missed := openOperators(t, db).password()
	again := openOperators(t, db)
	if again.password() == "" || again.password() == missed {
		t.Errorf("password after a restart = %q, before %q", again.password(), missed)
	}
	if _, err := again.SignIn(t.Context(), "admin", missed); !errors.Is(err, console.ErrCredentials) {
		t.Errorf("the missed password still works: %v", err)
	}
}

func TestOperators_OnlyTheFirstNameIsFree(t *testing.T) {
	t.Parallel()
	o := openOperators(t, openStore(t))
	if err := o.SetPassword(t.Context(), "mallory", "a long enough password"); !errors.Is(err, console.ErrNotFound) {
		t.Errorf("SetPassword of a stranger = %v, want ErrNotFound", err)
	}
	if o.password() == "" {
		t.Error("the refused change voided the one-time password")
	}
}
