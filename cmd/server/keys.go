package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"
)

// keyOrder asks for a caller's key.
type keyOrder struct {
	Name     string   `json:"name"`
	Plan     string   `json:"plan"`
	Tenant   string   `json:"tenant"`
	UseCases []string `json:"use_cases"`
	Language string   `json:"language"`
}

// keyMade is a new key, for the one time that it is shown.
type keyMade struct {
	ID       string   `json:"id"`
	Key      string   `json:"key"`
	Audience string   `json:"audience"`
	UseCases []string `json:"use_cases"`
}

// keyListed is a stored key, without the key itself.
type keyListed struct {
	ID      string `json:"id"`
	Plan    string `json:"plan"`
	Tenant  string `json:"tenant"`
	Created string `json:"created"`
	// State is "active", "disabled", or why the acting policies grant it nothing.
	State string `json:"state"`
}

// keeper makes and disables callers' keys: the running server's, or one over
// the file when no server runs.
type keeper interface {
	add(ctx context.Context, o keyOrder) (keyMade, error)
	list(ctx context.Context) ([]keyListed, error)
	disable(ctx context.Context, id string) error
}

const keysUsage = `Usage: server keys add --name NAME --plan PLAN [--tenant T] [--use-cases a,b] [--language en]
       server keys list
       server keys disable NAME

Works on a running server, which knows a new key at once, and on its data folder
when none runs. --data and --config say which; plans are data of the access policy.
`

// keys is the command "server keys".
func keys(ctx context.Context, p program, args []string) error {
	actions := map[string]func(context.Context, program, []string) error{
		"add": keysAdd, "list": keysList, "disable": keysDisable,
	}
	if len(args) > 0 {
		if action, ok := actions[args[0]]; ok {
			return action(ctx, p, args[1:])
		}
	}
	fmt.Fprint(p.err, keysUsage)
	return errUsage
}

// withKeeper parses the flags and hands the keeper to f.
func withKeeper(ctx context.Context, p program, f *flag.FlagSet, args []string, use func(keeper) error) (err error) {
	o := Options{Env: p.env}
	o.placeFlags(f)
	if err := parse(p, f, args); err != nil {
		return err
	}
	k, closeKeeper, err := openKeeper(ctx, o)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	defer func() { err = errors.Join(err, closeKeeper()) }()
	if err := use(k); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return nil
}

func keysAdd(ctx context.Context, p program, args []string) error {
	var o keyOrder
	var useCases string
	f := flag.NewFlagSet("server keys add", flag.ContinueOnError)
	f.StringVar(&o.Name, "name", "", "the key's `name`, which the audit shows")
	f.StringVar(&o.Plan, "plan", "", "the access policy's `plan`: free, paid, internal, admin, …")
	f.StringVar(&o.Tenant, "tenant", "default", "whose key it is")
	f.StringVar(&useCases, "use-cases", "", "use cases, the default one first (default: all of the plan)")
	f.StringVar(&o.Language, "language", "", "`language` of what the caller is told")
	return withKeeper(ctx, p, f, args, func(k keeper) error {
		o.UseCases = splitList(useCases)
		made, err := k.add(ctx, o)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.out, "%s\n\nThis is the only time the key is shown. It is %s, of the %s audience, for %s.\n",
			made.Key, made.ID, made.Audience, strings.Join(made.UseCases, ", "))
		return err
	})
}

// splitList reads "a, b" as two words and "" as none.
func splitList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

func keysList(ctx context.Context, p program, args []string) error {
	f := flag.NewFlagSet("server keys list", flag.ContinueOnError)
	return withKeeper(ctx, p, f, args, func(k keeper) error {
		list, err := k.list(ctx)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tPLAN\tTENANT\tCREATED\tSTATE")
		for _, x := range list {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", x.ID, x.Plan, x.Tenant, x.Created, x.State)
		}
		return w.Flush()
	})
}

func keysDisable(ctx context.Context, p program, args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		fmt.Fprint(p.err, keysUsage)
		return errUsage
	}
	id := args[0]
	f := flag.NewFlagSet("server keys disable", flag.ContinueOnError)
	return withKeeper(ctx, p, f, args[1:], func(k keeper) error {
		if err := k.disable(ctx, id); err != nil {
			return err
		}
		_, err := fmt.Fprintf(p.out, "%s is disabled\n", id)
		return err
	})
}
