package core

import (
	"context"
	"time"
)

// Clock is the engine's only source of time and concurrency, so that tests and
// the simulator can drive both. Implementations are safe for concurrent use.
type Clock interface {
	// Mono is the monotonic time since some fixed start; intervals use it.
	Mono() time.Duration
	// Wall is the calendar time; it is data, never used for intervals.
	Wall() time.Time
	// Sleep waits for d or until ctx ends, and returns ctx's error in that case.
	Sleep(ctx context.Context, d time.Duration) error
	// AfterFunc calls f once, d from now, unless stop is called first.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
	// Go runs f concurrently.
	Go(f func())
}

// SystemClock is the real time. Its zero value counts from the process's start
// of the clock: use [NewSystemClock].
type SystemClock struct{ start time.Time }

// NewSystemClock returns the real clock.
func NewSystemClock() *SystemClock { return &SystemClock{start: time.Now()} }

// Mono is the time since the clock was made.
func (c *SystemClock) Mono() time.Duration { return time.Since(c.start) }

// Wall is the time of day.
func (c *SystemClock) Wall() time.Time { return time.Now() }

// Sleep waits for d or until ctx ends.
func (c *SystemClock) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// AfterFunc calls f in its own goroutine after d.
func (c *SystemClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// Go starts a goroutine.
func (c *SystemClock) Go(f func()) { go f() }

// Random draws numbers that depend only on the seed, the request and the
// purpose, so that a simulation repeats itself whatever runs beside it.
// It is safe for concurrent use.
type Random struct{ Seed uint64 }

// Purpose separates the draws of one request.
type Purpose uint64

// The purposes of random draws.
const (
	PurposeBackoff Purpose = iota + 1
	PurposeNode
	PurposeOpenDelay
	PurposeProbe
)

// Float64 returns a number in [0, 1) for the n-th draw of a request's purpose.
func (r Random) Float64(request uint64, p Purpose, n int) float64 {
	x := mix(r.Seed ^ mix(request^mix(uint64(p)<<32|uint64(uint32(n)))))
	return float64(x>>11) / (1 << 53)
}

// mix is one round of splitmix64.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
