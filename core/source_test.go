package core_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// module is the path that the repository's packages start with.
const module = "github.com/spillway-llm/spillway/"

// source is one hand-written Go file of the repository.
type source struct {
	// path and dir are relative to the repository's root, dir being the package.
	path, dir string
	test      bool
	fset      *token.FileSet
	file      *ast.File
	lines     int
}

// pos is a place for a finding.
func (s source) pos(n ast.Node) string {
	return s.path + ":" + strings.TrimPrefix(s.fset.Position(n.Pos()).String(), s.path+":")
}

// span is how many lines a node covers.
func (s source) span(n ast.Node) int {
	return s.fset.Position(n.End()).Line - s.fset.Position(n.Pos()).Line + 1
}

// sources parses the repository in this process, so that the test cache notices
// a change in any package; a call of the go tool would be answered from it.
func sources(t *testing.T) []source {
	t.Helper()
	repo := os.DirFS("..")
	var out []source
	err := fs.WalkDir(repo, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped(d.Name()):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_templ.go"):
			return nil
		}
		text, err := fs.ReadFile(repo, name)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		out = append(out, source{
			path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"),
			fset: fset, file: file, lines: strings.Count(string(text), "\n"),
		})
		return nil
	})
	if err != nil {
		t.Fatalf("read the repository: %v", err)
	}
	return out
}

func skipped(dir string) bool {
	return dir == "node_modules" || dir == "testdata" || len(dir) > 1 && dir[0] == '.'
}
