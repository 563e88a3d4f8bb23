package policy

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/spillway-llm/spillway/core"
)

// hoistSteps bounds the evaluation of one hoisted rule: it runs once per
// snapshot and not per request, so it may take longer.
const hoistSteps = 10 * defaultSteps

// picture is one snapshot made ready for evaluation: its documents, the values
// of all rules that don't read the request, and the plans made in it.
type picture struct {
	snap   *core.Snapshot
	data   *documents
	shared *hoisted
	memo   *memo
}

// fixed is what all pictures of a revision share.
type fixed struct {
	pairs  []pair // data.config and data.targets
	values []hoistedValue
}

type hoistedValue struct {
	path  []string
	value *ast.Term
}

// newFixed evaluates what depends on nothing but configuration.
func (e *engine) newFixed(config *ast.Term) fixed {
	f := fixed{pairs: []pair{{ast.StringTerm("config"), config}, {ast.StringTerm("targets"), targetsDocument(e.catalog)}}}
	f.values = e.values(newDocuments(f.pairs...), &hoisted{}, reachStatic)
	return f
}

// newPicture makes a snapshot ready.
func (e *engine) newPicture(snap *core.Snapshot) *picture {
	p := &picture{
		snap: snap, data: newDocuments(append(snapshotPairs(snap), e.fixed.pairs...)...),
		shared: &hoisted{}, memo: newMemo(),
	}
	for _, v := range e.fixed.values {
		p.shared.put(v.path, v.value)
	}
	for _, v := range e.values(p.data, p.shared, reachState) {
		p.shared.put(v.path, v.value)
	}
	return p
}

// values evaluates the hoisted rules of one reach. A rule that fails is left
// out: the requests that need it meet its error themselves.
func (e *engine) values(data *documents, shared *hoisted, r reach) []hoistedValue {
	var values []hoistedValue
	cache := newHoistCache(shared)
	for _, h := range e.hoists {
		if h.reach != r {
			continue
		}
		ev := evaluation{data: data, virtual: cache, meter: e.limits.patient().meter(hoistSteps)}
		value, err := e.program.run(h.query, &ev)
		// A built-in's error would go unreported if the value were kept.
		if err != nil || len(ev.errs) > 0 {
			continue
		}
		values = append(values, hoistedValue{h.path, value})
	}
	return values
}
