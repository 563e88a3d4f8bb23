package console

import (
	"strconv"

	"github.com/spillway-llm/spillway/console/diff"
)

// mark is the severity of the worst problem in a line of the open file, "" for none.
func (v draftView) mark(row int) string {
	mark := ""
	for _, pr := range v.Status.Problems {
		if pr.File != v.File.Name || pr.Row != row {
			continue
		}
		if pr.Severity == SeverityError || mark == "" {
			mark = string(pr.Severity)
		}
	}
	return mark
}

// place is where a problem is: "routing.rego:12:5".
func place(pr Problem) string {
	s := first(pr.File, "–")
	if pr.Row > 0 {
		s += ":" + strconv.Itoa(pr.Row) + ":" + strconv.Itoa(max(1, pr.Col))
	}
	return s
}

func (p page) problemCount(st draftStatus) string {
	if st.Stale != nil {
		return p.T("draft.not_saved")
	}
	return p.countProblems(st.Problems)
}

func (p page) countProblems(problems []Problem) string {
	wrong := errorsIn(problems)
	warnings := len(problems) - wrong
	switch {
	case wrong == 0 && warnings == 0:
		return p.T("problems.none")
	case wrong == 0:
		return p.T("problems.warnings", warnings)
	case warnings == 0:
		return p.T("problems.errors", wrong)
	}
	return p.T("problems.both", wrong, warnings)
}

// consequence says what an activation does.
func (p page) consequence(v reviewView) string {
	inserted, deleted := totals(v.Diffs)
	return p.T("activate.consequence", len(v.Diffs), inserted, deleted, v.Active.Number)
}

func (p page) revisionDiffTitle(v revisionView) string {
	switch {
	case v.Against == 0:
		return p.T("revision.first")
	case v.Revision.Number == v.Active.Number:
		return p.T("revision.changed", v.Against)
	}
	return p.T("rollback.diff", v.Against)
}

func opName(l diff.Line) string {
	switch l.Op {
	case diff.Insert:
		return "insert"
	case diff.Delete:
		return "delete"
	default:
		return "equal"
	}
}

func lineNumber(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
