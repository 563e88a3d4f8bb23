package policy

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"
)

// shape is what is known about a value before compilation. Shapes share their
// parts, so that the shape of a value whose expansion is huge stays small.
type shape struct {
	fields map[string]*shape // of an object literal
	elems  []*shape          // of an array literal
	item   *shape            // of a collection: any element
	alts   []*shape          // one of these
	parts  []*shape          // what else it is made of
	size   int64             // expanded; 0: not computed
}

// scalar is the shape of everything that can't grow.
func scalar() *shape { return &shape{size: 1} }

func collection(item *shape) *shape { return &shape{item: item} }

func (s *shape) isScalar() bool {
	return s.fields == nil && s.elems == nil && s.item == nil && s.alts == nil && s.parts == nil
}

// expanded is the number of nodes of the value when nothing in it is shared.
func (s *shape) expanded() int64 {
	if s.size > 0 {
		return s.size
	}
	s.size = 1 // a recursive shape, which the compiler refuses
	size := int64(1)
	for _, p := range s.fields {
		size = saturated(size + p.expanded())
	}
	for _, list := range [][]*shape{s.elems, s.alts, s.parts} {
		for _, p := range list {
			size = saturated(size + p.expanded())
		}
	}
	if s.item != nil {
		size = saturated(size + s.item.expanded())
	}
	s.size = size
	return size
}

func saturated(n int64) int64 { return min(n, 1<<40) }

// choice is the shape of a value that is one of several.
func choice(list ...*shape) *shape {
	var alts []*shape
	add := func(more ...*shape) {
		for _, s := range more {
			if !slices.Contains(alts, s) {
				alts = append(alts, s)
			}
		}
	}
	for _, s := range list {
		switch {
		case s == nil || s.isScalar():
		case s.alts != nil:
			add(s.alts...)
		default:
			add(s)
		}
	}
	switch len(alts) {
	case 0:
		return scalar()
	case 1:
		return alts[0]
	}
	return &shape{alts: alts}
}

// at is the shape of the part at a key; nil stands for any key.
func (s *shape) at(key *ast.Term) *shape {
	var parts []*shape
	for _, a := range s.alts {
		parts = append(parts, a.at(key))
	}
	for _, p := range s.parts {
		parts = append(parts, p.at(key))
	}
	name, isText := constant[ast.String](key)
	index, isNumber := constant[ast.Number](key)
	switch {
	case s.fields != nil && isText:
		parts = append(parts, s.fields[string(name)])
	case s.fields != nil:
		parts = slices.AppendSeq(parts, maps.Values(s.fields))
	}
	if i, ok := index.Int(); isNumber && ok && i >= 0 && i < len(s.elems) {
		parts = append(parts, s.elems[i])
	} else if !isNumber {
		parts = append(parts, s.elems...)
	}
	return choice(append(parts, s.item)...)
}

func constant[T ast.Value](t *ast.Term) (v T, ok bool) {
	if t != nil {
		v, ok = t.Value.(T)
	}
	return v, ok
}

// term is the shape of a term in a scope.
func (x *shaper) term(t *ast.Term, s *scope) *shape {
	switch v := t.Value.(type) {
	case ast.Var:
		return x.variable(v, s)
	case ast.Ref:
		return x.ref(v, s)
	case ast.Call:
		return x.call(v, s)
	case *ast.Array:
		out := &shape{elems: make([]*shape, 0, v.Len())}
		v.Foreach(func(t *ast.Term) { out.elems = append(out.elems, x.term(t, s)) })
		return out
	case ast.Set:
		out := &shape{parts: []*shape{scalar()}}
		v.Foreach(func(t *ast.Term) { out.elems = append(out.elems, x.term(t, s)) })
		return out
	case ast.Object:
		out := &shape{fields: map[string]*shape{}}
		v.Foreach(func(k, t *ast.Term) {
			if name, ok := k.Value.(ast.String); ok {
				out.fields[string(name)] = x.term(t, s)
				return
			}
			out.parts = append(out.parts, x.term(k, s))
			out.item = choice(out.item, x.term(t, s))
		})
		return out
	case *ast.ArrayComprehension:
		return collection(x.term(v.Term, x.inner(s, v.Body)))
	case *ast.SetComprehension:
		return collection(x.term(v.Term, x.inner(s, v.Body)))
	case *ast.ObjectComprehension:
		in := x.inner(s, v.Body)
		return &shape{item: x.term(v.Value, in), parts: []*shape{x.term(v.Key, in)}}
	}
	return scalar()
}

func (x *shaper) variable(v ast.Var, s *scope) *shape {
	if owner := s.owner(v); owner != nil {
		return owner.variable(x, v)
	}
	return x.ref(ast.Ref{ast.NewTerm(v)}, s)
}

func (x *shaper) ref(r ast.Ref, s *scope) *shape {
	head, ok := r[0].Value.(ast.Var)
	if !ok {
		return x.term(r[0], s).along(r[1:])
	}
	if owner := s.owner(head); owner != nil {
		return owner.variable(x, head).along(r[1:])
	}
	if head.Equal(ast.DefaultRootDocument.Value) {
		return x.document(x.rules, r[1:])
	}
	if path, ok := s.imports[head]; ok {
		return x.document(x.rules, append(slices.Clone(path), r[1:]...))
	}
	path := append(slices.Clone(s.pkg), ast.StringTerm(string(head)))
	return x.document(x.rules, append(path, r[1:]...))
}

func (s *shape) along(keys []*ast.Term) *shape {
	for _, k := range keys {
		s = s.at(k)
	}
	return s
}

// call is the shape of a call's result. A function's is computed once, with
// arguments that are taken for scalars.
func (x *shaper) call(terms []*ast.Term, s *scope) *shape {
	op, ok := terms[0].Value.(ast.Ref)
	if !ok {
		return scalar()
	}
	b, ok := x.builtins[op.String()]
	if !ok {
		return x.ref(op, s)
	}
	switch b.Decl.Result().(type) {
	case types.Number, types.Boolean, types.String:
		return scalar()
	}
	args := make([]*shape, 0, len(terms)-1)
	for _, t := range terms[1:] {
		args = append(args, x.term(t, s))
	}
	switch b.Name {
	case "max", "min":
		return args[0].at(nil)
	case "sort", "array.reverse", "array.slice", "object.filter", "object.remove", "json.filter", "json.remove":
		return args[0]
	case "object.get":
		key := terms[2]
		if path, ok := key.Value.(*ast.Array); ok {
			found := args[0]
			path.Foreach(func(k *ast.Term) { found = found.at(k) })
			return choice(found, args[2])
		}
		return choice(args[0].at(key), args[2])
	}
	return &shape{parts: args}
}
