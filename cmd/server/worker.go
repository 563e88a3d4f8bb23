package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spillway-llm/spillway/core/policy"
)

// newWorker prepares the process that compiles and runs drafts: this program
// again, started when there is first something to check.
func newWorker(limits policy.WorkerLimits) (*policy.ProcessWorker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program, to start policy workers: %w", err)
	}
	return policy.NewProcessWorker([]string{self, "policy-worker"}, limits), nil
}

// policyWorker is the life of a worker process. It speaks on standard input and
// output with the server that started it, and with nobody else.
func policyWorker(context.Context, program, []string) error {
	return policy.ServeWorker(os.Stdin, os.Stdout)
}
