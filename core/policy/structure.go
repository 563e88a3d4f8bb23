package policy

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// The limits of the parse tree. Compilation can't be stopped and its time is
// quadratic in some of these and exponential in the depth of closures, so they
// are checked before it. The shipped policies stay below a tenth of them.
const (
	maxClosureDepth = 6
	maxRules        = 300 // a package
	maxExpressions  = 200 // a body
	maxElse         = 50  // a chain
	namespace       = "spillway"
)

// checkStructure holds the parse trees to the limits.
func checkStructure(s *source) Problems {
	rules := map[string]int{}
	return append(checkModules(s.modules, false, rules), checkModules(s.tests, true, rules)...)
}

// checkModules counts the rules of each package in rules.
func checkModules(modules map[string]*ast.Module, test bool, rules map[string]int) Problems {
	var ps Problems
	for _, name := range sortedNames(modules) {
		m := modules[name]
		ps = append(ps, checkPackage(m, test)...)
		pkg := packagePath(m)
		for _, r := range m.Rules {
			if rules[pkg]++; rules[pkg] == maxRules+1 {
				ps = append(ps, problemAt(r.Location, CodeStructure, "package %s has more than %d rules", pkg, maxRules))
			}
			ps = append(ps, checkRule(r, test)...)
		}
	}
	return ps
}

func checkPackage(m *ast.Module, test bool) Problems {
	path := packagePath(m)
	switch {
	case path != namespace && !strings.HasPrefix(path, namespace+"."):
		return Problems{problemAt(m.Package.Location, CodeStructure, "package %s is not inside %s", path, namespace)}
	case test && !strings.HasSuffix(path, "_test"):
		return Problems{problemAt(m.Package.Location, CodeStructure, "a test's package ends in _test, not as in %s", path)}
	case !test && strings.HasSuffix(path, "_test"):
		return Problems{problemAt(m.Package.Location, CodeStructure, "package %s is for tests: name the file …_test.rego", path)}
	}
	return nil
}

func checkRule(r *ast.Rule, test bool) Problems {
	var ps Problems
	chain := 0
	for e := r; e != nil; e = e.Else {
		if chain++; chain == maxElse+2 {
			ps = append(ps, problemAt(e.Location, CodeStructure, "more than %d else branches", maxElse))
		}
	}
	depth := 0
	deep, with := false, false
	v := ast.NewBeforeAfterVisitor(func(x any) bool {
		if isClosure(x) {
			depth++
		}
		if depth > maxClosureDepth && !deep {
			deep = true
			ps = append(ps, problemAt(r.Location, CodeStructure, "comprehensions nest more than %d deep", maxClosureDepth))
		}
		switch x := x.(type) {
		case *ast.Expr:
			if !test && unifies(x) {
				ps = append(ps, problemAt(x.Location, CodeStructure, "use := to assign or == to compare: what = makes of values can't be bounded"))
			}
		case ast.Body:
			if len(x) > maxExpressions {
				ps = append(ps, problemAt(x[maxExpressions].Location, CodeStructure, "more than %d expressions in a body", maxExpressions))
			}
		case *ast.With:
			if !test && !with {
				with = true
				ps = append(ps, problemAt(x.Location, CodeStructure, "with is for tests"))
			}
		}
		return deep
	}, func(x any) {
		if isClosure(x) {
			depth--
		}
	})
	v.Walk(r)
	return ps
}

// unifies reports a = in a body. With := every variable has one definition,
// before its use, which is what the expansion check relies on.
func unifies(e *ast.Expr) bool {
	terms, ok := e.Terms.([]*ast.Term)
	return ok && len(terms) == 3 && terms[0].Value.String() == ast.Equality.Name
}

func isClosure(x any) bool {
	switch x.(type) {
	case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension, *ast.Every, *ast.Not:
		return true
	}
	return false
}

// packagePath is the package's path below data, with dots.
func packagePath(m *ast.Module) string {
	return strings.TrimPrefix(m.Package.Path.String(), "data.")
}
