package main

import (
	"context"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/policy"
)

type inProcess struct{}

func newWorker(Options) inProcess { return inProcess{} }

func (inProcess) Close() error { return nil }

func (inProcess) Check(_ context.Context, files policy.Files, catalog *core.Catalog) (policy.Problems, error) {
	_, problems := policy.Build(files, catalog, policy.Options{})
	return problems, nil
}

func policyWorker(context.Context, program, []string) error { return nil }
