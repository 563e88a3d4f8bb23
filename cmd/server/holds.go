package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/core"
)

// holds let the console put holds on the engine's circuits. The engine records
// them.
type holds struct{ engine *core.Engine }

var _ console.Holds = holds{}

// Hold puts a hold in force.
func (h holds) Hold(_ context.Context, o core.Override) error {
	err := h.engine.Hold(o)
	if errors.Is(err, core.ErrHold) {
		return fmt.Errorf("%w: %w", console.ErrRefused, err)
	}
	return err
}

// Release ends the holds inside a reach.
func (h holds) Release(ctx context.Context, target, useCase, by string) error {
	return h.Hold(ctx, core.Override{Target: target, UseCase: useCase, By: by})
}
