package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/spillway-llm/spillway/core"
)

// checkConfig reads the configuration as serving would, says what is wrong with
// it at which line, and serves nothing.
func checkConfig(_ context.Context, p program, args []string) error {
	o := Options{Env: p.env}
	f := flag.NewFlagSet("server check-config", flag.ContinueOnError)
	o.placeFlags(f)
	if err := parse(p, f, args); err != nil {
		return err
	}
	c, file, err := o.load()
	if err != nil {
		return err
	}
	for _, w := range c.Warnings {
		fmt.Fprintln(p.err, "warning:", w)
	}
	if len(c.Providers) == 0 {
		fmt.Fprintf(p.out, "%s: ok: no providers, so simulated vendors would be served\n", orNoFile(file))
		return nil
	}
	catalog, err := core.NewCatalog(c.Providers, c.Targets)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	fmt.Fprintf(p.out, "%s: ok: %d providers, %d targets, digest %.12s\n",
		orNoFile(file), len(catalog.Providers), len(catalog.Targets), catalog.Digest)
	return nil
}

func orNoFile(file string) string {
	if file == "" {
		return "no configuration file"
	}
	return file
}
