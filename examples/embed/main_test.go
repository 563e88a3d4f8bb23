package main

import (
	"os/exec"
	"strings"
	"testing"

	_ "github.com/spillway-llm/spillway/core/gateway"
	_ "github.com/spillway-llm/spillway/core/transport"
)

// Seven failures in a row open the circuit of the assistant (R1.5): from then on
// the first vendor is skipped and costs no attempt.
func TestRun(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatalf("run: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 9 {
		t.Fatalf("%d answers, want 9:\n%s", len(lines), out.String())
	}
	for i, want := range map[int]string{
		0: "1: answered by south, after 2 attempts",
		6: "7: answered by south, after 2 attempts",
		7: "8: answered by south, after 1 attempts",
	} {
		if lines[i] != want {
			t.Errorf("line %d = %q, want %q", i, lines[i], want)
		}
	}
}

// An embedder compiles neither SQLite nor the console nor the policy engine, by
// whichever of the three doors it comes (R20.2).
func TestDependencies(t *testing.T) {
	t.Parallel()
	const module = "github.com/spillway-llm/spillway/"
	for dir, foreign := range map[string][]string{
		".":                       {"/core/gateway", "/core/transport"},
		module + "core/transport": {"/core/gateway"},
		module + "core/gateway":   {"/core/transport"},
	} {
		// The answer can't be stale: what is listed is compiled into this test too,
		// so a change of it runs the test again.
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", dir).Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages := strings.Fields(string(out))
		if len(packages) < 2 {
			t.Fatalf("packages = %q, want at least the program and core", packages)
		}
		for _, p := range packages {
			if !strings.HasPrefix(p, module) {
				t.Errorf("an embedder of %s compiles %s", dir, p)
			}
			for _, room := range append(foreign, "/store", "/console", "/core/policy") {
				if strings.HasSuffix(p, room) {
					t.Errorf("an embedder of %s compiles %s", dir, p)
				}
			}
		}
	}
}
