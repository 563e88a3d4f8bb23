package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spillway-llm/spillway/cmd/server/config"
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/store"
)

// openKeeper finds the server that runs over the data folder, or opens the
// folder itself when none does.
func openKeeper(ctx context.Context, o Options) (k keeper, closeKeeper func() error, err error) {
	c, _, err := o.load()
	if err != nil {
		return nil, nil, err
	}
	if running, ok := dialAdmin(ctx, c.Data); ok {
		return running, func() error { return nil }, nil
	}
	return openFile(ctx, c)
}

// openFile opens a database that no server holds, with the policies that would
// act, because a key that they grant nothing must not be made.
func openFile(ctx context.Context, c *config.Config) (_ keeper, closeFile func() error, err error) {
	path := filepath.Join(c.Data, databaseName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("no database at %s: start the server once, or say where it is with --data", path)
	}
	log := slog.New(slog.DiscardHandler)
	db, err := store.Open(ctx, store.Config{Path: path, Version: version(), Logger: log})
	if errors.Is(err, store.ErrInUse) {
		return nil, nil, fmt.Errorf("a server runs over %s and has no admin socket: stop it first: %w", c.Data, err)
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	if len(c.Providers) == 0 {
		c.Providers, c.Targets = config.Simulated("http://127.0.0.1", "http://127.0.0.1")
	}
	catalog, err := core.NewCatalog(c.Providers, c.Targets)
	if err != nil {
		return nil, nil, err
	}
	r := newRules(db, nil, 0, log)
	p, err := r.first(ctx, catalog)
	if err != nil {
		return nil, nil, err
	}
	if err := r.callers.adopt(ctx, p); err != nil {
		return nil, nil, err
	}
	return r.callers, db.Close, nil
}
