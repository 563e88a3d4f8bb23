package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// Severity says whether a problem keeps a revision from acting.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// The codes of problems that are found here; the compiler's own codes begin
// with "rego_".
const (
	CodeFile       = "file"              // a path or a data file that can't be used
	CodeSize       = "too_large"         // over a size limit
	CodeStructure  = "structure"         // over a limit of the parse tree
	CodeExpansion  = "expansion"         // values that double from rule to rule
	CodeEntryPoint = "no_entry_point"    // a package without its answer
	CodeData       = "data"              // a figure or id in the data that can't be used
	CodeUndefined  = "undefined"         // no answer for some input
	CodeContract   = "contract"          // an answer of another form, or out of range
	CodeFuel       = "too_many_steps"    // an evaluation that did not end
	CodeDeadline   = "too_slow"          // an evaluation over its time
	CodeConflict   = "conflict"          // two answers for one input
	CodeEvaluation = "evaluation_failed" // any other failure of an evaluation
	CodePoisoned   = "poisoned"          // a revision that was taken out by the watchdog
	CodeTest       = "test_failed"       // a failing test
	CodeWorker     = "worker_stopped"    // a check that had to be killed
)

// Problem is one thing that is wrong with a set of policy files.
type Problem struct {
	File     string   `json:"file"`
	Row      int      `json:"row"` // from 1
	Col      int      `json:"col"` // from 1
	Code     string   `json:"code"`
	Message  string   `json:"message"`
	Severity Severity `json:"severity"`
}

// String is the problem in one line, for terminals.
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s", p.File, p.Row, p.Col, p.Code, p.Message)
}

// Problems is a list of problems. The zero value is none.
type Problems []Problem

// Failed reports whether any of them is an error.
func (ps Problems) Failed() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Severity == SeverityError })
}

// Error lists the problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		if a.Row != b.Row {
			return a.Row - b.Row
		}
		return a.Col - b.Col
	})
	return ps
}

func problemAt(loc *ast.Location, code, format string, args ...any) Problem {
	p := Problem{Row: 1, Col: 1, Code: code, Message: fmt.Sprintf(format, args...), Severity: SeverityError}
	if loc != nil {
		p.File, p.Row, p.Col = loc.File, max(1, loc.Row), max(1, loc.Col)
	}
	return p
}

func problemIn(file, code, format string, args ...any) Problem {
	return problemAt(&ast.Location{File: file, Row: 1, Col: 1}, code, format, args...)
}

// compilerProblems translates the parser's and the compiler's errors. They name
// the place themselves, except for a few about a whole file.
func compilerProblems(file string, err error) Problems {
	var list ast.Errors
	if !errors.As(err, &list) {
		var one *ast.Error
		if !errors.As(err, &one) {
			return Problems{problemIn(file, ast.CompileErr, "%v", err)}
		}
		list = ast.Errors{one}
	}
	ps := make(Problems, 0, len(list))
	for _, e := range list {
		p := problemAt(e.Location, e.Code, "%s", e.Message)
		if p.File == "" {
			p.File = file
		}
		ps = append(ps, p)
	}
	return ps.sorted()
}

// evaluationCode names why an evaluation failed; m knows why it was stopped.
func evaluationCode(err error, m *meter) string {
	switch {
	case topdown.IsCancel(err) && m.exhausted():
		return CodeFuel
	case topdown.IsCancel(err):
		return CodeDeadline
	}
	var e *topdown.Error
	if errors.As(err, &e) && e.Code == topdown.ConflictErr {
		return CodeConflict
	}
	return CodeEvaluation
}

// evaluationPlace is where an evaluation failed, nil when the error does not say.
func evaluationPlace(err error) *ast.Location {
	var e *topdown.Error
	if errors.As(err, &e) {
		return e.Location
	}
	return nil
}
