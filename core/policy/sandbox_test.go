package policy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core/policy"
)

// extra adds a module of its own to the shipped ones.
func extra(text string) map[string]string { return map[string]string{"extra.rego": text} }

// chain is n links, each of which is twice the one before.
func chain(n int, first, link string) string {
	var b strings.Builder
	b.WriteString(first)
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, link, i, i-1, i-1)
	}
	return b.String()
}

// The attacks of the study that are refused before anything is compiled or run:
// each with its code, and the place in the file.
func TestRefusedBeforeItRuns(t *testing.T) {
	t.Parallel()
	const pkg = "package spillway.extra\n\n"
	for _, c := range []struct {
		name, text, code string
		row              int
		want             string
	}{
		{"chained rules that double", pkg + chain(30, "a0 := 1\n", "a%d := [a%d, a%d]\n"), policy.CodeExpansion, 19, "100000 nodes"},
		{"chained objects that double", pkg + chain(30, "a0 := 1\n", "a%d := {\"x\": a%d, \"y\": a%d}\n"), policy.CodeExpansion, 19, "100000 nodes"},
		{"doubling in one body", pkg + "p if {\n" + chain(34, "\ts0 := 1\n", "\ts%d := [s%d, s%d]\n") + "\ts34 == 1\n}\n", policy.CodeExpansion, 20, "100000 nodes"},
		{"doubling by unification", pkg + "p if {\n" + chain(34, "\ts0 = 1\n", "\ts%d = [s%d, s%d]\n") + "\ts34 = 1\n}\n", policy.CodeStructure, 4, "use :="},
		{"doubling through functions", pkg + chain(30, "f0(x) := [x, x]\n", "f%d(x) := [f%d(x), f%d(x)]\n"), policy.CodeExpansion, 18, "100000 nodes"},
		{"doubling through concatenation", pkg + "p if {\n" + chain(40, "\ts0 := [1]\n", "\ts%d := array.concat(s%d, s%d)\n") + "\tcount(s40) > 1\n}\n", policy.CodeExpansion, 20, "100000 nodes"},
		{"nested comprehensions", pkg + "p := " + strings.Repeat("[x | x := ", 16) + "1" + strings.Repeat("]", 16) + "\n", policy.CodeStructure, 3, "6 deep"},
		{"too many rules", pkg + strings.Repeat("p contains 1\n", 301), policy.CodeStructure, 303, "300 rules"},
		{"too long a body", pkg + "p if {\n" + strings.Repeat("\ttrue\n", 201) + "}\n", policy.CodeStructure, 204, "200 expressions"},
		{"too many branches", pkg + "p := 0 if {\n\tinput.x == 0\n}" + strings.Repeat(" else := 1 if {\n\tinput.x == 1\n}", 52) + "\n", policy.CodeStructure, 0, "50 else"},
		{"with outside tests", pkg + "p if {\n\tdata.spillway.tiers.tier with input as {}\n}\n", policy.CodeStructure, 4, "with is for tests"},
		{"outside the namespace", "package system.authz\n\np := 1\n", policy.CodeStructure, 1, "not inside spillway"},
		{"a test's package elsewhere", "package spillway.extra_test\n\np := 1\n", policy.CodeStructure, 1, "for tests"},
		{"too large a file", pkg + strings.Repeat("# x\n", 17_000), policy.CodeSize, 1, "65536"},
		{"deep literal", pkg + "p := " + strings.Repeat("[", 30_000) + "\n", "rego_parse_error", 4, ""},
		{"http.send", pkg + "p := http.send({\"method\": \"get\", \"url\": \"http://localhost\"})\n", "rego_type_error", 3, "undefined function http.send"},
		{"clock", pkg + "p := time.now_ns()\n", "rego_type_error", 3, "undefined function time.now_ns"},
		{"randomness", pkg + "p := rand.intn(\"x\", 2)\n", "rego_type_error", 3, "undefined function rand.intn"},
		{"environment", pkg + "p := opa.runtime()\n", "rego_type_error", 3, "undefined function opa.runtime"},
		{"regular expressions", pkg + "p if {\n\tregex.match(\"((a{0,30}){0,30})\", input.x)\n}\n", "rego_type_error", 4, "undefined function regex.match"},
		{"graph search", pkg + "p := graph.reachable_paths({}, [])\n", "rego_type_error", 3, "undefined function graph.reachable_paths"},
		{"bit shift", pkg + "p := bits.lsh(1, 1000000000)\n", "rego_type_error", 3, "undefined function bits.lsh"},
		{"ranges", pkg + "p := numbers.range(1, 1000000000)\n", "rego_type_error", 3, "undefined function numbers.range"},
		{"address expansion", pkg + "p := net.cidr_expand(\"::/0\")\n", "rego_type_error", 3, "undefined function net.cidr_expand"},
		{"parsing", pkg + "p := rego.parse_module(\"x\", input.x)\n", "rego_type_error", 3, "undefined function rego.parse_module"},
		{"yaml", pkg + "p := yaml.unmarshal(input.x)\n", "rego_type_error", 3, "undefined function yaml.unmarshal"},
		{"templates", pkg + "p := strings.render_template(\"{{.}}\", {})\n", "rego_type_error", 3, "undefined function strings.render_template"},
		{"recursion", pkg + "p := q\n\nq := p\n", "rego_recursion_error", 3, "recursive"},
		{"unsafe variable", pkg + "p := x\n", "rego_unsafe_var_error", 3, "unsafe"},
		{"unused variable", pkg + "p if {\n\tx := 1\n}\n", "rego_compile_error", 4, "unused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, ps := build(t, policy.Options{}, extra(c.text))
			if p != nil || !ps.Failed() {
				t.Fatal("the attack was let in")
			}
			got := ps[0]
			if got.Code != c.code || got.File != "extra.rego" || got.Col < 1 || !strings.Contains(got.Message, c.want) {
				t.Errorf("%v\nwant %s in extra.rego: …%s…", got, c.code, c.want)
			}
			if c.row > 0 && got.Row != c.row {
				t.Errorf("row %d, want %d", got.Row, c.row)
			}
		})
	}
}

