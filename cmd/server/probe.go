package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/health"
	"github.com/spillway-llm/spillway/core/upstream"
)

// probeLimit is what one probe of the command may take: longer than one in the
// background, because somebody waits for the truth.
const probeLimit = 10 * time.Second

// checked is one node asked with one key.
type checked struct {
	provider, node, key string
	status              int
	took                time.Duration
	err                 error
}

// result says what the node's answer is worth, and whether it is a finding.
func (c *checked) result() (text string, finding bool) {
	switch {
	case core.KindOf(c.err) == core.KindAuthProvider:
		return "no credential", true
	case c.err != nil:
		return "no answer: " + core.KindOf(c.err).String(), true
	case c.status == http.StatusUnauthorized || c.status == http.StatusForbidden:
		return fmt.Sprintf("refused (%d)", c.status), true
	}
	switch health.JudgeProbe(c.status) {
	case health.ProbeGood:
		return "accepted", false
	case health.ProbeBad:
		return fmt.Sprintf("server error (%d)", c.status), true
	default:
		return fmt.Sprintf("unclear (%d)", c.status), false
	}
}

// probe is the command that asks every configured node for its models with every
// key, so that a fallback's credential is known to be good before it is needed
// (R53 of the field failures). It spends no tokens.
func probe(ctx context.Context, p program, args []string) error {
	o := Options{Env: p.env}
	f := flag.NewFlagSet("server probe", flag.ContinueOnError)
	o.placeFlags(f)
	if err := parse(p, f, args); err != nil {
		return err
	}
	c, _, err := o.load()
	if err != nil {
		return err
	}
	if len(c.Providers) == 0 {
		fmt.Fprintln(p.out, "no providers: simulated vendors would be served, which take any key")
		return nil
	}
	catalog, err := core.NewCatalog(c.Providers, c.Targets)
	if err != nil {
		return err
	}
	client := upstream.New(upstream.Config{UserAgent: "spillway/" + version(), ConnectTimeout: c.Timeouts.Connect})
	defer client.CloseIdle()
	if err := client.Replace(catalog); err != nil {
		return err
	}
	return report(p, ask(ctx, client, catalog.Providers))
}

// ask probes every node with every key at once; the order is the file's.
func ask(ctx context.Context, prober core.Prober, providers []core.Provider) []*checked {
	var all []*checked
	var running sync.WaitGroup
	for i := range providers {
		p := &providers[i]
		for j := range p.Nodes {
			for k := range p.Keys {
				c := &checked{provider: p.ID, node: p.Nodes[j].ID, key: p.Keys[k].ID}
				all = append(all, c)
				running.Go(func() { c.ask(ctx, prober, p, &p.Nodes[j], &p.Keys[k]) })
			}
		}
	}
	running.Wait()
	return all
}

func (c *checked) ask(ctx context.Context, prober core.Prober, p *core.Provider, n *core.Node, k *core.Key) {
	ctx, cancel := context.WithTimeoutCause(ctx, probeLimit, &core.Error{Op: "probe node " + n.ID, Kind: core.KindTimeoutFirstContent})
	defer cancel()
	begun := time.Now()
	c.status, c.err = prober.Probe(ctx, p, n, k)
	c.took = time.Since(begun)
}

// report prints what was found; findings are an error.
func report(p program, all []*checked) error {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROVIDER\tNODE\tKEY\tRESULT\tTOOK")
	findings := 0
	for _, c := range all {
		text, finding := c.result()
		if finding {
			findings++
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%v\n", c.provider, c.node, c.key, text, c.took.Round(time.Millisecond))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if findings > 0 {
		return fmt.Errorf("server probe: %d of %d probes were not accepted", findings, len(all))
	}
	return nil
}
