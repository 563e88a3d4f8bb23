package console_test

import (
	"context"
	"fmt"

	"github.com/spillway-llm/spillway/console"
)

// refusing is an activator that refuses every change with a reason.
type refusing struct{ console.Activator }

func (refusing) Activate(context.Context, []console.File, console.Change) (console.RevisionInfo, error) {
	return console.RevisionInfo{}, fmt.Errorf("poisoned by the watchdog: edit it first: %w", console.ErrRefused)
}

func (refusing) RollBack(context.Context, int, console.Change) (console.RevisionInfo, error) {
	e := console.Problem{Severity: console.SeverityError}
	return console.RevisionInfo{}, &console.ProblemsError{Problems: []console.Problem{e, e}}
}

func draftsOf(b *bench) console.Drafts { return b.book.Config().Drafts }
