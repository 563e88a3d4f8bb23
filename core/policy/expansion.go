package policy

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

// The limits of expansion: how many nodes a value may have when every variable
// and rule in it is replaced by what it stands for. A chain a := [b, b],
// b := [c, c], … doubles at each link: 439 bytes of it keep the compiler busy
// for ever, and neither compilation nor such an evaluation can be stopped.
const (
	maxExpansion      = 100_000
	maxExpansionTotal = 1_000_000
)

// checkExpansion refuses values that double from link to link, and names the
// first expression that is over the limit.
func checkExpansion(modules map[string]*ast.Module) Problems {
	x := newShaper(modules)
	total := int64(0)
	for _, name := range sortedNames(modules) {
		for _, r := range modules[name].Rules {
			v := visit{shaper: x, location: r.Location}
			v.rule(r)
			total = saturated(total + v.total)
			if v.most > maxExpansion || total > maxExpansionTotal {
				return Problems{problemAt(v.location, CodeExpansion,
					"the value grows to more than %d nodes when rules and variables in it are replaced by their values", maxExpansion)}
			}
		}
	}
	return nil
}

// visit adds up the expanded sizes of everything in one rule, and remembers the
// place of the first that is over the limit.
type visit struct {
	shaper      *shaper
	location    *ast.Location
	most, total int64
}

func (v *visit) note(at *ast.Location, s *shape) {
	size := s.expanded()
	v.total = saturated(v.total + size)
	if size > v.most && v.most <= maxExpansion {
		v.most, v.location = size, at
	}
}

func (v *visit) rule(r *ast.Rule) {
	for e := r; e != nil; e = e.Else {
		s := v.shaper.ruleScope(e)
		for _, t := range []*ast.Term{e.Head.Key, e.Head.Value} {
			if t != nil {
				v.term(t, e.Location, s)
			}
		}
		v.body(e.Body, s)
	}
}

func (v *visit) body(b ast.Body, s *scope) {
	for _, e := range b {
		switch t := e.Terms.(type) {
		case *ast.Term:
			v.term(t, e.Location, s)
		case []*ast.Term:
			for _, arg := range t[1:] {
				v.term(arg, e.Location, s)
			}
		case *ast.SomeDecl:
			for _, symbol := range t.Symbols {
				v.term(symbol, e.Location, s)
			}
		case *ast.Every:
			v.term(t.Domain, e.Location, s)
			in := v.shaper.inner(s, t.Body)
			in.iterate(t.Domain, t.Key, t.Value)
			v.body(t.Body, in)
		case *ast.Not:
			v.body(t.Body, v.shaper.inner(s, t.Body))
		}
	}
}

// term notes a term's own size, and what the bodies inside it hold.
func (v *visit) term(t *ast.Term, at *ast.Location, s *scope) {
	v.note(at, v.shaper.term(t, s))
	ast.WalkClosures(t, func(c any) bool {
		switch c := c.(type) {
		case *ast.ArrayComprehension:
			v.body(c.Body, v.shaper.inner(s, c.Body))
		case *ast.SetComprehension:
			v.body(c.Body, v.shaper.inner(s, c.Body))
		case *ast.ObjectComprehension:
			v.body(c.Body, v.shaper.inner(s, c.Body))
		}
		return true // an inner body visits what is inside it
	})
}
