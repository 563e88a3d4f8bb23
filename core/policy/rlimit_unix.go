//go:build unix

package policy

import (
	"fmt"
	"runtime/debug"
	"syscall"
	"time"
)

// limitSelf puts hard limits on this process. The processor time must be a hard
// limit: the Go runtime ignores the signal of the soft one.
func limitSelf(l WorkerLimits) error {
	l = l.withDefaults()
	seconds := uint64((usedCPU() + l.CPU + time.Second - 1) / time.Second)
	for _, r := range []struct {
		what  int
		limit uint64
	}{
		{syscall.RLIMIT_CPU, seconds}, {syscall.RLIMIT_AS, uint64(l.Memory)}, {syscall.RLIMIT_CORE, 0},
	} {
		if err := syscall.Setrlimit(r.what, &syscall.Rlimit{Cur: r.limit, Max: r.limit}); err != nil {
			return fmt.Errorf("limit policy worker: %w", err)
		}
	}
	// Collect before the kernel refuses: half of the address space is not heap.
	debug.SetMemoryLimit(l.Memory / 2)
	return nil
}

func usedCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
