package core_test

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
	"testing"
)

// The house numbers: what is longer or deeper than this is hard to read.
const (
	mostFileLines     = 500
	mostFuncLinesCore = 60
	mostFuncLines     = 80
	mostNesting       = 3
)

// TestHouseNumbers holds the size of files and functions and the depth of nesting.
func TestHouseNumbers(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.lines > mostFileLines {
			t.Errorf("%s: %d lines, at most %d", s.path, s.lines, mostFileLines)
		}
		most := mostFuncLines
		if strings.HasPrefix(s.dir, "core") && !s.test {
			most = mostFuncLinesCore
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			if n := s.span(f) - tableLines(s, f); n > most {
				t.Errorf("%s: %s has %d lines beside its tables, at most %d", s.pos(f), f.Name.Name, n, most)
			}
			if n := nesting(f.Body); n > mostNesting && !s.test {
				t.Errorf("%s: %s nests %d deep, at most %d", s.pos(f), f.Name.Name, n, mostNesting)
			}
		}
	}
}

// tableLines are the lines of a function that are data: its composite literals,
// unless code hides in them.
func tableLines(s source, f *ast.FuncDecl) int {
	lines := 0
	ast.Inspect(f.Body, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || holdsCode(lit) {
			return true
		}
		lines += s.span(lit) - 1
		return false
	})
	return lines
}

func holdsCode(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		_, code := n.(*ast.FuncLit)
		found = found || code
		return !found
	})
	return found
}

// nesting is how many statements that branch or loop stand inside one another.
// An else-if is not deeper than its if.
func nesting(n ast.Node) int {
	deepest := 0
	ast.Inspect(n, func(child ast.Node) bool {
		if child == nil || child == n {
			return true
		}
		switch c := child.(type) {
		case *ast.IfStmt:
			deepest = max(deepest, nestingOfIf(c))
			return false
		case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			deepest = max(deepest, 1+nesting(c))
			return false
		}
		return true
	})
	return deepest
}

func nestingOfIf(s *ast.IfStmt) int {
	deepest := 1 + nesting(s.Body)
	switch e := s.Else.(type) {
	case *ast.IfStmt:
		deepest = max(deepest, nestingOfIf(e))
	case *ast.BlockStmt:
		deepest = max(deepest, 1+nesting(e))
	}
	return deepest
}

// TestNoSurprises holds what makes a package's behaviour depend on more than its
// callers: init functions, panics in the engine and package variables that change.
func TestNoSurprises(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		vars := packageVars(s.file)
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			if f.Name.Name == "init" && f.Recv == nil {
				t.Errorf("%s: an init function", s.pos(f))
			}
			checkBody(t, s, f, vars)
		}
	}
}

func checkBody(t *testing.T, s source, f *ast.FuncDecl, vars map[string]bool) {
	local := localNames(f)
	ast.Inspect(f.Body, func(n ast.Node) bool {
		var changed []ast.Expr
		switch n := n.(type) {
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "panic" && strings.HasPrefix(s.dir, "core") {
				t.Errorf("%s: %s panics: return an error", s.pos(n), f.Name.Name)
			}
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				changed = n.Lhs
			}
		case *ast.IncDecStmt:
			changed = []ast.Expr{n.X}
		}
		for _, e := range changed {
			if name := root(e); vars[name] && !local[name] {
				t.Errorf("%s: %s changes the package variable %s", s.pos(e), f.Name.Name, name)
			}
		}
		return true
	})
}

func packageVars(f *ast.File) map[string]bool {
	vars := map[string]bool{}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				vars[name.Name] = name.Name != "_"
			}
		}
	}
	return vars
}

// localNames are the names that a function declares itself.
func localNames(f *ast.FuncDecl) map[string]bool {
	names := map[string]bool{}
	note := func(e ast.Expr) {
		if id, ok := e.(*ast.Ident); ok {
			names[id.Name] = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					note(e)
				}
			}
		case *ast.RangeStmt:
			note(n.Key)
			note(n.Value)
		case *ast.Field:
			for _, id := range n.Names {
				note(id)
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				note(id)
			}
		}
		return true
	})
	return names
}

// root is the variable that an assignment changes: x for x, x.f, x[i] and *x.
func root(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return ""
		}
	}
}

// TestNames holds the words that say nothing out of package names.
func TestNames(t *testing.T) {
	t.Parallel()
	banned := map[string]bool{
		"util": true, "utils": true, "common": true, "helper": true, "helpers": true, "lib": true, "misc": true,
		"model": true, "models": true, "types": true, "manager": true,
	}
	for _, s := range sources(t) {
		if name := s.file.Name.Name; banned[name] || banned[path.Base(s.dir)] {
			t.Errorf("%s: package %s: name it for what it does", s.path, name)
		}
	}
}
