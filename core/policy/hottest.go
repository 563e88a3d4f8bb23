package policy

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// hottest runs a query again to find the expression that it spends most steps
// on: an evaluation that was stopped does not say where it was. nil when there
// is none.
func (p *program) hottest(q *query, e *evaluation, l limits) *ast.Location {
	t := &stepCounter{steps: map[codePlace]int{}}
	e.tracer = t
	e.meter = l.meter(min(l.steps, defaultSteps))
	_, _ = p.run(q, e) // it fails as before; only the count matters
	var most codePlace
	for at, n := range t.steps {
		if n > t.steps[most] || n == t.steps[most] && at.before(most) {
			most = at
		}
	}
	if most.file == "" {
		return q.rule
	}
	return &ast.Location{File: most.file, Row: most.row, Col: most.col}
}

type codePlace struct {
	file     string
	row, col int
}

func (a codePlace) before(b codePlace) bool {
	if a.file != b.file {
		return a.file < b.file
	}
	return a.row < b.row || a.row == b.row && a.col < b.col
}

// stepCounter counts evaluated expressions by place.
type stepCounter struct{ steps map[codePlace]int }

// Enabled is always true.
func (c *stepCounter) Enabled() bool { return true }

// Config asks for no variables.
func (c *stepCounter) Config() topdown.TraceConfig { return topdown.TraceConfig{} }

// TraceEvent counts an expression.
func (c *stepCounter) TraceEvent(e topdown.Event) {
	if e.Op == topdown.EvalOp && e.Location != nil && e.Location.File != "" {
		c.steps[codePlace{e.Location.File, e.Location.Row, e.Location.Col}]++
	}
}
