package core_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// room is what a package may import beside the standard library.
type room struct {
	// own are packages of this repository; "core/..." allows core and its rooms
	// except the gateway.
	own []string
	// foreign are prefixes of other modules' packages.
	foreign []string
}

// rooms is the table of docs/architecture.md. A new package has no arrows until
// it stands here.
func rooms() map[string]room {
	only := func(own ...string) room { return room{own: own} }
	mechanisms := []string{"core", "core/circuit", "core/retry", "core/limit", "core/health", "core/price"}
	wire := []string{"core", "core/price", "core/sse", "core/wire"}
	// What the two formats share without knowing each other.
	shared := []string{"core/wire/walk", "core/wire/quote", "core/wire/classify", "core/wire/reply", "core/wire/body"}
	format := append(slices.Clone(wire), shared...)
	return map[string]room{
		"core":                only("core/circuit", "core/retry", "core/limit", "core/health", "core/price"),
		"core/circuit":        only(),
		"core/retry":          only(),
		"core/limit":          only(),
		"core/health":         only(),
		"core/price":          only(),
		"core/sse":            only(),
		"core/audit":          only(),
		"core/wire":           only("core", "core/price", "core/sse"),
		"core/wire/walk":      only(),
		"core/wire/quote":     only(),
		"core/wire/classify":  only("core", "core/retry", "core/wire/walk"),
		"core/wire/reply":     only("core", "core/wire/quote"),
		"core/wire/body":      only("core", "core/wire", "core/wire/walk", "core/wire/quote"),
		"core/wire/anthropic": only(format...),
		"core/wire/openai":    only(format...),
		"core/wire/preset":    only("core"),
		"core/wire/wiretest":  only("core/..."),
		"core/wire/translate": only(append(slices.Clone(format), "core/wire/anthropic", "core/wire/openai")...),
		"core/stream":         only(wire...),
		"core/upstream":       only(wire...),
		"core/exchange": only(append(slices.Clone(wire), "core/circuit", "core/stream", "core/upstream",
			"core/wire/anthropic", "core/wire/openai", "core/wire/translate")...),
		"core/transport":  only("core", "core/exchange", "core/upstream", "core/wire"),
		"core/access":     only("core"),
		"core/demovendor": only("core/sse"),
		"core/simulate":   only(mechanisms...),
		"core/coretest":   only("core/..."),
		"core/policy":     {own: mechanisms, foreign: []string{"github.com/open-policy-agent/opa/"}},
		"core/gateway":    only("core/..."),
		"policies":        only(),
		"store":           {own: []string{"core/..."}, foreign: []string{"github.com/mattn/go-sqlite3"}},
		"web":             only(),
		"console": {
			own:     []string{"core/...", "web"},
			foreign: []string{"github.com/a-h/templ", "github.com/gorilla/websocket"},
		},
	}
}

// roomOf finds the entry for a package: its own, or the one of the folder above,
// because a sub-package of an adapter has the adapter's arrows.
func roomOf(table map[string]room, dir string) (room, bool) {
	if r, ok := table[dir]; ok {
		return r, true
	}
	for _, adapter := range []string{"store", "console"} {
		if strings.HasPrefix(dir, adapter+"/") {
			r := table[adapter]
			r.own = append(slices.Clone(r.own), adapter)
			return r, true
		}
	}
	return room{}, false
}

func (r room) allows(dir, imported string) bool {
	own, isOwn := strings.CutPrefix(imported, module)
	if !isOwn {
		standard := !strings.Contains(strings.Split(imported, "/")[0], ".")
		return standard || slices.ContainsFunc(r.foreign, func(f string) bool { return strings.HasPrefix(imported, f) })
	}
	if own == dir || slices.Contains(r.own, own) || strings.HasPrefix(own, dir+"/") && !strings.HasPrefix(dir, "core") {
		return true
	}
	inner := own == "core" || strings.HasPrefix(own, "core/") && own != "core/gateway"
	return inner && slices.Contains(r.own, "core/...")
}

// governed reports the packages whose arrows are held: all but the program,
// which wires everything, and what stands in a module of its own.
func governed(dir string) bool {
	first, _, _ := strings.Cut(dir, "/")
	return first == "core" || first == "policies" || first == "store" || first == "console" || first == "web"
}

func TestImportArrows(t *testing.T) {
	t.Parallel()
	table := rooms()
	for _, s := range sources(t) {
		if s.test || !governed(s.dir) {
			continue
		}
		r, ok := roomOf(table, s.dir)
		if !ok {
			t.Errorf("%s: package %s is not in the table of rooms: add it there and in docs/architecture.md", s.path, s.dir)
			continue
		}
		for _, spec := range s.file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatalf("%s: %v", s.pos(spec), err)
			}
			if !r.allows(s.dir, imported) {
				t.Errorf("%s: %s must not import %s", s.pos(spec), s.dir, imported)
			}
		}
	}
}

// TestImportArrows_Refuse plants the imports that the table is there to catch.
func TestImportArrows_Refuse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		dir, imported string
		want          bool
	}{
		{"core", module + "core/circuit", true},
		{"core", "context", true},
		{"core", module + "core/wire", false},
		{"core", module + "store", false},
		{"core", "github.com/open-policy-agent/opa/v1/rego", false},
		{"core/circuit", module + "core", false},
		{"core/policy", "github.com/open-policy-agent/opa/v1/rego", true},
		{"core/policy", "github.com/mattn/go-sqlite3", false},
		{"store", module + "core/audit", true},
		{"store", module + "core/gateway", false},
		{"store", module + "console", false},
		{"console", module + "store", false},
		{"console", module + "core/audit", true},
		{"console/view", module + "console", true},
		{"core/gateway", module + "console", false},
	} {
		r, ok := roomOf(rooms(), tt.dir)
		if !ok {
			t.Fatalf("%s is not in the table", tt.dir)
		}
		if got := r.allows(tt.dir, tt.imported); got != tt.want {
			t.Errorf("%s imports %s: allowed %v, want %v", tt.dir, tt.imported, got, tt.want)
		}
	}
}

// TestImportChain holds that a reader never needs more than eight packages to
// follow a call from the program to the bottom.
func TestImportChain(t *testing.T) {
	t.Parallel()
	const most = 8
	imports := map[string][]string{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, spec := range s.file.Imports {
			if own, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module); ok {
				imports[s.dir] = append(imports[s.dir], own)
			}
		}
	}
	known := map[string][]string{}
	for dir := range imports {
		if chain := longestChain(imports, known, dir); len(chain) > most {
			t.Errorf("%d packages in a row, at most %d: %s", len(chain), most, strings.Join(chain, " → "))
		}
	}
}

func longestChain(imports, known map[string][]string, dir string) []string {
	if chain, ok := known[dir]; ok {
		return chain
	}
	var longest []string
	for _, next := range imports[dir] {
		if chain := longestChain(imports, known, next); len(chain) > len(longest) {
			longest = chain
		}
	}
	known[dir] = append([]string{dir}, longest...)
	return known[dir]
}
