//go:build !unix

package policy

import (
	"runtime/debug"
	"time"
)

// limitSelf bounds the heap; the parent's deadline does the rest.
func limitSelf(l WorkerLimits) error {
	debug.SetMemoryLimit(l.withDefaults().Memory / 2)
	return nil
}

func usedCPU() time.Duration { return 0 }
