package policy

import (
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/spillway-llm/spillway/core"
)

// Options shape a policy. The zero value is ready for production.
type Options struct {
	// Previous serves when an evaluation of the new revision fails; nil: none.
	// It is used only while it is over the same catalog.
	Previous *Policy
	// OnFailure is told of every evaluation that gave no usable plan, from the
	// request that met it. It must return quickly and be safe for concurrent use.
	OnFailure func(Failure)
	// Steps bounds an evaluation (20,000).
	Steps int
	// Deadline bounds it in time as a backstop (50 ms); negative: none, for
	// virtual time.
	Deadline time.Duration
	// Now reads the clock of deadlines (time.Now).
	Now func() time.Time
}

func (o Options) limits() limits {
	l := limits{steps: o.Steps, deadline: o.Deadline, now: o.Now}
	if l.steps == 0 {
		l.steps = defaultSteps
	}
	if l.deadline == 0 {
		l.deadline = defaultDeadline
	}
	l.deadline = max(l.deadline, 0)
	if l.now == nil {
		l.now = time.Now
	}
	return l
}

// Policy is a built revision. It is immutable and safe for concurrent use.
type Policy struct {
	Revision *core.Revision
	decider  *Decider
	access   *access
}

// Decider is the revision's routing.
func (p *Policy) Decider() *Decider { return p.decider }

// Build checks, compiles and tabulates the files over a catalog. Problems that
// are errors come without a policy, warnings beside one. Everything that can be
// stopped is bounded here; a file from an editor belongs through a [Worker]
// first, because compilation can't be stopped.
func Build(files Files, catalog *core.Catalog, opts Options) (*Policy, Problems) {
	s, ps := parse(files)
	if ps.Failed() {
		return nil, ps
	}
	if ps = append(ps, checkStructure(s)...); ps.Failed() {
		return nil, ps.sorted()
	}
	if ps = append(ps, checkExpansion(s.modules)...); ps.Failed() {
		return nil, ps
	}
	prog, compiled := compile(s, nil)
	if ps = append(ps, compiled...); ps.Failed() {
		return nil, ps.sorted()
	}
	config, err := ast.InterfaceToValue(configOf(s))
	if err != nil {
		return nil, append(ps, problemIn("config/data.json", CodeData, "%v", err))
	}
	return assemble(s, prog, ast.NewTerm(config), catalog, opts, ps)
}

func configOf(s *source) any {
	if c, ok := s.data["config"]; ok {
		return c
	}
	return map[string]any{}
}

func assemble(s *source, prog *program, config *ast.Term, c *core.Catalog, opts Options, ps Problems) (*Policy, Problems) {
	useCases, more := useCasesOf(s, config, c)
	if ps = append(ps, more...); ps.Failed() {
		return nil, ps
	}
	l := opts.limits()
	t := newTabulator(prog, s.files, config, c, useCases, l.patient())
	tables := t.tables()
	if ps = append(ps, t.problems...); ps.Failed() {
		return nil, ps
	}
	if err := tables.Check(c); err != nil {
		return nil, append(ps, problemIn("config/data.json", CodeData, "%v", err))
	}
	id := Digest(s.files)
	d := &Decider{engine: newEngine(id, c, prog, config, l), onFailure: opts.OnFailure}
	if prev := opts.Previous; prev != nil && prev.Revision.Catalog.Digest == c.Digest {
		d.previous = prev.decider.engine
	}
	return &Policy{
		Revision: &core.Revision{ID: id, Catalog: c, Tables: tables, Decider: d},
		decider:  d,
		access:   newAccess(prog, t.data, useCases, l.patient()),
	}, ps
}

// useCasesOf reads data.config.use_cases, the list that every table is over.
func useCasesOf(s *source, config *ast.Term, c *core.Catalog) ([]core.UseCase, Problems) {
	const file = "config/data.json"
	at := func(word string) *ast.Location { return locate(file, s.files[file], word) }
	list, err := config.Value.Find(ast.Ref{ast.StringTerm("use_cases")})
	array, ok := list.(*ast.Array)
	if err != nil || !ok || array.Len() == 0 {
		return nil, Problems{problemAt(at(`"use_cases"`), CodeData, `"use_cases" must be a list of {"id": …, "targets": […]}`)}
	}
	var useCases []core.UseCase
	var ps Problems
	for i := range array.Len() {
		r := newReader("a use case", array.Elem(i))
		u := core.UseCase{ID: r.text("id"), Targets: r.texts("targets")}
		loc := at(`"` + u.ID + `"`)
		switch err := r.done(); {
		case err != nil:
			ps = append(ps, problemAt(loc, CodeData, "%v", err))
		case !plainID(u.ID):
			ps = append(ps, problemAt(loc, CodeData, "use case %q: use lower-case letters, digits, _ and -", u.ID))
		case slices.ContainsFunc(useCases, func(x core.UseCase) bool { return x.ID == u.ID }):
			ps = append(ps, problemAt(loc, CodeData, "use case %q is listed twice", u.ID))
		}
		for _, id := range u.Targets {
			if _, ok := c.TargetIndex(id); !ok {
				ps = append(ps, problemAt(at(`"`+id+`"`), CodeData, "use case %q: target %q is not configured", u.ID, id))
			}
		}
		if len(u.Targets) == 0 {
			u.Targets = nil
		}
		useCases = append(useCases, u)
	}
	return useCases, ps
}

func plainID(id string) bool {
	return id != "" && len(id) <= 64 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}
