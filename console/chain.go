package console

import (
	"cmp"
	"slices"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/audit"
)

// link is one target of a decision's chain: who was tried or skipped, in order.
type link struct {
	Target  string
	Kind    string // "none" for the one that answered
	Detail  string
	Skipped bool
	// Times counts attempts on this target in a row with this outcome.
	Times int
}

// chain puts attempts and skips in the order of the plan's steps. Attempts on
// one target in a row that ended alike are one link.
func chain(d *audit.Decision) []link {
	type item struct {
		step, number int
		link         link
	}
	var items []item
	for _, s := range d.Skips {
		items = append(items, item{s.Step, 0, link{Target: s.Target, Kind: s.Kind, Detail: s.Detail, Skipped: true, Times: 1}})
	}
	for _, a := range d.Attempts {
		items = append(items, item{a.Step, a.Number, link{Target: a.Target, Kind: a.Kind, Times: 1}})
	}
	slices.SortStableFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.number, b.number))
	})
	var out []link
	for _, it := range items {
		if n := len(out); n > 0 && out[n-1].Target == it.link.Target && out[n-1].Kind == it.link.Kind && !it.link.Skipped {
			out[n-1].Times++
			continue
		}
		out = append(out, it.link)
	}
	return out
}

func (l link) answered() bool { return !l.Skipped && l.Kind == core.KindNone.String() }

// word is what stands beside a link.
func (p page) word(l link) string {
	switch {
	case l.answered():
		return p.T("chain.ok")
	case l.Skipped:
		return p.T("chain.skipped", p.Word("kind", l.Kind))
	case l.Times > 1:
		return p.T("chain.times", p.Word("kind", l.Kind), l.Times)
	}
	return p.Word("kind", l.Kind)
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