// A metadata block that names a schema elsewhere must not make the compiler fetch it.
func TestSchemasAreNotFetched(t *testing.T) {
	t.Parallel()
	text := "# METADATA\n# schemas:\n#   - input: {\"$ref\": \"http://127.0.0.1:1/x\"}\npackage spillway.extra\n\np := input.x\n"
	_, ps := build(t, policy.Options{}, extra(text))
	for _, p := range ps {
		if strings.Contains(p.Message, "connect") {
			t.Errorf("the compiler tried the network: %v", p)
		}
	}
}

// What only running finds: loops, conflicts, answers outside the contract. The
// worker's check must refuse each and name the file.
func TestRefusedByTheCheck(t *testing.T) {
	t.Parallel()
	const many = "count([x | some a, _ in data.targets; some b, _ in data.targets; some c, _ in data.targets; some d, _ in data.targets; some e, _ in data.targets; x := concat(\"\", [a, b, c, d, e, input.request.task])]) > 0"
	for _, c := range []struct{ name, file, old, new, code, want string }{
		{"endless routing", "routing.rego", "out := excluded", many + "\n\tout := excluded", policy.CodeFuel, "20000 steps"},
		{"endless tier", "tiers.rego", "tier := ", "other if {\n\t" + strings.ReplaceAll(many, "input.request.task", "input.use_case") + "\n}\n\ntier := [1 | other][0] if false\n\ntier := [x | other; x := object.get(data.config.tiers.use_cases, input.use_case, {})][0] if input.level == \"degraded\"\n\ntier := ", policy.CodeFuel, "20000 steps"},
		{"two answers", "tiers.rego", "tier := ", "tier := 7 if input.use_case == \"batch\"\n\ntier := ", policy.CodeConflict, ""},
		{"two plans", "routing.rego", "default preferred", "preferred := \"haiku\" if input.request.task == \"creative\"\n\ndefault preferred", policy.CodeConflict, ""},
		{"a failing test", "tiers.rego", "data.config.tiers[\"default\"]", "{\"name\": \"x\", \"rto_s\": 1, \"rpo_s\": 0, \"outage\": \"queue\", \"queue_below\": 0}", policy.CodeTest, "test_others_are_refused"},
		{"undefined plan", "routing.rego", "out := excluded", "input.request.task != \"creative\"\n\tout := excluded", policy.CodeUndefined, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			report, err := policy.LocalWorker{}.Check(context.Background(), files(edited(t, c.file, c.old, c.new)), catalog(t))
			if err != nil {
				t.Fatal(err)
			}
			if report.OK() {
				t.Fatal("the check let it in")
			}
			for _, p := range report.Problems {
				if p.Code == c.code && strings.Contains(p.Message, c.want) && p.Row > 1 && strings.HasPrefix(p.File, strings.TrimSuffix(c.file, ".rego")) {
					return
				}
			}
			t.Errorf("problems:\n%v\nwant %s in %s: …%s…", report.Problems, c.code, c.file, c.want)
		})
	}
}
