package policy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
)

// The bounds of a test run: of one test, and of what tests may print. A worker's
// own deadline is nearer; this one is for those who test without a worker.
const (
	testTimeout   = 5 * time.Second
	maxTestOutput = 4 << 10
)

// TestReport is the outcome of a revision's unit tests.
type TestReport struct {
	Tests []TestResult `json:"tests"`
	// Coverage is the share of expressions that the tests evaluate, in percent by
	// module.
	Coverage map[string]float64 `json:"coverage,omitempty"`
	// Problems keep the tests from running, or are failed tests.
	Problems Problems `json:"problems,omitempty"`
}

// TestResult is one test.
type TestResult struct {
	Package string `json:"package"`
	Name    string `json:"name"`
	File    string `json:"file"`
	Row     int    `json:"row"`
	Col     int    `json:"col"`
	// Outcome is pass, fail, error or skip.
	Outcome string `json:"outcome"`
	// Detail names failing cases or the error, "" otherwise.
	Detail string        `json:"detail,omitempty"`
	Output string        `json:"output,omitempty"`
	Took   time.Duration `json:"took"`
}

// Passed counts the tests that passed.
func (r TestReport) Passed() int {
	n := 0
	for _, t := range r.Tests {
		if t.Outcome == "pass" {
			n++
		}
	}
	return n
}

// testFiles runs the tests. It belongs into a worker: tests can run on.
func testFiles(ctx context.Context, files Files) TestReport {
	s, ps := parse(files)
	if !ps.Failed() {
		ps = append(ps, checkStructure(s)...)
	}
	modules := maps.Clone(s.modules)
	maps.Copy(modules, s.tests)
	if !ps.Failed() {
		ps = append(ps, checkExpansion(modules)...)
	}
	if ps.Failed() {
		return TestReport{Problems: ps}
	}
	coverage := cover.New()
	results, err := runTests(ctx, modules, s.data, coverage)
	if err != nil {
		return TestReport{Problems: compilerProblems("", err)}
	}
	report := TestReport{Coverage: map[string]float64{}}
	for _, r := range results {
		t := testResult(r)
		report.Tests = append(report.Tests, t)
		if t.Outcome == "fail" || t.Outcome == "error" {
			report.Problems = append(report.Problems, problemAt(r.Location, CodeTest, "%s: %s", t.Name, cmp.Or(t.Detail, t.Outcome)))
		}
	}
	covered := coverage.Report(s.modules)
	for file, f := range covered.Files {
		report.Coverage[file] = f.Coverage
	}
	return report
}

func runTests(ctx context.Context, modules map[string]*ast.Module, data map[string]any, c *cover.Cover) ([]*tester.Result, error) {
	store := inmem.NewFromObject(data)
	txn, err := store.NewTransaction(ctx, storage.TransactionParams{})
	if err != nil {
		return nil, fmt.Errorf("run tests: %w", err)
	}
	defer store.Abort(ctx, txn)
	compiler := ast.NewCompiler().WithCapabilities(capabilities()).WithDefaultRegoVersion(ast.RegoV1).WithEnablePrintStatements(true)
	stream, err := tester.NewRunner().SetCompiler(compiler).SetStore(store).SetModules(modules).SetParallel(1).
		CapturePrintOutput(true).SetCoverageQueryTracer(c).SetTimeout(testTimeout).RunTests(ctx, txn)
	if err != nil {
		return nil, err
	}
	var results []*tester.Result
	for r := range stream {
		results = append(results, r)
	}
	slices.SortFunc(results, func(a, b *tester.Result) int {
		return cmp.Or(strings.Compare(a.Location.File, b.Location.File), a.Location.Row-b.Location.Row)
	})
	return results, nil
}

func testResult(r *tester.Result) TestResult {
	t := TestResult{
		Package: strings.TrimPrefix(r.Package, "data."), Name: r.Name, File: r.Location.File, Row: r.Location.Row, Col: r.Location.Col,
		Outcome: "pass", Output: string(r.Output[:min(len(r.Output), maxTestOutput)]), Took: r.Duration,
	}
	switch {
	case r.Error != nil:
		t.Outcome, t.Detail = "error", r.Error.Error()
	case r.Skip:
		t.Outcome = "skip"
	case r.Fail:
		t.Outcome = "fail"
		var failed []string
		for path, sub := range r.SubResults.Iter {
			if sub.Fail {
				failed = append(failed, strings.Join(path, "/"))
			}
		}
		if len(failed) > 0 {
			t.Detail = "failing cases: " + strings.Join(failed, ", ")
		}
	}
	return t
}
