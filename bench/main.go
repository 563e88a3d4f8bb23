// Command bench measures what Spillway costs, as ratios to a bare reverse proxy in the same run.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	if len(os.Args) > 1 {
		if child, ok := children()[os.Args[1]]; ok {
			exit(child(os.Args[2:]))
		}
	}
	exit(bench(os.Args[1:]))
}

func exit(err error) {
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// options are what a run is told.
type options struct {
	root, server, serverArgs, profile, json string
	rounds, repeats                         int
	window, warmup                          time.Duration
	rate                                    int
	pooled, gate, keep                      bool
	only                                    string
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.root, "root", "", "Spillway's `folder` (default: the one above this module)")
	f.StringVar(&o.server, "server", "", "a server `program` that is already built")
	f.StringVar(&o.serverArgs, "server-args", "", "more `arguments` for the server, separated by blanks")
	f.StringVar(&o.profile, "cpuprofile", "", "let the server write a CPU profile to this `file`; it must know --cpuprofile")
	f.StringVar(&o.json, "json", "", "write every sample to this `file`")
	f.StringVar(&o.only, "only", "", "measure only phases whose name contains this `word`")
	f.IntVar(&o.rounds, "rounds", 3, "rounds; the subjects take turns within each")
	f.IntVar(&o.repeats, "repeats", 4, "how many of the measurements that something else on the machine disturbed are taken again")
	f.DurationVar(&o.window, "window", 3*time.Second, "length of one measurement")
	f.DurationVar(&o.warmup, "warmup", 500*time.Millisecond, "load before each measurement; a stream's length is added")
	f.IntVar(&o.rate, "rate", 500, "requests per second of the open loop")
	f.BoolVar(&o.pooled, "pool", false, "let the proxy reuse its copy buffers: the stricter baseline")
	f.BoolVar(&o.gate, "gate", false, "fail when a ratio is over its limit")
	f.BoolVar(&o.keep, "keep", false, "keep the server's database and say where it is")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if o.rounds < 1 || o.repeats < 0 || o.window <= 0 || o.warmup < 0 || o.rate < 1 {
		return o, errors.New("rounds, window and rate must be positive, repeats and warmup not negative")
	}
	o.root = cmp.Or(o.root, "..")
	return o, nil
}

// bench measures and reports.
func bench(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	r, err := newRig(o)
	if err != nil {
		return err
	}
	results, err := r.measure(o)
	if err := errors.Join(err, r.close()); err != nil {
		return err
	}
	report(os.Stdout, o, results)
	if o.json != "" {
		if err := writeJSON(o.json, results); err != nil {
			return err
		}
	}
	if over := overLimit(results); o.gate && len(over) > 0 {
		return fmt.Errorf("over the limit: %v", over)
	}
	return nil
}
