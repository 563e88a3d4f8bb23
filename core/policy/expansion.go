package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"
)

// The limits of expansion: how many nodes a value may have when every variable
// and rule in it is replaced by what it stands for. A chain a := [b, b],
// b := [c, c], … doubles at each link: 439 bytes of it keep the compiler busy
// for ever, and neither compilation nor such an evaluation can be stopped.
const (
	maxExpansion      = 100_000
	maxExpansionTotal = 1_000_000
)

// expansion computes the expanded sizes of a revision's values.
type expansion struct {
	rules    map[string][]*ast.Rule // by path below data
	paths    []string
	sizes    map[string]int64 // by path
	visiting map[string]bool
	builtins map[string]*ast.Builtin
}

// checkExpansion refuses values that double from link to link, and names the
// first expression that is over the limit.
func checkExpansion(modules map[string]*ast.Module) Problems {
	x := &expansion{
		rules: map[string][]*ast.Rule{}, sizes: map[string]int64{}, visiting: map[string]bool{},
		builtins: map[string]*ast.Builtin{},
	}
	for _, b := range ast.Builtins {
		x.builtins[b.Name] = b
	}
	for _, m := range modules {
		for _, r := range m.Rules {
			p := packagePath(m) + "." + dotted(r.Head.Ref())
			x.rules[p] = append(x.rules[p], r)
		}
	}
	x.paths = slices.Sorted(maps.Keys(x.rules))
	total := int64(0)
	for _, name := range sortedNames(modules) {
		for _, r := range modules[name].Rules {
			loc, size := x.largest(r)
			total = sat(total + size)
			if size > maxExpansion || total > maxExpansionTotal {
				return Problems{problemAt(loc, CodeExpansion,
					"the value grows to more than %d nodes when rules and variables in it are replaced by their values", maxExpansion)}
			}
		}
	}
	return nil
}

// largest is the size of everything in a rule, and the place of its largest part.
func (x *expansion) largest(r *ast.Rule) (*ast.Location, int64) {
	loc, most, total := r.Location, int64(0), int64(0)
	note := func(l *ast.Location, size int64) {
		total = sat(total + size)
		if size > most {
			loc, most = l, size
		}
	}
	for e := r; e != nil; e = e.Else {
		s := x.ruleScope(e)
		note(e.Location, x.head(e, s))
		for _, expr := range e.Body {
			note(expr.Location, x.expr(expr, s))
		}
	}
	return loc, total
}

// rule is the size of all values of a path.
func (x *expansion) rule(path string) int64 {
	if size, ok := x.sizes[path]; ok {
		return size
	}
	if x.visiting[path] {
		return 1 // recursion, which the compiler refuses
	}
	x.visiting[path] = true
	size := int64(0)
	for _, r := range x.rules[path] {
		for e := r; e != nil; e = e.Else {
			size = sat(size + x.head(e, x.ruleScope(e)))
		}
	}
	delete(x.visiting, path)
	x.sizes[path] = size
	return size
}

func (x *expansion) head(r *ast.Rule, s *scope) int64 {
	size := int64(1)
	for _, t := range []*ast.Term{r.Head.Key, r.Head.Value} {
		if t != nil {
			size = sat(size + x.term(t, s))
		}
	}
	return size
}

// path is the size of what a path below data stands for: a rule, all rules
// below a package, or a base document.
func (x *expansion) path(p string) int64 {
	for q := p; q != ""; {
		if _, ok := x.rules[q]; ok {
			return x.rule(q)
		}
		q = q[:max(strings.LastIndexByte(q, '.'), 0)]
	}
	size := int64(1)
	for _, q := range x.paths {
		if strings.HasPrefix(q, p+".") {
			size = sat(size + x.rule(q))
		}
	}
	return size
}

func (x *expansion) expr(e *ast.Expr, s *scope) int64 {
	switch t := e.Terms.(type) {
	case *ast.Term:
		return x.term(t, s)
	case []*ast.Term:
		return x.call(t, s)
	case *ast.SomeDecl:
		return x.terms(t.Symbols, s)
	case *ast.Every:
		return sat(x.term(t.Domain, s) + x.body(t.Body, s.inner(t.Body)))
	case *ast.Not:
		return x.body(t.Body, s.inner(t.Body))
	}
	return 1
}

