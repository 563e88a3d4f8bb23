package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/core"
)

// WorkerLimits bound a worker process. A zero field means its default.
type WorkerLimits struct {
	// CPU is the processor time of one process's life (2 s); it is replaced when
	// half of that is used.
	CPU time.Duration `json:"cpu"`
	// Memory is its address space in bytes (3 GiB).
	Memory int64 `json:"memory"`
	// Deadline is how long a job may take before the process is killed (2.5 s).
	Deadline time.Duration `json:"deadline"`
}

func (l WorkerLimits) withDefaults() WorkerLimits {
	if l.CPU == 0 {
		l.CPU = 2 * time.Second
	}
	if l.Memory == 0 {
		l.Memory = 3 << 30
	}
	if l.Deadline == 0 {
		l.Deadline = 2500 * time.Millisecond
	}
	return l
}

// ProcessWorker runs jobs in a child process that can be killed, one at a time,
// and keeps it for the next one. It is safe for concurrent use. Close it.
type ProcessWorker struct {
	command []string
	limits  WorkerLimits
	turn    chan struct{} // held while a job runs
	child   *child        // nil: none is running; guarded by turn
	last    uint64        // guarded by turn
}

var _ Worker = (*ProcessWorker)(nil)

// errStopped says that the child did not answer: it was killed, or ran into a limit.
var errStopped = errors.New("the policy worker was stopped")

// NewProcessWorker returns a worker whose process is started by the command,
// which must call [ServeWorker] with its standard input and output. The process
// gets none of this one's environment, so that no secret reaches it.
func NewProcessWorker(command []string, limits WorkerLimits) *ProcessWorker {
	return &ProcessWorker{command: command, limits: limits.withDefaults(), turn: make(chan struct{}, 1)}
}

// Check checks the files. A draft that had to be stopped is a problem in the
// report, not an error.
func (w *ProcessWorker) Check(ctx context.Context, files Files, c *core.Catalog) (Report, error) {
	a, stage, err := w.do(ctx, job{Op: opCheck, Files: files, Providers: c.Providers, Targets: c.Targets})
	switch {
	case errors.Is(err, errStopped):
		return Report{Revision: Digest(files), Problems: Problems{w.stopped(files, stage)}}, nil
	case err != nil:
		return Report{}, fmt.Errorf("check policies: %w", err)
	}
	return *a.Report, nil
}

// Test runs the tests.
func (w *ProcessWorker) Test(ctx context.Context, files Files) (TestReport, error) {
	a, stage, err := w.do(ctx, job{Op: opTest, Files: files})
	switch {
	case errors.Is(err, errStopped):
		return TestReport{Problems: Problems{w.stopped(files, stage)}}, nil
	case err != nil:
		return TestReport{}, fmt.Errorf("test policies: %w", err)
	}
	return *a.Tests, nil
}

// Try decides one request in a healthy world.
func (w *ProcessWorker) Try(ctx context.Context, files Files, c *core.Catalog, f core.Facts) (Trial, error) {
	a, stage, err := w.do(ctx, job{Op: opTry, Files: files, Providers: c.Providers, Targets: c.Targets, Facts: f})
	switch {
	case errors.Is(err, errStopped):
		return Trial{Problems: Problems{w.stopped(files, stage)}}, nil
	case err != nil:
		return Trial{}, fmt.Errorf("try policies: %w", err)
	}
	return *a.Trial, nil
}

// stopped is the problem of a draft that had to be stopped. Where it was is not
// known, so it points at the first module.
func (w *ProcessWorker) stopped(files Files, stage string) Problem {
	file := "routing.rego"
	if _, ok := files[file]; !ok && len(files) > 0 {
		file = sortedNames(files)[0]
	}
	return problemIn(file, CodeWorker, "stopped while %s: it needs more than %v of time or %d MiB of memory",
		stage, min(w.limits.CPU, w.limits.Deadline), w.limits.Memory>>20)
}

// Close ends the child. The worker may be used again, which starts another one.
func (w *ProcessWorker) Close() error {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	w.drop()
	return nil
}

func (w *ProcessWorker) drop() {
	if w.child != nil {
		w.child.stop()
		w.child = nil
	}
}

// do runs a job and returns its answer and the last stage that it reached.
func (w *ProcessWorker) do(ctx context.Context, j job) (answer, string, error) {
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return answer{}, "", ctx.Err()
	}
	if w.child == nil {
		c, err := start(w.command)
		if err != nil {
			return answer{}, "", err
		}
		w.child, j.Limits = c, &w.limits
	}
	w.last++
	j.ID = w.last
	limited, cancel := context.WithTimeout(ctx, w.limits.Deadline)
	defer cancel()
	a, stage, err := w.child.ask(limited, j)
	switch {
	case err != nil:
		w.drop()
		if ctx.Err() != nil {
			return answer{}, stage, ctx.Err()
		}
		return answer{}, stage, errStopped
	case a.Used > w.limits.CPU/2:
		w.drop()
	}
	if a.Error != "" {
		return answer{}, stage, errors.New(a.Error)
	}
	return a, stage, nil
}

// child is a running worker process.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func start(command []string) (*child, error) {
	if len(command) == 0 {
		return nil, errors.New("start policy worker: no command")
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = []string{"GOTRACEBACK=none"}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start policy worker: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start policy worker: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start policy worker: %w", err)
	}
	return &child{cmd: cmd, in: in, out: json.NewDecoder(out)}, nil
}

// ask sends a job and waits for its answer; after an error the child is of no
// further use.
func (c *child) ask(ctx context.Context, j job) (a answer, stage string, err error) {
	var mu sync.Mutex
	done := make(chan error, 1)
	go func() {
		done <- c.exchange(j, &a, func(s string) {
			mu.Lock()
			stage = s
			mu.Unlock()
		})
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		_ = c.cmd.Process.Kill() // an error means that it ended by itself
		<-done
		err = ctx.Err()
	}
	mu.Lock()
	defer mu.Unlock()
	return a, stage, err
}

func (c *child) exchange(j job, a *answer, stage func(string)) error {
	stage("starting")
	if err := json.NewEncoder(c.in).Encode(j); err != nil {
		return fmt.Errorf("send job: %w", err)
	}
	for {
		var got answer
		if err := c.out.Decode(&got); err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		if got.ID != j.ID {
			return fmt.Errorf("read answer: job %d instead of %d", got.ID, j.ID)
		}
		if got.Stage == "" {
			*a = got
			return nil
		}
		stage(got.Stage)
	}
}

func (c *child) stop() {
	_ = c.cmd.Process.Kill() // an error means that it ended by itself
	_ = c.in.Close()
	_ = c.cmd.Wait() // it was killed: its status says nothing
}
