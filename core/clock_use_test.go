package core_test

import (
	"go/ast"
	"slices"
	"testing"
)

// clockFile is the one file of the engine that may touch real time.
const clockFile = "core/clock.go"

// bare are the calls that would tie the engine to real time: everything here
// has a counterpart in core.Clock.
func bare() map[string][]string {
	return map[string][]string{
		"time": {
			"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick",
		},
		"context": {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
	}
}

// timeless reports the packages that get their time from a Clock or as an argument.
func timeless(s source) bool {
	rooms := []string{
		"core", "core/circuit", "core/retry", "core/limit", "core/health", "core/price", "core/access",
		"core/exchange", "core/stream", "core/transport",
	}
	return !s.test && s.path != clockFile && slices.Contains(rooms, s.dir)
}

// TestEngineUsesTheClock holds R1.9: with a bare goroutine or timer the engine
// could not run in virtual time, and the simulator would not repeat itself.
func TestEngineUsesTheClock(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if !timeless(s) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a bare go statement: use Clock.Go", s.pos(n))
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok && slices.Contains(bare()[pkg.Name], n.Sel.Name) {
					t.Errorf("%s: %s.%s: use the Clock", s.pos(n), pkg.Name, n.Sel.Name)
				}
			}
			return true
		})
	}
}