func (x *expansion) body(b ast.Body, s *scope) int64 {
	size := int64(1)
	for _, e := range b {
		size = sat(size + x.expr(e, s))
	}
	return size
}

func (x *expansion) terms(ts []*ast.Term, s *scope) int64 {
	size := int64(1)
	for _, t := range ts {
		size = sat(size + x.term(t, s))
	}
	return size
}

func (x *expansion) term(t *ast.Term, s *scope) int64 {
	switch v := t.Value.(type) {
	case ast.Var:
		return x.variable(v, s)
	case ast.Ref:
		return x.ref(v, s)
	case ast.Call:
		return x.call(v, s)
	case *ast.Array:
		size := int64(1)
		v.Foreach(func(t *ast.Term) { size = sat(size + x.term(t, s)) })
		return size
	case ast.Set:
		size := int64(1)
		v.Foreach(func(t *ast.Term) { size = sat(size + x.term(t, s)) })
		return size
	case ast.Object:
		size := int64(1)
		v.Foreach(func(k, t *ast.Term) { size = sat(size + x.term(k, s) + x.term(t, s)) })
		return size
	case *ast.ArrayComprehension:
		in := s.inner(v.Body)
		return sat(x.term(v.Term, in) + x.body(v.Body, in))
	case *ast.SetComprehension:
		in := s.inner(v.Body)
		return sat(x.term(v.Term, in) + x.body(v.Body, in))
	case *ast.ObjectComprehension:
		in := s.inner(v.Body)
		return sat(x.term(v.Key, in) + x.term(v.Value, in) + x.body(v.Body, in))
	}
	return 1
}

func (x *expansion) variable(v ast.Var, s *scope) int64 {
	if owner := s.owner(v); owner != nil {
		return owner.variable(x, v)
	}
	if p, ok := s.imports[v]; ok {
		return x.path(p)
	}
	if p := s.pkg + "." + string(v); len(x.rules[p]) > 0 {
		return x.rule(p)
	}
	return 1
}

func (x *expansion) ref(r ast.Ref, s *scope) int64 {
	head, ok := r[0].Value.(ast.Var)
	if !ok {
		return x.terms(r, s)
	}
	rest := dotted(r)
	if _, after, nested := strings.Cut(rest, "."); nested {
		rest = after
	} else {
		rest = ""
	}
	switch {
	case head.Equal(ast.DefaultRootDocument.Value):
		return x.path(rest)
	case s.owner(head) != nil:
		return x.variable(head, s)
	}
	if p, ok := s.imports[head]; ok {
		return x.path(strings.TrimSuffix(p+"."+rest, "."))
	}
	p := strings.TrimSuffix(s.pkg+"."+string(head)+"."+rest, ".")
	for q := p; len(q) > len(s.pkg); q = q[:strings.LastIndexByte(q, '.')] {
		if len(x.rules[q]) > 0 {
			return x.rule(q)
		}
	}
	return x.path(p)
}

// call is the size of a call's result: a function multiplies its arguments, and
// a built-in function that makes a composite value adds them up.
func (x *expansion) call(terms []*ast.Term, s *scope) int64 {
	args := x.terms(terms[1:], s)
	op, ok := terms[0].Value.(ast.Ref)
	if !ok {
		return args
	}
	if b, ok := x.builtins[op.String()]; ok {
		switch b.Decl.Result().(type) {
		case types.Number, types.Boolean:
			return 1
		}
		return args
	}
	size := x.ref(op, s)
	if size > maxExpansion || args > maxExpansion {
		return maxExpansionTotal + 1
	}
	return size * args
}

// dotted is the constant beginning of a reference, with dots.
func dotted(r ast.Ref) string {
	var b strings.Builder
	for i, t := range r {
		switch v := t.Value.(type) {
		case ast.Var:
			if i > 0 {
				return b.String()
			}
			b.WriteString(string(v))
		case ast.String:
			b.WriteString("." + string(v))
		default:
			return b.String()
		}
	}
	return b.String()
}

func sat(n int64) int64 { return min(n, 1<<40) }
