// Command embed runs a program's own calls through Spillway's core: no gateway,
// no database, no policy engine. Two made-up vendors stand for any SDK.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spillway-llm/spillway/core"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run asks the same question until the first vendor's circuit opens.
func run(ctx context.Context, out io.Writer) error {
	engine, err := newEngine()
	if err != nil {
		return err
	}
	defer engine.Close()
	for i := range 9 {
		req := &core.Request{Facts: core.Facts{UseCase: "assistant"}}
		answer, err := core.Do(ctx, engine, req, ask)
		if err != nil {
			return fmt.Errorf("ask: %w", err)
		}
		fmt.Fprintf(out, "%d: %s, after %d attempts\n", i+1, answer, len(req.Decision.Attempts))
	}
	return nil
}

// ask makes one attempt. A real program calls its SDK here, with the SDK's own
// retries turned off, and says what kind of failure it met.
func ask(_ context.Context, a *core.Attempt) (string, error) {
	if a.Target.Vendor == "north" {
		return "", &core.Error{Op: "ask north", Kind: core.KindOverloaded, Status: 529, Err: errors.New("too busy")}
	}
	return "answered by " + a.Target.Vendor, nil
}

// newEngine serves two targets with the shipped figures, in the catalog's order.
func newEngine() (*core.Engine, error) {
	provider := func(vendor string) core.Provider {
		return core.Provider{
			ID: vendor, Vendor: vendor,
			Keys:  []core.Key{{ID: "main", Secret: core.NewSecret("from the program's own configuration")}},
			Nodes: []core.Node{{ID: vendor, BaseURL: "https://" + vendor + ".example"}},
		}
	}
	target := func(vendor string) core.Target {
		return core.Target{ID: vendor + "-large", Provider: vendor, Model: "large", ContextTokens: 200_000}
	}
	catalog, err := core.NewCatalog(
		[]core.Provider{provider("north"), provider("south")},
		[]core.Target{target("north"), target("south")},
	)
	if err != nil {
		return nil, err
	}
	return core.New(core.Config{Revision: core.DefaultRevision(catalog)})
}
