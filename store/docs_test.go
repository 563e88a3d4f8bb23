package store_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/store"
)

// blocks returns the fenced blocks of a language in docs/audit-schema.md.
func blocks(t *testing.T, language string) (list []string) {
	t.Helper()
	text, err := os.ReadFile("../docs/audit-schema.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		list = append(list, m[1])
	}
	if len(list) == 0 {
		t.Fatalf("no %s block", language)
	}
	return list
}

// everything records one of each event, with every member of a decision set.
func everything(t *testing.T, db *store.DB) {
	t.Helper()
	d := decision(snapshot(t, 1), plan(), 1)
	usage := price.Usage{Input: 1, CacheRead: 2, CacheWrite: 3, CacheWrite1h: 4, Output: 5, Reasoning: 6, Known: true, Estimated: true}
	d.Usage, d.Attempts[1].Usage = usage, usage
	d.Attempts[0].Code, d.Attempts[0].RetryAfter, d.Attempts[0].Wait, d.Attempts[0].Probe = "c", 1, 1, true
	d.Skips = []core.Skip{{Step: 1, Target: "t", Kind: core.KindOpenCircuit, Detail: "d", Wait: 1}}
	d.Warnings, d.Limit = []string{"w"}, "key tokens_per_minute"
	d.Facts.Needs = core.Needs{Tools: true, Images: true, Documents: true, JSONSchema: true, Thinking: true, Prefill: true}
	d.Facts.Drill, d.Facts.ForceFallback, d.Facts.AffinityTarget = true, true, "t"
	at := noon()
	for _, ev := range []core.Event{
		d, &core.Transition{At: at, Target: "t", To: circuit.Open, Until: at, Revision: "r"}, &core.Cooldown{At: at, Until: at},
		&core.BudgetSample{At: at}, spendSample(at), &core.LevelChange{At: at}, &core.KeyState{At: at, Left: 1, Total: 2}, &core.Override{At: at, Until: at},
		&core.PolicyChange{At: at, Previous: "p"}, &core.ConfigChange{At: at, Refused: "r"}, &core.FaultChange{At: at},
	} {
		db.Record(ev)
	}
	flush(t, db)
}

func TestDocs_QueriesRun(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	everything(t, open(t, cfg))
	s := shell(t, cfg.Path)
	n := 0
	for _, block := range blocks(t, "sql") {
		for query := range strings.SplitSeq(block, ";\n") {
			if strings.TrimSpace(query) == "" {
				continue
			}
			n++
			if _, err := s.Exec(query); err != nil {
				t.Errorf("%v:\n%s", err, query)
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d queries were found", n)
	}
}

// TestDocs_NameEveryMember fails when something is recorded that the page does
// not explain.
func TestDocs_NameEveryMember(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	everything(t, open(t, cfg))
	page, err := os.ReadFile("../docs/audit-schema.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	rows, err := shell(t, cfg.Path).Query("SELECT kind, body FROM events UNION ALL SELECT kind, body FROM documents WHERE kind = 'snapshot'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var kind, body string
		if err := rows.Scan(&kind, &body); err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(err)
		}
		names = append(append(names, kind), members(v)...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) < 80 {
		t.Errorf("only %d names: %v", len(names), names)
	}
	for _, name := range names {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("%q is not explained", name)
		}
	}
}

// members lists the names in a JSON value, without those that are ids.
func members(v any) (list []string) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if !slices.Contains([]string{"claude-opus-5-5", "claude-sonnet-5", "gpt-6-sol", "assistant", "batch"}, k) {
				list = append(list, k)
			}
			list = append(list, members(x)...)
		}
	case []any:
		for _, x := range v {
			list = append(list, members(x)...)
		}
	}
	return list
}

// TestDocs_PythonVerifies runs the page's own program on a good and on a bad file.
func TestDocs_PythonVerifies(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	cfg := config(t)
	everything(t, open(t, cfg))
	script := filepath.Join(t.TempDir(), "verify.py")
	if err := os.WriteFile(script, []byte(blocks(t, "python")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, script, cfg.Path).CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "whole") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := shell(t, cfg.Path).Exec("DROP TRIGGER events_no_update; UPDATE events SET id = 'x' WHERE seq = 3"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, script, cfg.Path).CombinedOutput(); err == nil || !strings.Contains(string(out), "row 3") {
		t.Errorf("%v: %s", err, out)
	}
}
