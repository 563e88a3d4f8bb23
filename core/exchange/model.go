package exchange

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/spillway-llm/spillway/core"
)

// autoModel asks for no model in particular, for clients that insist on naming one.
const autoModel = "auto"

// Named is what a request's model turned out to name: a target, a use case, or
// nothing.
type Named struct{ Model, Target, UseCase string }

// Resolve finds out what the caller's model names in the acting revision (R2.6).
// The strings are the catalog's own, so that facts don't point into a request's
// body. The error suggests names that the caller may have meant.
func (p *Pool) Resolve(model string, g *core.Grants) (Named, *core.Error) {
	if model == "" || model == autoModel {
		return Named{}, nil
	}
	rev := p.cfg.Engine.Revision()
	if i, ok := rev.Catalog.ByModel(model); ok {
		t := &rev.Catalog.Targets[i]
		if t.ID == model {
			return Named{Model: t.ID, Target: t.ID}, nil
		}
		return Named{Model: t.Model, Target: t.ID}, nil
	}
	if i, ok := rev.Tables.UseCaseIndex(model); ok {
		return Named{UseCase: rev.Tables.UseCases[i].ID}, nil
	}
	var hints []string
	if near := Nearest(model, append(ModelNames(rev.Catalog), g.UseCases...), 3); len(near) > 0 {
		hints = append(hints, "nearest are "+strings.Join(near, ", "))
	}
	if p.cfg.ModelsAt != "" {
		hints = append(hints, "all are at GET "+p.cfg.ModelsAt)
	}
	if len(hints) == 0 {
		hints = append(hints, "no configured name is close to it")
	}
	return Named{}, Refusal(core.KindNotFound, http.StatusNotFound,
		"model %.100q is not configured: %s. Use %q to leave the choice to the policy",
		model, strings.Join(hints, "; "), autoModel)
}

// ModelNames are the names that callers may use for targets: ids, and models
// that are no id.
func ModelNames(c *core.Catalog) []string {
	names := make([]string, 0, len(c.Targets))
	for i := range c.Targets {
		names = append(names, c.Targets[i].ID)
	}
	for i := range c.Targets {
		if !slices.Contains(names, c.Targets[i].Model) {
			names = append(names, c.Targets[i].Model)
		}
	}
	return names
}

// Nearest returns up to n of the names that a mistyped one may have meant,
// closest first. What differs in more than half of its letters is no neighbour.
func Nearest(name string, names []string, n int) []string {
	const longest = 100
	if len(name) > longest {
		return nil
	}
	type candidate struct {
		name     string
		distance int
	}
	var all []candidate
	for _, c := range names {
		d := distance(strings.ToLower(name), strings.ToLower(c))
		if d <= max(len(name), len(c))/2 {
			all = append(all, candidate{c, d})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var out []string
	for _, c := range all {
		if len(out) < n && !slices.Contains(out, c.name) {
			out = append(out, c.name)
		}
	}
	return out
}

// distance is Levenshtein's: the insertions, deletions and changes of bytes
// between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
