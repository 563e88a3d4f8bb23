package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spillway-llm/spillway/core"
)

// Worker does everything with a draft that may not end: whatever compiles or
// runs one goes through it before the server's own process touches it.
// Implementations are safe for concurrent use. An error means that the worker
// itself failed; what is wrong with the draft is in the report.
type Worker interface {
	// Check builds the files over a catalog, runs their tests, and decides
	// synthetic requests. A report without an error is what an activation needs.
	Check(ctx context.Context, files Files, catalog *core.Catalog) (Report, error)
	// Test runs the unit tests alone.
	Test(ctx context.Context, files Files) (TestReport, error)
	// Try decides one request in a healthy world.
	Try(ctx context.Context, files Files, catalog *core.Catalog, facts core.Facts) (Trial, error)
}

// Report is what a check found.
type Report struct {
	// Revision is the id that the files would act under.
	Revision string     `json:"revision"`
	Problems Problems   `json:"problems"`
	Tests    TestReport `json:"tests"`
	// Decisions counts the synthetic requests.
	Decisions int           `json:"decisions"`
	Took      time.Duration `json:"took"`
}

// OK reports whether the files may be activated.
func (r Report) OK() bool { return !r.Problems.Failed() }

// Trial is one request decided by a draft.
type Trial struct {
	Problems Problems `json:"problems"`
	// Plan is nil when a problem kept it from being made.
	Plan *core.Plan `json:"plan,omitempty"`
}

// The operations of a worker.
const (
	opCheck = "check"
	opTest  = "test"
	opTry   = "try"
)

// job is one request to a worker, and answer its reply. They travel as JSON,
// one document after the other.
type job struct {
	ID        uint64          `json:"id"`
	Op        string          `json:"op"`
	Files     Files           `json:"files"`
	Providers []core.Provider `json:"providers,omitempty"`
	Targets   []core.Target   `json:"targets,omitempty"`
	Facts     core.Facts      `json:"facts"`
	// Limits are what the worker puts on itself before its first job; nil: none.
	Limits *WorkerLimits `json:"limits,omitempty"`
}

type answer struct {
	ID uint64 `json:"id"`
	// Stage is set alone: what the worker is about to do.
	Stage  string      `json:"stage,omitempty"`
	Report *Report     `json:"report,omitempty"`
	Tests  *TestReport `json:"tests,omitempty"`
	Trial  *Trial      `json:"trial,omitempty"`
	Error  string      `json:"error,omitempty"`
	// Used is the processor time that the worker has taken in its life.
	Used time.Duration `json:"used"`
}

// ServeWorker reads jobs from r and writes answers to w until r ends. It is
// the whole life of a worker process; the first job of [ProcessWorker] makes it
// put limits on itself.
func ServeWorker(r io.Reader, w io.Writer) error {
	in, out := json.NewDecoder(r), json.NewEncoder(w)
	for {
		var j job
		if err := in.Decode(&j); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read job: %w", err)
		}
		if j.Limits != nil {
			if err := limitSelf(*j.Limits); err != nil {
				return err
			}
		}
		stage := func(s string) { _ = out.Encode(answer{ID: j.ID, Stage: s}) }
		a := do(context.Background(), j, stage)
		a.ID, a.Used = j.ID, usedCPU()
		if err := out.Encode(a); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
	}
}

// do does a job. stage is told what comes next.
func do(ctx context.Context, j job, stage func(string)) (a answer) {
	defer func() {
		if recover() != nil {
			a = answer{Error: "the check panicked"}
		}
	}()
	if j.Op == opTest {
		stage("running the tests")
		t := testFiles(ctx, j.Files)
		return answer{Tests: &t}
	}
	catalog, err := core.NewCatalog(j.Providers, j.Targets)
	if err != nil {
		return answer{Error: err.Error()}
	}
	switch j.Op {
	case opCheck:
		r := check(ctx, j.Files, catalog, stage)
		return answer{Report: &r}
	case opTry:
		stage("compiling")
		t := try(j.Files, catalog, &j.Facts)
		return answer{Trial: &t}
	}
	return answer{Error: fmt.Sprintf("unknown operation %q", j.Op)}
}

func check(ctx context.Context, files Files, catalog *core.Catalog, stage func(string)) Report {
	start := time.Now()
	report := Report{Revision: Digest(files)}
	stage("compiling and tabulating")
	p, ps := Build(files, catalog, patientOptions())
	report.Problems = ps
	if !ps.Failed() {
		stage("deciding synthetic requests")
		report.Problems = append(report.Problems, canaries(p)...)
		report.Decisions = len(canarySnapshots(p.Revision)) * len(canaryFacts(p.Revision))
	}
	// Tests of a policy that does not end would not end either, and hide its place.
	if !report.Problems.Failed() {
		stage("running the tests")
		report.Tests = testFiles(ctx, files)
		report.Problems = append(report.Problems, report.Tests.Problems...)
	}
	report.Took = time.Since(start)
	return report
}

// patientOptions let the steps decide: a worker's own deadline is near enough.
func patientOptions() Options { return Options{Deadline: patience * defaultDeadline} }

func try(files Files, catalog *core.Catalog, facts *core.Facts) Trial {
	p, ps := Build(files, catalog, patientOptions())
	if ps.Failed() {
		return Trial{Problems: ps}
	}
	e := p.decider.engine
	plan, failure := e.evaluate(e.newPicture(canarySnapshots(p.Revision)[0]), facts)
	if failure != nil {
		return Trial{Problems: append(ps, Problem{
			File: failure.File, Row: max(1, failure.Row), Col: max(1, failure.Col), Code: failure.Code, Message: failure.Message, Severity: SeverityError,
		})}
	}
	return Trial{Problems: ps, Plan: plan}
}

// LocalWorker works in its own process: for embedders that edit their policies
// themselves. A draft that can't be stopped hangs it.
type LocalWorker struct{}

var _ Worker = LocalWorker{}

// Check checks the files.
func (LocalWorker) Check(ctx context.Context, files Files, c *core.Catalog) (Report, error) {
	return check(ctx, files, c, func(string) {}), nil
}

// Test runs the tests.
func (LocalWorker) Test(ctx context.Context, files Files) (TestReport, error) {
	return testFiles(ctx, files), nil
}

// Try decides one request.
func (LocalWorker) Try(_ context.Context, files Files, c *core.Catalog, f core.Facts) (Trial, error) {
	return try(files, c, &f), nil
}
