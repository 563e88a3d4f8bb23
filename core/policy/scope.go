package policy

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// shaper knows the rules of a revision by path, and the shapes of their values.
type shaper struct {
	rules    *ruleTree
	builtins map[string]*ast.Builtin
}

// ruleTree is the rules below one path.
type ruleTree struct {
	children map[string]*ruleTree
	rules    []*ast.Rule
	shape    *shape
}

func newShaper(modules map[string]*ast.Module) *shaper {
	x := &shaper{rules: &ruleTree{}, builtins: map[string]*ast.Builtin{}}
	for _, b := range ast.Builtins {
		x.builtins[b.Name] = b
	}
	for _, name := range sortedNames(modules) {
		for _, r := range modules[name].Rules {
			x.rules.add(r)
		}
	}
	return x
}

func (t *ruleTree) add(r *ast.Rule) {
	head := r.Head.Ref()
	path := append(slices.Clone(r.Module.Package.Path[1:]), ast.StringTerm(head[0].Value.String()))
	for _, k := range append(path, head[1:]...) {
		name, ok := k.Value.(ast.String)
		if !ok {
			break
		}
		if t.children == nil {
			t.children = map[string]*ruleTree{}
		}
		if t.children[string(name)] == nil {
			t.children[string(name)] = &ruleTree{}
		}
		t = t.children[string(name)]
	}
	t.rules = append(t.rules, r)
}

// document is the shape of what a path below data stands for.
func (x *shaper) document(t *ruleTree, keys []*ast.Term) *shape {
	for i, k := range keys {
		if t.rules != nil {
			return x.value(t).along(keys[i:])
		}
		name, ok := constant[ast.String](k)
		if !ok {
			return x.value(t).along(keys[i:])
		}
		if t = t.children[string(name)]; t == nil {
			return scalar() // a base document
		}
	}
	return x.value(t)
}

// value is the shape of everything at and below a path.
func (x *shaper) value(t *ruleTree) *shape {
	if t.shape != nil {
		return t.shape
	}
	t.shape = scalar() // while it is computed: recursion, which the compiler refuses
	var values []*shape
	for _, r := range t.rules {
		for e := r; e != nil; e = e.Else {
			values = append(values, x.head(e))
		}
	}
	if len(t.children) > 0 {
		object := &shape{fields: map[string]*shape{}}
		for _, name := range sortedNames(t.children) {
			object.fields[name] = x.value(t.children[name])
		}
		values = append(values, object)
	}
	t.shape = choice(values...)
	return t.shape
}

func (x *shaper) head(r *ast.Rule) *shape {
	s := x.ruleScope(r)
	out := scalar()
	switch {
	case r.Head.Value != nil && r.Head.Key == nil:
		out = x.term(r.Head.Value, s)
	case r.Head.Key != nil:
		out = collection(x.term(r.Head.Key, s))
		if r.Head.Value != nil {
			out = collection(x.term(r.Head.Value, s))
		}
	}
	for _, k := range r.Head.Ref()[1:] {
		if _, ok := constant[ast.String](k); !ok {
			out = &shape{item: out, parts: []*shape{x.term(k, s)}}
		}
	}
	return out
}

// scope knows what the variables of one body stand for, as far as the parse
// tree says: each one with every value that it is set equal to.
type scope struct {
	outer   *scope
	pkg     []*ast.Term
	imports map[ast.Var][]*ast.Term
	defs    map[ast.Var][]definition
	shapes  map[ast.Var]*shape
}

// definition says that a variable is the part of a term that the keys lead to.
type definition struct {
	term *ast.Term
	keys []*ast.Term // nil elements stand for any key
}

func (x *shaper) ruleScope(r *ast.Rule) *scope {
	s := &scope{pkg: r.Module.Package.Path[1:], imports: map[ast.Var][]*ast.Term{}}
	for _, i := range r.Module.Imports {
		ref, ok := i.Path.Value.(ast.Ref)
		if !ok || !ref[0].Equal(ast.DefaultRootDocument) {
			continue
		}
		name := i.Alias
		if last, ok := constant[ast.String](ref[len(ref)-1]); ok && name == "" {
			name = ast.Var(last)
		}
		s.imports[name] = ref[1:]
	}
	s = x.inner(s, r.Body)
	ast.WalkVars(r.Head.Args, func(v ast.Var) bool {
		s.defs[v] = slices.Clip(s.defs[v])
		return false
	})
	return s
}

// inner is the scope of a body inside another one.
func (x *shaper) inner(s *scope, b ast.Body) *scope {
	in := &scope{outer: s, pkg: s.pkg, imports: s.imports, defs: map[ast.Var][]definition{}, shapes: map[ast.Var]*shape{}}
	for _, e := range b {
		in.learn(e)
	}
	return in
}

func (s *scope) learn(e *ast.Expr) {
	switch t := e.Terms.(type) {
	case []*ast.Term:
		if len(t) != 3 {
			return
		}
		switch t[0].Value.String() {
		case ast.Assign.Name:
			s.equate(t[1], definition{term: t[2]})
		case ast.Equality.Name:
			s.equate(t[1], definition{term: t[2]})
			s.equate(t[2], definition{term: t[1]})
		}
	case *ast.SomeDecl:
		for _, symbol := range t.Symbols {
			switch v := symbol.Value.(type) {
			case ast.Call:
				last := len(v) - 1
				s.iterate(v[last], v[1:last]...)
			case ast.Var:
				s.defs[v] = slices.Clip(s.defs[v])
			}
		}
	}
}

// iterate says that the patterns stand for the elements of a collection.
func (s *scope) iterate(domain *ast.Term, patterns ...*ast.Term) {
	for _, p := range patterns {
		if p != nil {
			s.equate(p, definition{term: domain, keys: []*ast.Term{nil}})
		}
	}
}

// equate says that a pattern's variables are the parts of a value at their places.
func (s *scope) equate(pattern *ast.Term, d definition) {
	part := func(key *ast.Term) definition { return definition{d.term, append(slices.Clip(d.keys), key)} }
	switch p := pattern.Value.(type) {
	case ast.Var:
		s.defs[p] = append(s.defs[p], d)
	case *ast.Array:
		for i := range p.Len() {
			s.equate(p.Elem(i), part(ast.IntNumberTerm(i)))
		}
	case ast.Object:
		p.Foreach(func(k, v *ast.Term) { s.equate(v, part(k)) })
	}
}

// owner is the scope that defines the variable, nil for none.
func (s *scope) owner(v ast.Var) *scope {
	for ; s != nil; s = s.outer {
		if _, ok := s.defs[v]; ok {
			return s
		}
	}
	return nil
}

// variable is the shape of what the variable stands for.
func (s *scope) variable(x *shaper, v ast.Var) *shape {
	if known, ok := s.shapes[v]; ok {
		return known
	}
	s.shapes[v] = scalar() // while it is computed: a variable that stands for itself
	var values []*shape
	for _, d := range s.defs[v] {
		values = append(values, x.term(d.term, s).along(d.keys))
	}
	s.shapes[v] = choice(values...)
	return s.shapes[v]
}

func sortedNames[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
