package policy

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// scope knows what the variables of one body stand for, as far as the parse
// tree says: each one with every term that it is set equal to.
type scope struct {
	outer   *scope
	pkg     string
	imports map[ast.Var]string
	defs    map[ast.Var][]*ast.Term
	sizes   map[ast.Var]int64
}

func (x *expansion) ruleScope(r *ast.Rule) *scope {
	s := &scope{pkg: packagePath(r.Module), imports: map[ast.Var]string{}}
	for _, i := range r.Module.Imports {
		ref, ok := i.Path.Value.(ast.Ref)
		if !ok || !ref[0].Equal(ast.DefaultRootDocument) {
			continue
		}
		name := i.Alias
		if name == "" {
			last, _ := ref[len(ref)-1].Value.(ast.String)
			name = ast.Var(last)
		}
		s.imports[name] = dotted(ref)[len("data."):]
	}
	s = s.inner(r.Body)
	ast.WalkVars(r.Head.Args, func(v ast.Var) bool {
		s.define(v, nil)
		return false
	})
	return s
}

// inner is the scope of a body inside this one.
func (s *scope) inner(b ast.Body) *scope {
	in := &scope{outer: s, pkg: s.pkg, imports: s.imports, defs: map[ast.Var][]*ast.Term{}, sizes: map[ast.Var]int64{}}
	for _, e := range b {
		in.learn(e)
	}
	return in
}

// define adds a term to what the variable stands for; nil says only that it is
// local.
func (s *scope) define(v ast.Var, t *ast.Term) {
	terms := s.defs[v]
	if t != nil {
		terms = append(terms, t)
	}
	s.defs[v] = terms
}

func (s *scope) learn(e *ast.Expr) {
	switch t := e.Terms.(type) {
	case []*ast.Term:
		if len(t) != 3 {
			return
		}
		switch t[0].Value.String() {
		case ast.Assign.Name:
			s.equate(t[1], t[2])
		case ast.Equality.Name:
			s.equate(t[1], t[2])
			s.equate(t[2], t[1])
		}
	case *ast.SomeDecl:
		for _, symbol := range t.Symbols {
			call, ok := symbol.Value.(ast.Call)
			if !ok {
				s.equate(symbol, nil)
				continue
			}
			for _, arg := range call[1 : len(call)-1] {
				s.equate(arg, call[len(call)-1])
			}
		}
	}
}

// equate says that the variables of a pattern stand for parts of a term.
func (s *scope) equate(pattern, t *ast.Term) {
	switch pattern.Value.(type) {
	case ast.Var, *ast.Array, ast.Object:
		ast.WalkVars(pattern, func(v ast.Var) bool {
			s.define(v, t)
			return false
		})
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

// variable is the size of what the variable stands for.
func (s *scope) variable(x *expansion, v ast.Var) int64 {
	if size, ok := s.sizes[v]; ok {
		return size
	}
	s.sizes[v] = 1 // a variable that stands for itself
	size := int64(0)
	for _, t := range s.defs[v] {
		size = sat(size + x.term(t, s))
	}
	size = max(size, 1)
	s.sizes[v] = size
	return size
}

func sortedNames[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
