package policy_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/policy"
)

func newWorker(t *testing.T, limits policy.WorkerLimits) *policy.ProcessWorker {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := policy.NewProcessWorker([]string{exe, workerArgument}, limits)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func TestWorkerProcess(t *testing.T) {
	t.Parallel()
	w := newWorker(t, policy.WorkerLimits{CPU: 60 * time.Second, Deadline: 60 * time.Second})
	ctx, c := context.Background(), catalog(t)
	report, err := w.Check(ctx, files(nil), c)
	if err != nil || !report.OK() {
		t.Fatalf("%v, %v", err, report.Problems)
	}
	if report.Revision != policy.Digest(files(nil)) || report.Decisions < 100 || report.Tests.Passed() < 50 {
		t.Errorf("revision %s, %d decisions, %d tests", report.Revision, report.Decisions, report.Tests.Passed())
	}
	tests, err := w.Test(ctx, files(nil))
	if err != nil || tests.Passed() != len(tests.Tests) {
		t.Errorf("%v, %v", err, tests.Problems)
	}
	trial, err := w.Try(ctx, files(nil), c, ask())
	if err != nil || trial.Plan == nil || trial.Plan.Steps[0].Target != "sonnet" {
		t.Errorf("%v, %+v", err, trial)
	}
	trial, err = w.Try(ctx, files(extra("package spillway.extra\n\np := \n")), c, ask())
	if err != nil || trial.Plan != nil || !trial.Problems.Failed() || trial.Problems[0].File != "extra.rego" {
		t.Errorf("%v, %+v, want the syntax error", err, trial)
	}
}

// hangs compiles for ever: a chain that doubles, by the one operator whose
// growth the expansion check can't bound and which only tests may use.
func hangs() policy.Files {
	test := "package spillway.extra_test\n\ntest_p if {\n" + chain(34, "\ts0 = [1]\n", "\ts%d = [s%d, s%d]\n") + "\tcount(s34) = 2\n}\n"
	return files(map[string]string{"extra_test.rego": test})
}

func TestWorkerIsKilledAndComesBack(t *testing.T) {
	t.Parallel()
	w := newWorker(t, policy.WorkerLimits{CPU: 120 * time.Second, Deadline: 3 * time.Second})
	report, err := w.Check(context.Background(), hangs(), catalog(t))
	stopped(t, report, err)
	trial, err := w.Try(context.Background(), files(nil), catalog(t), ask())
	if err != nil || trial.Plan == nil {
		t.Errorf("after a kill: %v, %+v", err, trial.Problems)
	}
}

func TestWorkerHasLimitedProcessorTime(t *testing.T) {
	t.Parallel()
	w := newWorker(t, policy.WorkerLimits{CPU: time.Second, Deadline: 120 * time.Second})
	start := time.Now()
	report, err := w.Check(context.Background(), hangs(), catalog(t))
	stopped(t, report, err)
	if time.Since(start) > time.Minute {
		t.Error("the deadline stopped it, not the limit")
	}
}

func stopped(t *testing.T, report policy.Report, err error) {
	t.Helper()
	if err != nil || report.OK() {
		t.Fatalf("%v, %v, want the worker stopped", err, report.Problems)
	}
	if p := report.Problems[0]; p.Code != policy.CodeWorker || p.File == "" || p.Row != 1 || !strings.Contains(p.Message, "stopped while") {
		t.Errorf("problem %v, want where and that it was stopped", p)
	}
}

func TestWorkerStopsForItsCaller(t *testing.T) {
	t.Parallel()
	w := newWorker(t, policy.WorkerLimits{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := w.Check(ctx, files(nil), catalog(t)); err == nil {
		t.Error("a check went on without its caller")
	}
}

func TestWorkerThatCannotStart(t *testing.T) {
	t.Parallel()
	w := policy.NewProcessWorker([]string{"/nowhere/at/all"}, policy.WorkerLimits{})
	if _, err := w.Check(context.Background(), files(nil), catalog(t)); err == nil || !strings.Contains(err.Error(), "start policy worker") {
		t.Errorf("error %v, want that the worker did not start", err)
	}
}

func TestServeWorkerRefusesNonsense(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := policy.ServeWorker(strings.NewReader("{"), &out); err == nil {
		t.Error("half a job was taken")
	}
	if err := policy.ServeWorker(strings.NewReader(`{"id":1,"op":"dance","providers":[{"id":"p","wire":"anthropic","nodes":[{"id":"n","base_url":"http://n"}],"keys":[]}],"targets":[{"id":"t","provider":"p"}]}`), &out); err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), `unknown operation`) {
		t.Errorf("answer %s, want an unknown operation", out.String())
	}
}
