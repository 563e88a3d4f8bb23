package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// ticker is what a tick needs of the engine.
type ticker interface {
	// Tick does the work that time alone causes.
	Tick()
	// Snapshot is the picture after it.
	Snapshot() *core.Snapshot
}

// ticked is what a tick found, for whoever reads the cron's mail.
type ticked struct {
	Open    int               `json:"open"`    // circuits that are not closed
	Cooling int               `json:"cooling"` // targets that cool down
	Levels  map[string]string `json:"levels"`  // of the use cases that are not healthy
}

// tickOnce makes one tick and says how things stand.
func tickOnce(e ticker) ticked {
	e.Tick()
	s := e.Snapshot()
	t := ticked{Levels: map[string]string{}}
	for i := range s.Targets {
		if s.Targets[i].CoolingDown {
			t.Cooling++
		}
		for _, c := range s.Targets[i].Circuits {
			if c.State != circuit.Closed {
				t.Open++
			}
		}
	}
	for i, l := range s.Levels {
		if l != core.Healthy {
			t.Levels[s.UseCases[i]] = l.String()
		}
	}
	return t
}

// tick is the command "server tick": what a server does by itself, done once, for
// hosts that let nothing run between requests (R16.1).
func tick(ctx context.Context, p program, args []string) error {
	o := Options{Env: p.env}
	f := flag.NewFlagSet("server tick", flag.ContinueOnError)
	o.placeFlags(f)
	if err := parse(p, f, args); err != nil {
		return err
	}
	c, _, err := o.load()
	if err != nil {
		return fmt.Errorf("server tick: %w", err)
	}
	running, ok := dialAdmin(ctx, c.Data)
	if !ok {
		// Everything that outlives a server is in its database with the time at
		// which it ends, and the next start reads it so.
		_, err := fmt.Fprintf(p.out, "no server runs over %s: there is nothing to do\n", c.Data)
		return err
	}
	var t ticked
	if err := running.call(ctx, http.MethodPost, "/tick", nil, &t); err != nil {
		return fmt.Errorf("server tick: %w", err)
	}
	fmt.Fprintf(p.out, "circuits not closed: %d, targets cooling down: %d, use cases not healthy: %d\n",
		t.Open, t.Cooling, len(t.Levels))
	return nil
}
