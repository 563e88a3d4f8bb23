package simulate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/policy"
	"github.com/spillway-llm/spillway/core/simulate"
	"github.com/spillway-llm/spillway/policies"
)

// stormy is forty seconds in which everything happens that a phase can bring.
const stormy = `{
  "name": "stormy", "title": "Everything at once", "text": "For tests.", "seed": 7, "duration_s": 40,
  "providers": [
    {"id": "anthropic", "wire": "anthropic", "keys": ["one", "two"], "nodes": [
      {"id": "us", "region": "us", "weight": 5}, {"id": "eu", "region": "eu", "weight": 3}]},
    {"id": "openai", "wire": "openai"}
  ],
  "targets": [
    {"id": "claude-opus-5-5", "provider": "anthropic", "family": "haiku", "context_tokens": 200000,
     "first_content_ms": {"p50": 900, "p95": 2500}, "ms_per_token": 15, "usd_per_million": {"input": 4, "output": 20}},
    {"id": "gpt-6-sol", "provider": "openai", "family": "sol", "context_tokens": 200000,
     "first_content_ms": {"p50": 700, "p95": 1500}, "ms_per_token": 10, "usd_per_million": {"input": 2, "output": 10}}
  ],
  "traffic": [
    {"use_case": "assistant", "audience": "free", "patience_s": 8, "rate": [{"from_s": 0, "per_s": 6}, {"from_s": 30, "per_s": 0}],
     "mix": [{"share": 2, "task": "code", "input_tokens": 2000, "max_tokens": 1000, "output_tokens": 200, "stream": true},
             {"share": 1, "task": "simple", "quality": "cost", "input_tokens": 500, "max_tokens": 200, "output_tokens": 50}]},
    {"use_case": "batch", "rate": [{"from_s": 5, "per_s": 3}],
     "mix": [{"priority": 2, "latency_budget_ms": 60000, "input_tokens": 3000, "max_tokens": 500, "output_tokens": 100}]}
  ],
  "phases": [
    {"name": "us is dead", "from_s": 5, "to_s": 30, "provider": "anthropic", "region": "us", "failures": {"connect": 0.5, "timeout_connect": 0.5}, "dead": true},
    {"name": "small allowance", "from_s": 10, "to_s": 25, "provider": "openai", "limit": {"calls": 20, "per_s": 5, "kind": "rate_limited"}},
    {"name": "weather", "from_s": 8, "to_s": 38, "first_content_factor": 2, "token_factor": 1.5, "retry_after_s": 1, "fail_after_ms": {"p50": 50, "p95": 90},
     "failures": {"overloaded": 0.1, "server_error": 0.05, "stream_cut": 0.05, "stream_error": 0.02, "timeout_idle": 0.01, "timeout_first_content": 0.01, "bad_response": 0.01}}
  ]
}`

func parsed(t testing.TB, text string) *simulate.Scenario {
	t.Helper()
	s, err := simulate.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// changed is the stormy scenario with one text replaced by another.
func changed(t testing.TB, old, new string) string {
	t.Helper()
	if strings.Count(stormy, old) != 1 {
		t.Fatalf("the scenario has %q %d times", old, strings.Count(stormy, old))
	}
	return strings.Replace(stormy, old, new, 1)
}

func catalogOf(t testing.TB, s *simulate.Scenario) *core.Catalog {
	t.Helper()
	c, err := s.Catalog()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// plain is the shipped figures without policies, which is fast.
func plain(t testing.TB, s *simulate.Scenario) *core.Revision {
	t.Helper()
	return core.DefaultRevision(catalogOf(t, s))
}

// shipped is the shipped policies.
func shipped(t testing.TB, s *simulate.Scenario) *core.Revision {
	t.Helper()
	p, problems := policy.Build(policies.Files(), catalogOf(t, s), policy.Options{Deadline: -1})
	if problems.Failed() {
		t.Fatal(problems)
	}
	return p.Revision
}

// three are the contenders of the command, over revisions of their own.
func three(t testing.TB, s *simulate.Scenario, build func(testing.TB, *simulate.Scenario) *core.Revision) []simulate.Contender {
	t.Helper()
	return []simulate.Contender{
		simulate.CircuitOnly(build(t, s)), simulate.BudgetOnly(build(t, s)), simulate.Whole("shipped", build(t, s)),
	}
}

func compare(t testing.TB, s *simulate.Scenario, o simulate.Options, contenders ...simulate.Contender) *simulate.Report {
	t.Helper()
	r, err := simulate.Compare(t.Context(), s, contenders, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// written is everything that a report can be written as.
func written(t testing.TB, r *simulate.Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func indented(t testing.TB, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
