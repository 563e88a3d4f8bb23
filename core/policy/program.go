package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// The entry points: what a revision must answer, by package.
const (
	entryRouting    = "spillway.routing.plan"
	entryCircuits   = "spillway.circuits.settings"
	entryReactions  = "spillway.reactions.reaction"
	entryDisclosure = "spillway.disclosure.disclose"
	entryTiers      = "spillway.tiers.tier"
	entryLimits     = "spillway.limits.limits"
	entryAccess     = "spillway.access.grants"
)

func entryPoints() []string {
	return []string{entryRouting, entryCircuits, entryReactions, entryDisclosure, entryTiers, entryLimits, entryAccess}
}

// program is a compiled set of modules with a query for each entry point. It
// is immutable and safe for concurrent use.
type program struct {
	compiler *ast.Compiler
	queries  map[string]*query
}

// query is a compiled query whose answer is in the variable answerVar.
type query struct {
	body     ast.Body
	compiler ast.QueryCompiler
	rule     *ast.Location // the first rule of the entry point
}

const answerVar = ast.Var("answer")

// compile compiles the acting modules and finds the entry points.
func compile(s *source, schemas *ast.SchemaSet) (*program, Problems) {
	c := ast.NewCompiler().WithCapabilities(capabilities()).WithStrict(true).WithDefaultRegoVersion(ast.RegoV1).
		WithEnablePrintStatements(false)
	modules := s.modules
	if schemas != nil {
		c = c.WithSchemas(schemas).WithUseTypeCheckAnnotations(true)
	}
	c.Compile(modules)
	if c.Failed() {
		return nil, compilerProblems("", c.Errors)
	}
	p := &program{compiler: c, queries: map[string]*query{}}
	var ps Problems
	for _, entry := range entryPoints() {
		rules := c.GetRules(ast.MustParseRef("data." + entry))
		if len(rules) == 0 {
			ps = append(ps, missingEntryPoint(s, entry))
			continue
		}
		q, err := p.query(ast.MustParseRef("data." + entry))
		if err != nil {
			ps = append(ps, compilerProblems(rules[0].Location.File, err)...)
			continue
		}
		q.rule = rules[0].Location
		p.queries[entry] = q
	}
	return p, ps
}

// missingEntryPoint points at the package that lacks its answer, or at the file
// that would have it.
func missingEntryPoint(s *source, entry string) Problem {
	ref := ast.MustParseRef("data." + entry)
	pkg, name := ref[:len(ref)-1], string(ref[len(ref)-1].Value.(ast.String))
	for _, file := range sortedNames(s.modules) {
		if m := s.modules[file]; m.Package.Path.Equal(pkg) {
			return problemAt(m.Package.Location, CodeEntryPoint, "package %s has no rule %q", packagePath(m), name)
		}
	}
	file := string(pkg[len(pkg)-1].Value.(ast.String)) + ".rego"
	return problemIn(file, CodeEntryPoint, "there is no package %s with a rule %q", pkg.String()[len("data."):], name)
}

// query compiles a query for the value of a rule. The warm references are
// evaluated before it.
func (p *program) query(ref ast.Ref, warm ...ast.Ref) (*query, error) {
	var body ast.Body
	for i, w := range warm {
		body.Append(ast.Equality.Expr(ast.NewTerm(w), ast.VarTerm(fmt.Sprintf("warm%d", i))))
	}
	body.Append(ast.Equality.Expr(ast.NewTerm(ref), ast.NewTerm(answerVar)))
	qc := p.compiler.QueryCompiler()
	compiled, err := qc.Compile(body)
	if err != nil {
		return nil, err
	}
	return &query{body: compiled, compiler: qc}, nil
}

// evaluation is one run of a query.
type evaluation struct {
	data    *documents
	input   *ast.Term
	virtual topdown.VirtualCache
	meter   *meter
	labels  *topdown.EvaluatedRuleTracker
	errs    []topdown.Error
	tracer  topdown.QueryTracer
}

var errPanic = errors.New("the evaluator panicked")

// run evaluates a query: nil without an error is an undefined answer.
func (p *program) run(q *query, e *evaluation) (answer *ast.Term, err error) {
	defer func() {
		if r := recover(); r != nil {
			// The text of a panic may quote data, so it goes no further.
			answer, err = nil, errPanic
		}
	}()
	t := topdown.NewQuery(q.body).WithQueryCompiler(q.compiler).WithCompiler(p.compiler).
		WithStore(e.data).WithTransaction(e.data).WithBaseCache(e.data).
		WithInput(e.input).WithCancel(e.meter).WithMetrics(metrics.NoOp()).WithTime(epochStart()).
		WithBuiltinErrorList(&e.errs)
	if e.virtual != nil {
		t = t.WithVirtualCache(e.virtual)
	}
	if e.labels != nil {
		t = t.WithEvaluatedRuleTracker(e.labels)
	}
	if e.tracer != nil {
		t = t.WithQueryTracer(e.tracer)
	}
	err = t.Iter(context.Background(), func(r topdown.QueryResult) error {
		answer = r[answerVar]
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// epochStart is the time that OPA would show to a policy: a constant, since
// policies see the snapshot's time and no other, and reading a clock costs.
func epochStart() time.Time { return time.Unix(1, 0) }
