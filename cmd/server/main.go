// Command server is Spillway's program: the gateway, the console and the
// commands that check, serve and manage them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spillway-llm/spillway/cmd/server/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once, however long the drain would be.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, program{env: os.LookupEnv, out: os.Stdout, err: os.Stderr}, os.Args[1:]))
}

// program is what a command needs of the process it runs in.
type program struct {
	env      config.LookupFunc
	out, err io.Writer
}

// command is one word after "server".
type command struct {
	name, summary string
	run           func(ctx context.Context, p program, args []string) error
	hidden        bool
}

func commands() []command {
	return []command{
		{name: "serve", summary: "serve the gateway and the console (the default)", run: serve},
		{name: "check-config", summary: "check the configuration file without serving", run: checkConfig},
		{name: "keys", summary: "add, list and disable callers' keys", run: keys},
		{name: "probe", summary: "ask every node for its models with every key; spends no tokens", run: probe},
		{name: "providers", summary: "show nodes and keys of the running server, switch keys", run: providers},
		{name: "simulate", summary: "run policies through an outage in virtual time", run: simulateCommand},
		{name: "tick", summary: "do once what a server without background work leaves to a cron", run: tick},
		{name: "version", summary: "print the version", run: printVersion},
		{name: "policy-worker", run: policyWorker, hidden: true},
	}
}

// errUsage marks a command line that can't be understood; its text was shown.
var errUsage = errors.New("usage")

// The exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// run runs a command line and returns the exit code.
func run(ctx context.Context, p program, args []string) int {
	name := "serve"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	} else if len(args) > 0 && (args[0] == "--help" || args[0] == "-h") {
		help(p.out)
		return exitOK
	}
	for _, c := range commands() {
		if c.name == name {
			return exitCode(p, c.run(ctx, p, args))
		}
	}
	fmt.Fprintf(p.err, "server: unknown command %q\n\n", name)
	help(p.err)
	return exitUsage
}

func exitCode(p program, err error) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errUsage):
		return exitUsage
	}
	fmt.Fprintln(p.err, err)
	return exitFailure
}

func help(w io.Writer) {
	fmt.Fprintf(w, "Usage: server [command] [flags]\n\n")
	for _, c := range commands() {
		if !c.hidden {
			fmt.Fprintf(w, "  %-14s %s\n", c.name, c.summary)
		}
	}
	fmt.Fprintf(w, "\nserver <command> --help shows a command's flags.\n")
}

// parse reads flags and refuses what is left over.
func parse(p program, f *flag.FlagSet, args []string) error {
	f.SetOutput(p.err)
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return errUsage // the flag package has said why
	}
	if f.NArg() > 0 {
		fmt.Fprintf(p.err, "%s: unexpected %q\n", f.Name(), f.Arg(0))
		return errUsage
	}
	return nil
}
