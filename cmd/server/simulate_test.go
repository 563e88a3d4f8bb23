package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core/simulate"
	"github.com/spillway-llm/spillway/policies"
)

// drizzle is a scenario of ten seconds.
const drizzle = `{
  "name": "drizzle", "title": "A little rain", "text": "Bring an umbrella.", "seed": 5, "duration_s": 10,
  "providers": [{"id": "a", "wire": "anthropic"}, {"id": "b", "wire": "openai"}],
  "targets": [
    {"id": "one", "provider": "a", "family": "haiku", "context_tokens": 100000, "first_content_ms": {"p50": 300, "p95": 600}, "ms_per_token": 5},
    {"id": "two", "provider": "b", "family": "luna", "context_tokens": 100000, "first_content_ms": {"p50": 300, "p95": 600}, "ms_per_token": 5}],
  "traffic": [{"use_case": "assistant", "rate": [{"from_s": 0, "per_s": 4}],
    "mix": [{"input_tokens": 100, "max_tokens": 100, "output_tokens": 20, "stream": true}]}],
  "phases": [{"name": "rain", "from_s": 2, "to_s": 8, "provider": "a", "failures": {"overloaded": 0.5}}]
}`

func TestSimulate_Words(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args      []string
		code      int
		out, says string
	}{
		"list":             {[]string{"list"}, 0, "fleet-wide-529     Every vendor is overloaded at once\n", ""},
		"list_left_over":   {[]string{"list", "all"}, 2, "", `unexpected "all"`},
		"retry_budget":     {[]string{"retry-budget"}, 0, "500/0.25   2115      615      66           1.41     9.3\n", ""},
		"print":            {[]string{"print", "flapping"}, 0, `"name": "flapping"`, ""},
		"print_nothing":    {[]string{"print"}, 2, "", "name one scenario"},
		"print_unknown":    {[]string{"print", "sunny"}, 1, "", `no scenario "sunny" ships`},
		"help":             {[]string{"--help"}, 0, "", "server simulate retry-budget"},
		"unknown_flag":     {[]string{"flapping", "--sede", "1"}, 2, "", "sede"},
		"unknown_scenario": {[]string{"sunny"}, 1, "", `"sunny" is no file and no scenario that ships; those are brown-out, `},
		"unknown_policies": {[]string{"flapping", "--policy", "no-such-folder"}, 1, "", "read policies: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, says := cli(append([]string{"simulate"}, tt.args...)...)
			if code != tt.code || !strings.Contains(out, tt.out) || !strings.Contains(says, tt.says) {
				t.Errorf("%d, %q, %q; want %d, %q, %q", code, out, says, tt.code, tt.out, tt.says)
			}
		})
	}
}

func TestSimulate_File(t *testing.T) {
	t.Parallel()
	file := write(t, "drizzle.json", drizzle)
	chart := filepath.Join(t.TempDir(), "chart.svg")
	code, out, says := cli("simulate", file, "--svg", chart, "--timing")
	if code != 0 || !strings.Contains(says, "% of it in policy") {
		t.Fatalf("%d %s", code, says)
	}
	for _, want := range []string{"drizzle: A little rain\nseed 5, 10 s of virtual time", "\ncircuit only  ", "\nbudget only  ", "\nshipped  ", "goal 99.95 %", "umbrella"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if svg, err := os.ReadFile(chart); err != nil || !strings.HasPrefix(string(svg), "<svg ") {
		t.Errorf("chart: %v, %.40s", err, svg)
	}
	_, again, _ := cli("simulate", file)
	_, other, _ := cli("simulate", file, "--seed", "6")
	if again != out || other == out {
		t.Errorf("the same seed repeats %v, another differs %v", again == out, other != out)
	}
	if code, _, says := cli("simulate", write(t, "bad.json", strings.Replace(drizzle, `"seed"`, `"sead"`, 1))); code != 1 || !strings.Contains(says, "bad.json: read scenario: sead: unknown field") {
		t.Errorf("a misspelt field: %d %s", code, says)
	}
	if code, _, says := cli("simulate", file, "--svg", filepath.Join(chart, "under-a-file")); code != 1 || !strings.Contains(says, "draw chart: ") {
		t.Errorf("a chart that can't be written: %d %s", code, says)
	}
}

func TestSimulate_Policies(t *testing.T) {
	t.Parallel()
	file, root := write(t, "drizzle.json", drizzle), t.TempDir()
	for name, text := range policies.Files() {
		place := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(place, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// An assistant whose requests go nowhere after a failure.
	over := filepath.Join(t.TempDir(), "config", "routing", "data.json")
	if err := os.MkdirAll(filepath.Dir(over), 0o755); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(policies.Files()["config/routing/data.json"], `"max_hops": 3`, `"max_hops": 0`, 1)
	if err := os.WriteFile(over, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, says := cli("simulate", file, "--json", "--policy", root, "--policy", over)
	var r simulate.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || len(r.Results) != 5 {
		t.Fatalf("%d, %v, %s", code, err, says)
	}
	shipped, folder, changed := r.Results[2], r.Results[3], r.Results[4]
	if folder.Revision != shipped.Revision || folder.LossPercent != shipped.LossPercent || shipped.LossPercent != 0 {
		t.Errorf("the folder's copy of the shipped policies: loss %v %%, shipped %v %%", folder.LossPercent, shipped.LossPercent)
	}
	if changed.Revision == shipped.Revision || changed.LossPercent == 0 {
		t.Errorf("without hops nothing is lost: %+v", changed)
	}
	if code, _, says := cli("simulate", file, "--policy", file); code != 1 || !strings.Contains(says, "takes no shipped file's place") {
		t.Errorf("a file without a place: %d %s", code, says)
	}
	broken := write(t, "routing.rego", "package spillway.routing\n\nplan := {")
	if code, _, says := cli("simulate", file, "--policy", broken); code != 1 || !strings.Contains(says, "routing.rego") {
		t.Errorf("a module that does not compile: %d %s", code, says)
	}
}
