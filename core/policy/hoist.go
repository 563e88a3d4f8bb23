package policy

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// reach is what a rule's value depends on beside other rules.
type reach uint8

const (
	reachStatic reach = iota // configuration alone
	reachState               // the snapshot as well
	reachInput               // the request as well
)

// hoist is a rule that does not read the request, so that its value is the same
// for every request in one snapshot, or in one revision.
type hoist struct {
	path  []string // below data
	reach reach
	query *query
}

// hoists finds the rules below an entry point that don't read the request, and
// the sets and objects that are looked up by key: OPA would evaluate all rules
// of such a one again for every key, unless its whole was evaluated before.
func (p *program) hoists(entry ast.Ref) (hoists []hoist, keyed []ast.Ref) {
	a := p.reaching()
	groups := a.groups(entry)
	for _, name := range sortedNames(groups) {
		g := groups[name]
		if g.tree {
			continue
		}
		if g.reach == reachInput {
			if g.partial && a.keyed[name] {
				keyed = append(keyed, g.ref)
			}
			continue
		}
		if q, err := p.query(g.ref); err == nil && !g.function {
			hoists = append(hoists, hoist{path: strings.Split(name, "."), reach: g.reach, query: q})
		}
	}
	return hoists, keyed
}

// group is all rules of one name in one package.
type group struct {
	ref                     ast.Ref
	reach                   reach
	function, partial, tree bool
}

type reaching struct {
	compiler *ast.Compiler
	seen     map[*ast.Rule]reach
	order    []*ast.Rule
	keyed    map[string]bool
	inputs   map[string]bool // the fields of input that are read
	whole    bool            // input is read in a way that no field names
}

func (p *program) reaching() *reaching {
	return &reaching{compiler: p.compiler, seen: map[*ast.Rule]reach{}, keyed: map[string]bool{}, inputs: map[string]bool{}}
}

// reads reports which fields of input the rules of an entry point read; all is
// true when that can't be told.
func (p *program) reads(entry ast.Ref) (fields map[string]bool, all bool) {
	a := p.reaching()
	for _, r := range p.compiler.GetRules(entry) {
		a.rule(r)
	}
	return a.inputs, a.whole
}

func (a *reaching) groups(entry ast.Ref) map[string]*group {
	for _, r := range a.compiler.GetRules(entry) {
		a.rule(r)
	}
	groups := map[string]*group{}
	for _, r := range a.order {
		ref := r.Ref()
		n := len(r.Module.Package.Path) + 1
		name := dotted(ref[:n])[len("data."):]
		g := groups[name]
		if g == nil {
			g = &group{ref: ref[:n]}
			groups[name] = g
		}
		g.reach = max(g.reach, a.seen[r])
		g.function = g.function || len(r.Head.Args) > 0
		g.partial = g.partial || len(ref) > n || r.Head.Key != nil
		for _, t := range ref[n:] {
			_, v := t.Value.(ast.Var)
			g.tree = g.tree || !v
		}
	}
	return groups
}

// rule visits a rule, its else branches and all that it depends on.
func (a *reaching) rule(r *ast.Rule) reach {
	if got, ok := a.seen[r]; ok {
		return got
	}
	a.seen[r] = reachStatic // recursion is refused by the compiler
	got := a.documents(r)
	for dep := range a.compiler.Graph.Dependencies(r) {
		if d, ok := dep.(*ast.Rule); ok {
			got = max(got, a.rule(d))
		}
	}
	if r.Else != nil {
		got = max(got, a.rule(r.Else))
	}
	a.seen[r] = got
	a.order = append(a.order, r)
	return got
}

// documents is what the rule itself reads beside rules.
func (a *reaching) documents(r *ast.Rule) reach {
	got := reachStatic
	var v *ast.GenericVisitor
	v = ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case *ast.Rule:
			return x != r // an else branch is visited as a rule of its own
		case ast.Ref:
			got = max(got, a.document(x))
			for _, t := range x[1:] {
				v.Walk(t)
			}
			return true
		case ast.Var:
			if x.Equal(ast.InputRootDocument.Value) {
				got, a.whole = reachInput, true
			}
		}
		return false
	})
	v.Walk(r)
	return got
}

func (a *reaching) document(ref ast.Ref) reach {
	if ref[0].Equal(ast.InputRootDocument) {
		if len(ref) > 1 {
			if name, ok := ref[1].Value.(ast.String); ok {
				a.inputs[string(name)] = true
				return reachInput
			}
		}
		a.whole = true
		return reachInput
	}
	if !ref[0].Equal(ast.DefaultRootDocument) {
		return reachStatic
	}
	if len(ref) < 2 {
		return reachState
	}
	first, ok := ref[1].Value.(ast.String)
	switch {
	case !ok:
		return reachState
	case string(first) == namespace:
		a.note(ref)
		return reachStatic
	case first == "config" || first == "targets":
		return reachStatic
	}
	return reachState
}

// note remembers the set or object that a reference looks a key up in.
func (a *reaching) note(ref ast.Ref) {
	for n := 2; n < len(ref); n++ {
		name := dotted(ref[:n])
		a.keyed[strings.TrimPrefix(name, "data.")] = true
	}
}

// hoisted holds values of rules by path. It is immutable once filled, and
// shared by all requests of a snapshot.
type hoisted struct {
	children  map[string]*hoisted
	value     *ast.Term
	undefined bool
}

func (h *hoisted) put(path []string, value *ast.Term) {
	for _, name := range path {
		next := h.children[name]
		if next == nil {
			next = &hoisted{}
			if h.children == nil {
				h.children = map[string]*hoisted{}
			}
			h.children[name] = next
		}
		h = next
	}
	h.value, h.undefined = value, value == nil
}

// find returns the node of a reference below data, nil when there is none.
func (h *hoisted) find(ref ast.Ref) *hoisted {
	for _, t := range ref[1:] {
		name, ok := t.Value.(ast.String)
		if !ok {
			return nil
		}
		if h = h.children[string(name)]; h == nil {
			return nil
		}
	}
	return h
}

// hoistCache is the cache of one evaluation: what was hoisted first, then what
// the evaluation found itself. Frames that a with pushes don't see the hoisted.
type hoistCache struct {
	topdown.VirtualCache
	shared *hoisted
	depth  int
}

func newHoistCache(shared *hoisted) *hoistCache {
	return &hoistCache{VirtualCache: topdown.NewVirtualCache(), shared: shared}
}

// Push begins a frame.
func (c *hoistCache) Push() {
	c.depth++
	c.VirtualCache.Push()
}

// Pop ends a frame.
func (c *hoistCache) Pop() {
	c.depth--
	c.VirtualCache.Pop()
}

// Get returns a rule's value; true means that it is known to be undefined.
func (c *hoistCache) Get(ref ast.Ref) (*ast.Term, bool) {
	if c.depth == 0 && c.shared != nil {
		if n := c.shared.find(ref); n != nil && (n.value != nil || n.undefined) {
			return n.value, n.undefined
		}
	}
	return c.VirtualCache.Get(ref)
}

// dotted is the constant beginning of a reference, with dots.
func dotted(r ast.Ref) string {
	var b strings.Builder
	b.WriteString(r[0].Value.String())
	for _, t := range r[1:] {
		s, ok := t.Value.(ast.String)
		if !ok {
			break
		}
		b.WriteString("." + string(s))
	}
	return b.String()
}
