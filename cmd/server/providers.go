package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/health"
)

// providerKeyOrder takes a vendor's key out of service, or puts it back.
type providerKeyOrder struct {
	Provider string `json:"provider"`
	Key      string `json:"key"`
	Usable   bool   `json:"usable"`
	By       string `json:"by"`
	Reason   string `json:"reason"`
}

// providerDesk shows the nodes and keys of a running server, and takes orders
// about keys.
type providerDesk interface {
	providers(ctx context.Context) ([]core.ProviderLive, error)
	setKey(ctx context.Context, o providerKeyOrder) error
}

// engineDesk is the desk of the server in this process.
type engineDesk struct{ engine *core.Engine }

var _ providerDesk = engineDesk{}

func (d engineDesk) providers(context.Context) ([]core.ProviderLive, error) {
	return d.engine.Providers(), nil
}

func (d engineDesk) setKey(_ context.Context, o providerKeyOrder) error {
	if o.Reason == "" {
		return errors.New("a reason is required")
	}
	return d.engine.SetKey(o.Provider, o.Key, o.Usable, o.By, o.Reason)
}

const providersUsage = `Usage: server providers
       server providers key PROVIDER KEY off|on --reason WHY

Shows the nodes and keys of the running server, or takes a vendor's key out of
service until it is put back. --data and --config say which server.
`

// providers is the command "server providers".
func providers(ctx context.Context, p program, args []string) error {
	switch {
	case len(args) == 0 || strings.HasPrefix(args[0], "-"):
		return providersList(ctx, p, args)
	case args[0] == "key" && len(args) >= 4 && (args[3] == "on" || args[3] == "off"):
		o := providerKeyOrder{Provider: args[1], Key: args[2], Usable: args[3] == "on"}
		return providersKey(ctx, p, o, args[4:])
	}
	fmt.Fprint(p.err, providersUsage)
	return errUsage
}

// withDesk parses the flags and hands the running server's desk to use.
func withDesk(ctx context.Context, p program, f *flag.FlagSet, args []string, use func(providerDesk) error) error {
	o := Options{Env: p.env}
	o.placeFlags(f)
	if err := parse(p, f, args); err != nil {
		return err
	}
	c, _, err := o.load()
	if err != nil {
		return err
	}
	running, ok := dialAdmin(ctx, c.Data)
	if !ok {
		return fmt.Errorf("%s: no server runs over %s; say which with --data", f.Name(), c.Data)
	}
	if err := use(running); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return nil
}

func providersList(ctx context.Context, p program, args []string) error {
	f := flag.NewFlagSet("server providers", flag.ContinueOnError)
	return withDesk(ctx, p, f, args, func(d providerDesk) error {
		list, err := d.providers(ctx)
		if err != nil {
			return err
		}
		if err := printNodes(p.out, list); err != nil {
			return err
		}
		fmt.Fprintln(p.out)
		return printKeys(p.out, list)
	})
}

func printNodes(out io.Writer, list []core.ProviderLive) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROVIDER\tNODE\tREGION\tSTATE\tLATENCY\tPROBES\tGOOD\tBAD\tINVALID")
	for _, p := range list {
		for _, n := range p.Nodes {
			state := n.State.String()
			if n.State == health.NodeResting {
				state += " until " + n.RestUntil.UTC().Format(time.TimeOnly)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d ms\t%d\t%d\t%d\t%d\n", p.ID, n.ID, orDash(n.Region), state, n.LatencyMS,
				n.Probes.Sent, n.Probes.Good, n.Probes.Bad, n.Probes.Invalid)
		}
	}
	return w.Flush()
}

func printKeys(out io.Writer, list []core.ProviderLive) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROVIDER\tKEY\tSTATE\tLAST PROBE")
	var low []string
	for i := range list {
		p := &list[i]
		for j := range p.KeyList {
			k := &p.KeyList[j]
			state := "usable"
			if !k.Usable {
				state = k.Why
			}
			if !k.Until.IsZero() {
				state += " until " + k.Until.UTC().Format(time.TimeOnly)
			}
			probed := "–"
			if k.ProbeStatus != 0 {
				probed = fmt.Sprint(k.ProbeStatus)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.ID, k.ID, state, probed)
		}
		if p.FewKeys() {
			low = append(low, fmt.Sprintf("warning: %s has %d of %d keys to use", p.ID, p.UsableKeys, p.Keys))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, line := range low {
		fmt.Fprintln(out, line)
	}
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func providersKey(ctx context.Context, p program, o providerKeyOrder, args []string) error {
	f := flag.NewFlagSet("server providers key", flag.ContinueOnError)
	f.StringVar(&o.Reason, "reason", "", "`why`, for the audit")
	o.By = "commands"
	if name, ok := p.env("USER"); ok && name != "" {
		o.By = name
	}
	return withDesk(ctx, p, f, args, func(d providerDesk) error {
		if err := d.setKey(ctx, o); err != nil {
			return err
		}
		word := "out of service until it is put back"
		if o.Usable {
			word = "back in service"
		}
		_, err := fmt.Fprintf(p.out, "%s/%s is %s\n", o.Provider, o.Key, word)
		return err
	})
}
