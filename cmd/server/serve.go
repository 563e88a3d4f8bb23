package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"

	"github.com/spillway-llm/spillway/cmd/server/memory"
)

// serve is the command that runs the server until it is told to stop.
func serve(ctx context.Context, p program, args []string) (err error) {
	o := Options{Env: p.env, Log: slog.New(slog.NewTextHandler(p.err, nil))}
	f := flag.NewFlagSet("server", flag.ContinueOnError)
	o.flags(f)
	profile := f.String("cpuprofile", "", "`file` to write a CPU profile to, until the server stops")
	if err := parse(p, f, args); err != nil {
		return err
	}
	memory.Tune(os.DirFS("/"), p.env)
	if *profile != "" {
		stop, err := startProfile(*profile)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	s, err := New(ctx, o)
	if err != nil {
		return err
	}
	defer onHangUp(func() { _ = s.Reload(ctx, "SIGHUP") })() // Reload has logged and recorded what it did
	s.ready.greet(p.out)
	return s.Run(ctx)
}

// onHangUp calls f for every SIGHUP until the returned function is called.
func onHangUp(f func()) (stop func()) {
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	go func() {
		for range hangUps {
			f()
		}
	}()
	return func() {
		signal.Stop(hangUps)
		close(hangUps)
	}
}

func startProfile(name string) (stop func() error, err error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("start profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(fmt.Errorf("start profile: %w", err), file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}
