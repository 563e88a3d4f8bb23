package core_test

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// TestDocumented holds that every package and every exported name says what it
// is: the documentation is where the promises stand.
func TestDocumented(t *testing.T) {
	t.Parallel()
	packages := map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		packages[s.dir] = packages[s.dir] || s.file.Doc != nil
		for _, d := range s.file.Decls {
			checkDecl(t, s, d)
		}
	}
	for dir, documented := range packages {
		if !documented {
			t.Errorf("package %s has no doc comment", dir)
		}
	}
}

func checkDecl(t *testing.T, s source, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && receiverExported(d) {
			checkDoc(t, s, d, d.Name.Name, d.Doc)
		}
	case *ast.GenDecl:
		checkGroup(t, s, d)
	}
}

// receiverExported is true for functions, and for methods of exported types.
func receiverExported(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	e := f.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

func checkGroup(t *testing.T, s source, g *ast.GenDecl) {
	for _, spec := range g.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				checkDoc(t, s, spec, spec.Name.Name, either(spec.Doc, g.Doc))
			}
			if i, ok := spec.Type.(*ast.InterfaceType); ok && spec.Name.IsExported() {
				checkMethods(t, s, i)
			}
		case *ast.ValueSpec:
			checkValue(t, s, g, spec)
		}
	}
}

// checkValue lets a group's own comment stand for the values in it.
func checkValue(t *testing.T, s source, g *ast.GenDecl, spec *ast.ValueSpec) {
	for _, name := range spec.Names {
		switch {
		case !name.IsExported():
		case g.Lparen == token.NoPos:
			checkDoc(t, s, spec, name.Name, g.Doc)
		case spec.Doc == nil && spec.Comment == nil && g.Doc == nil:
			t.Errorf("%s: %s has no doc comment, nor has its group", s.pos(spec), name.Name)
		}
	}
}

func checkMethods(t *testing.T, s source, i *ast.InterfaceType) {
	for _, m := range i.Methods.List {
		if len(m.Names) == 1 && m.Names[0].IsExported() {
			checkDoc(t, s, m, m.Names[0].Name, either(m.Doc, m.Comment))
		}
	}
}

func either(a, b *ast.CommentGroup) *ast.CommentGroup {
	if a != nil {
		return a
	}
	return b
}

// checkDoc wants a comment that starts with the name and ends with a full stop.
func checkDoc(t *testing.T, s source, n ast.Node, name string, doc *ast.CommentGroup) {
	if doc == nil {
		t.Errorf("%s: %s has no doc comment", s.pos(n), name)
		return
	}
	text := strings.TrimSpace(doc.Text())
	first := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\n' || r == ',' || r == ':' })
	starts := len(first) > 1 && (first[0] == name || first[1] == name && strings.Contains(" A An The ", " "+first[0]+" "))
	// "Tasks, Audiences and Qualities return" speaks for its neighbours as well.
	if !starts && !strings.Contains(text, name) {
		t.Errorf("%s: the comment of %s does not start with its name", s.pos(n), name)
	}
	last := text[len(text)-1]
	if last != '.' && last != ')' && last != '}' && !strings.Contains(text, "\n\t") {
		t.Errorf("%s: the comment of %s does not end with a full stop", s.pos(n), name)
	}
}
