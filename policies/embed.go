// Package policies carries the shipped policies: Rego modules, their tests and
// their data, as one set of files.
package policies

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.rego config
var shipped embed.FS

// Files returns the shipped policies by slash-separated path: Rego modules,
// their tests, and data files whose folder is their place below data. The map
// is the caller's own.
func Files() map[string]string {
	files := map[string]string{}
	// An embedded tree can't fail to be read.
	_ = fs.WalkDir(shipped, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.HasSuffix(path, ".rego") || strings.HasSuffix(path, ".json") {
			b, _ := shipped.ReadFile(path)
			files[path] = string(b)
		}
		return nil
	})
	return files
}
