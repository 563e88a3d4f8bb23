package store_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/store"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	db := open(t, cfg)
	ctx := context.Background()
	secret := "sk-spillway-abcdefghijklmnopqrstuv"
	k := store.CallerKey{ID: "k1", Name: "search", Plan: "paid", Tenant: "acme", Attributes: store.KeyAttributes{UseCases: []string{"assistant", "batch"}, Language: "ja"}}
	added, err := db.AddKey(ctx, k, secret)
	if err != nil || added.Hash != store.HashKey(secret) || !added.CreatedAt.Equal(noon()) {
		t.Fatalf("add: %+v, %v", added, err)
	}
	if _, err := db.AddKey(ctx, k, "another-key-of-good-length"); !errors.Is(err, store.ErrExists) {
		t.Errorf("same id: %v", err)
	}
	if _, err := db.AddKey(ctx, store.CallerKey{ID: "k2"}, secret); !errors.Is(err, store.ErrExists) {
		t.Errorf("same key: %v", err)
	}
	if _, err := db.AddKey(ctx, store.CallerKey{ID: "k3"}, "short"); err == nil {
		t.Error("a guessable key was accepted")
	}
	for range 2 {
		if err := db.DisableKey(ctx, "k1"); err != nil {
			t.Error(err)
		}
	}
	if err := db.DisableKey(ctx, "k9"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("disable an unknown key: %v", err)
	}
	list, err := db.Keys(ctx)
	if err != nil || len(list) != 1 {
		t.Fatalf("list: %+v, %v", list, err)
	}
	got := list[0]
	if got.Hash != store.HashKey(secret) || got.Plan != "paid" || got.Tenant != "acme" || got.Attributes.Language != "ja" ||
		len(got.Attributes.UseCases) != 2 || !got.DisabledAt.Equal(noon()) {
		t.Errorf("key: %+v", got)
	}
	for _, suffix := range []string{"", "-wal"} {
		if b, err := os.ReadFile(cfg.Path + suffix); err != nil || strings.Contains(string(b), secret) {
			t.Errorf("the key itself is in the file%s: %v", suffix, err)
		}
	}
}

func TestOperators(t *testing.T) {
	t.Parallel()
	db := open(t, config(t))
	ctx := context.Background()
	if err := db.AddOperator(ctx, "ann", "one-time", true); err != nil {
		t.Fatal(err)
	}
	if err := db.AddOperator(ctx, "ann", "other", false); !errors.Is(err, store.ErrExists) {
		t.Errorf("same name: %v", err)
	}
	if op, err := db.SignIn(ctx, "ann", "one-time"); err != nil || !op.MustChange || op.Name != "ann" {
		t.Errorf("sign in: %+v, %v", op, err)
	}
	for name, password := range map[string]string{"ann": "wrong", "bob": "one-time", "": ""} {
		if _, err := db.SignIn(ctx, name, password); !errors.Is(err, store.ErrCredentials) || strings.Contains(err.Error(), "bob") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := db.SetPassword(ctx, "ann", "chosen"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.SignIn(ctx, "ann", "one-time"); !errors.Is(err, store.ErrCredentials) {
		t.Errorf("the one-time password still works: %v", err)
	}
	if op, err := db.SignIn(ctx, "ann", "chosen"); err != nil || op.MustChange || !op.ChangedAt.Equal(noon()) {
		t.Errorf("sign in: %+v, %v", op, err)
	}
	if err := db.SetPassword(ctx, "bob", "chosen"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("unknown operator: %v", err)
	}
	if list, err := db.Operators(ctx); err != nil || len(list) != 1 || list[0].Name != "ann" {
		t.Errorf("list: %+v, %v", list, err)
	}
	if store.PasswordIterations < 600_000 {
		t.Errorf("%d iterations", store.PasswordIterations)
	}
}

// clock is a wall clock that tests move.
type clock struct{ offset atomic.Int64 }

func (c *clock) now() time.Time          { return noon().Add(time.Duration(c.offset.Load())) }
func (c *clock) advance(d time.Duration) { c.offset.Add(int64(d)) }

func TestSessions_Limits(t *testing.T) {
	t.Parallel()
	var c clock
	cfg := config(t)
	cfg.Now = c.now
	db := open(t, cfg)
	ctx := context.Background()
	hash := store.HashToken("token")
	if err := db.SaveSession(ctx, store.Session{Hash: hash, Operator: "ann", MustChange: true, UserAgent: "Firefox"}); err != nil {
		t.Fatal(err)
	}
	s, err := db.Session(ctx, hash)
	if err != nil || s.Operator != "ann" || !s.MustChange || s.UserAgent != "Firefox" || !s.CreatedAt.Equal(noon()) || s.Hash != hash {
		t.Errorf("session: %+v, %v", s, err)
	}
	for range 23 { // used every half hour but a second, until its lifetime ends
		c.advance(store.SessionIdle - time.Second)
		if err := db.TouchSession(ctx, hash); err != nil {
			t.Fatalf("after %v: %v", c.now().Sub(noon()), err)
		}
	}
	if s, err := db.Session(ctx, hash); err != nil || !s.SeenAt.Equal(c.now()) {
		t.Errorf("after 23 touches: %+v, %v", s, err)
	}
	c.advance(store.SessionIdle)
	if _, err := db.Session(ctx, hash); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("idle for half an hour: %v", err)
	}
	if err := db.TouchSession(ctx, hash); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("touched back to life: %v", err)
	}
	old := store.Session{Hash: store.HashToken("old"), Operator: "ann", CreatedAt: c.now().Add(-store.SessionLifetime), SeenAt: c.now()}
	if err := db.SaveSession(ctx, old); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Session(ctx, old.Hash); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("12 h old: %v", err)
	}
}

func TestSessions_End(t *testing.T) {
	t.Parallel()
	db := open(t, config(t))
	ctx := context.Background()
	for _, s := range []struct{ token, operator string }{{"a1", "ann"}, {"a2", "ann"}, {"a3", "ann"}, {"b1", "bob"}} {
		if err := db.SaveSession(ctx, store.Session{Hash: store.HashToken(s.token), Operator: s.operator}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.EndSession(ctx, store.HashToken("a1")); err != nil {
		t.Error(err)
	}
	if err := db.EndSession(ctx, store.HashToken("unknown")); err != nil {
		t.Error(err)
	}
	if list, err := db.Sessions(ctx, "ann"); err != nil || len(list) != 2 {
		t.Errorf("ann has %d, %v", len(list), err)
	}
	if err := db.EndSessions(ctx, "ann", store.HashToken("a2")); err != nil {
		t.Error(err)
	}
	list, err := db.Sessions(ctx, "")
	if err != nil || len(list) != 2 {
		t.Fatalf("%d left, %v", len(list), err)
	}
	for _, s := range list {
		if s.Hash != store.HashToken("a2") && s.Hash != store.HashToken("b1") {
			t.Errorf("left: %+v", s)
		}
	}
}
