package console

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// held are the holds in force on a target, each once.
func (t *targetRow) held() []*core.Override {
	var out []*core.Override
	for i := range t.Circuits {
		if h := t.Circuits[i].Held; h != nil && !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// circuitKey names a live field of one circuit.
func (t *targetRow) circuitKey(c circuitRow, field string) string {
	return t.key("c." + slug(c.UseCase) + "." + field)
}

// holdKey names a live field of a hold in force.
func (t *targetRow) holdKey(o *core.Override) string {
	return t.key("h." + slug(o.Target) + "." + slug(o.UseCase) + ".left")
}

// heldBy says which hold and whose.
func (p page) heldBy(o *core.Override) string {
	return p.T("held.by", p.Word("hold", o.Hold.String()), o.By)
}

// reachOf says which circuits a hold is about.
func (p page) reachOf(o *core.Override) string {
	return p.T("hold.reach", first(o.Target, p.T("hold.every_target")), first(o.UseCase, p.T("hold.every_use_case")))
}

// probe says when the next probe is possible.
func (p page) probe(c circuitRow, now time.Time) string {
	switch {
	case c.Effect == stateServing:
		return "–"
	case c.Effect == stateProbing || !c.ProbeAt.After(now):
		return p.T("probe.now")
	}
	return p.T("probe.at", p.clock(c.ProbeAt).text, p.Span(c.ProbeAt.Sub(now)))
}

// budgetOf is what is left of one circuit's retry budget.
func (p page) budgetOf(c circuitRow) string {
	return p.budget(targetRow{Budget: c.Budget, BudgetTokens: c.BudgetTokens})
}

// holdNote says what a hold does.
func (p page) holdNote(h circuit.Hold) string {
	if h == circuit.HoldEmergency {
		return p.T("hold.emergency.note", circuit.EmergencyFailures, p.Permille(circuit.EmergencyRatePermille))
	}
	return p.T("hold." + h.String() + ".note")
}

// minutes is the length of a hold in words.
func (p page) minutes(n int) string {
	if n >= 60 && n%60 == 0 {
		return p.T("hold.hours", n/60)
	}
	return p.T("hold.minutes.n", n)
}

func (p page) errorTimes(e recentError) string { return "×" + strconv.Itoa(e.Times) }

// labels are a target's labels in one line.
func labels(t *core.Target) string {
	var out []string
	for k, v := range t.Labels {
		out = append(out, k+": "+v)
	}
	slices.Sort(out)
	return first(strings.Join(out, ", "), "–")
}
