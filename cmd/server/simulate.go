package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/policy"
	"github.com/spillway-llm/spillway/core/simulate"
	"github.com/spillway-llm/spillway/policies"
)

// simulateUsage is what the command's help says before its flags.
const simulateUsage = `Usage: server simulate [scenario|FILE] [flags]   run policies through an outage
       server simulate list                     name the scenarios that ship
       server simulate print SCENARIO           print one, as a start for your own
       server simulate retry-budget             print the retry budgets' table

`

// defaultScenario runs when none is named.
const defaultScenario = "brown-out"

// tunnelOptions are the command's flags.
type tunnelOptions struct {
	scenario string
	policies []string
	json     bool
	svg      string
	seed     uint64
	timing   bool
}

// simulateCommand is the wind tunnel: it answers what policies would do in an
// outage, in virtual time.
func simulateCommand(ctx context.Context, p program, args []string) error {
	word := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		word, args = args[0], args[1:]
	}
	switch word {
	case "list", "retry-budget":
		if err := parse(p, flag.NewFlagSet("server simulate "+word, flag.ContinueOnError), args); err != nil {
			return err
		}
		if word == "list" {
			return listScenarios(p.out)
		}
		return simulate.WriteRetryBudgetTable(p.out)
	case "print":
		return printScenario(p, args)
	}
	o := tunnelOptions{scenario: word}
	if err := o.parse(p, args); err != nil {
		return err
	}
	return runTunnel(ctx, p, o)
}

func (o *tunnelOptions) parse(p program, args []string) error {
	f := flag.NewFlagSet("server simulate", flag.ContinueOnError)
	f.Func("policy", "compare also with the policies in this `path`: a folder with a whole revision, or one file over the shipped ones; may be repeated",
		func(path string) error { o.policies = append(o.policies, path); return nil })
	f.BoolVar(&o.json, "json", false, "print JSON instead of a table")
	f.StringVar(&o.svg, "svg", "", "also draw a chart into this `file`")
	f.Uint64Var(&o.seed, "seed", 0, "draw from this seed instead of the scenario's")
	f.BoolVar(&o.timing, "timing", false, "also print, to standard error, the real time and its share spent in policy")
	f.Usage = func() {
		fmt.Fprint(p.err, simulateUsage)
		f.PrintDefaults()
	}
	if o.scenario == "" {
		o.scenario = defaultScenario
	}
	return parse(p, f, args)
}

func listScenarios(w io.Writer) error {
	for _, name := range simulate.Names() {
		s, err := simulate.Shipped(name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%-18s %s\n", s.Name, s.Title); err != nil {
			return err
		}
	}
	return nil
}

func printScenario(p program, args []string) error {
	if len(args) != 1 {
		fmt.Fprintln(p.err, "server simulate print: name one scenario; server simulate list names them")
		return errUsage
	}
	text, err := simulate.Source(args[0])
	if err != nil {
		return err
	}
	_, err = p.out.Write(text)
	return err
}

func runTunnel(ctx context.Context, p program, o tunnelOptions) error {
	s, err := loadScenario(o.scenario)
	if err != nil {
		return err
	}
	contenders, err := contendersFor(s, o.policies)
	if err != nil {
		return err
	}
	begun := time.Now()
	r, err := simulate.Compare(ctx, s, contenders, simulate.Options{
		Seed: o.seed, Stopwatch: func() time.Duration { return time.Since(begun) },
	})
	if err != nil {
		return err
	}
	if o.svg != "" {
		if err := writeChart(r, o.svg); err != nil {
			return err
		}
	}
	if o.timing {
		if err := r.WriteTiming(p.err); err != nil {
			return err
		}
	}
	if o.json {
		return r.WriteJSON(p.out)
	}
	return r.WriteTable(p.out)
}

// loadScenario takes a shipped scenario by its name, or a file.
func loadScenario(name string) (*simulate.Scenario, error) {
	if slices.Contains(simulate.Names(), name) {
		return simulate.Shipped(name)
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("simulate: %q is no file and no scenario that ships; those are %s", name, strings.Join(simulate.Names(), ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	s, err := simulate.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

func writeChart(r *simulate.Report, path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("draw chart: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return r.WriteSVG(f)
}

// contendersFor are the shipped policies without budgets, without circuits and
// whole, and those at the paths.
func contendersFor(s *simulate.Scenario, paths []string) ([]simulate.Contender, error) {
	catalog, err := s.Catalog()
	if err != nil {
		return nil, err
	}
	var contenders []simulate.Contender
	add := func(what string, files policy.Files, make func(*core.Revision) simulate.Contender) error {
		// No deadline in real time: a busy machine must not change the result.
		built, problems := policy.Build(files, catalog, policy.Options{Deadline: -1})
		if problems.Failed() {
			return fmt.Errorf("%s: the policies can't be used with scenario %q: %w", what, s.Name, problems)
		}
		contenders = append(contenders, make(built.Revision))
		return nil
	}
	whole := func(name string) func(*core.Revision) simulate.Contender {
		return func(r *core.Revision) simulate.Contender { return simulate.Whole(name, r) }
	}
	shipped := policy.Files(policies.Files())
	for _, make := range []func(*core.Revision) simulate.Contender{simulate.CircuitOnly, simulate.BudgetOnly, whole("shipped")} {
		if err := add("shipped", shipped, make); err != nil {
			return nil, err
		}
	}
	for _, path := range paths {
		files, err := policyFiles(path)
		if err != nil {
			return nil, err
		}
		if err := add(path, files, whole(filepath.ToSlash(path))); err != nil {
			return nil, err
		}
	}
	return contenders, nil
}

// policyFiles reads a folder as a whole revision, or lays one file over the
// shipped policies, in the place of the file whose path it ends with.
func policyFiles(path string) (policy.Files, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read policies: %w", err)
	}
	if info.IsDir() {
		return policyFolder(path)
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("read policies: %w", err)
	}
	files := policy.Files(policies.Files())
	place, known := "", []string{}
	for name := range files {
		known = append(known, name)
		if strings.HasSuffix(filepath.ToSlash(full), "/"+name) && len(name) > len(place) {
			place = name
		}
	}
	if place == "" {
		slices.Sort(known)
		return nil, fmt.Errorf("read policies: %s takes no shipped file's place; its path must end with one of %s", path, strings.Join(known, ", "))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read policies: %w", err)
	}
	files[place] = string(text)
	return files, nil
}

func policyFolder(root string) (policy.Files, error) {
	files := policy.Files{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".rego" && d.Name() != "data.json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(name)] = string(text)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read policies: %w", err)
	}
	return files, nil
}
