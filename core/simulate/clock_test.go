package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/spillway-llm/spillway/core/simulate"
)

// trace is what tasks did, in order, with the virtual time.
type trace struct {
	clock *simulate.Clock
	lines []string
}

func newTrace() *trace {
	return &trace{clock: simulate.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
}

func (t *trace) note(format string, args ...any) {
	t.lines = append(t.lines, fmt.Sprintf("%v ", t.clock.Mono())+fmt.Sprintf(format, args...))
}

// run drives the clock until nothing waits, and holds the trace.
func (t *trace) run(tb testing.TB, want ...string) {
	tb.Helper()
	t.clock.Run(func() bool { return false })
	t.clock.Stop()
	if !slices.Equal(t.lines, want) {
		tb.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(t.lines, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestClock_OrdersByTimeThenSequence(t *testing.T) {
	t.Parallel()
	tr := newTrace()
	for _, s := range []struct {
		name  string
		sleep time.Duration
	}{{"a", 2 * time.Second}, {"b", time.Second}, {"c", 2 * time.Second}} {
		tr.clock.Go(func() {
			tr.note("%s begins", s.name)
			if err := tr.clock.Sleep(t.Context(), s.sleep); err != nil {
				t.Error(err)
			}
			tr.note("%s wakes", s.name)
			tr.clock.Go(func() { tr.note("%s's child", s.name) })
			tr.note("%s ends", s.name)
		})
	}
	tr.run(t, "0s a begins", "0s b begins", "0s c begins", "1s b wakes", "1s b ends", "1s b's child",
		"2s a wakes", "2s a ends", "2s c wakes", "2s c ends", "2s a's child", "2s c's child")
	if got := tr.clock.Wall(); !got.Equal(time.Date(2026, 1, 1, 0, 0, 2, 0, time.UTC)) {
		t.Errorf("wall time %v", got)
	}
}

func TestClock_CancelWakesAtOnce(t *testing.T) {
	t.Parallel()
	tr := newTrace()
	parent, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range 3 {
		tr.clock.Go(func() {
			child, end := context.WithCancelCause(parent)
			defer end(nil)
			err := tr.clock.Sleep(child, time.Hour)
			tr.note("%d: %v", i, err)
		})
	}
	tr.clock.Go(func() {
		tr.note("bystander sleeps")
		err := tr.clock.Sleep(t.Context(), time.Second)
		tr.note("bystander: %v", err)
	})
	tr.clock.AfterFunc(time.Second, func() {
		cancel()
		tr.note("cancelled")
	})
	tr.run(t, "0s bystander sleeps", "1s cancelled", "1s bystander: <nil>",
		"1s 0: context canceled", "1s 1: context canceled", "1s 2: context canceled")
}

// A cancel at the very moment at which a sleeper is due wins if it came first.
func TestClock_CancelBeforeTheTurn(t *testing.T) {
	t.Parallel()
	tr := newTrace()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tr.clock.AfterFunc(time.Second, cancel)
	tr.clock.Go(func() { tr.note("%v", tr.clock.Sleep(ctx, time.Second)) })
	tr.run(t, "1s context canceled")
}

func TestClock_AfterFunc(t *testing.T) {
	t.Parallel()
	tr := newTrace()
	stopped := tr.clock.AfterFunc(time.Second, func() { tr.note("never") })
	late := tr.clock.AfterFunc(2*time.Second, func() { tr.note("fired") })
	tr.clock.AfterFunc(-time.Second, func() { tr.note("at once") })
	tr.clock.Go(func() {
		tr.note("stop %v, again %v", stopped(), stopped())
		_ = tr.clock.Sleep(t.Context(), 3*time.Second)
		tr.note("too late %v", late())
	})
	tr.run(t, "0s at once", "0s stop true, again false", "2s fired", "3s too late false")
}

func TestClock_SleepThatDoesNot(t *testing.T) {
	t.Parallel()
	clock := simulate.NewClock(time.Time{})
	if err := clock.Sleep(t.Context(), time.Second); err == nil {
		t.Error("a sleep outside a task came back without an error")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	clock.Go(func() {
		if err := clock.Sleep(t.Context(), 0); err != nil {
			t.Error(err)
		}
		if err := clock.Sleep(ended, time.Second); !errors.Is(err, context.Canceled) {
			t.Errorf("with an ended context: %v", err)
		}
	})
	clock.Run(func() bool { return false })
	if clock.Mono() != 0 {
		t.Errorf("%v passed", clock.Mono())
	}
	clock.Stop()
}

func TestClock_RunStopsWhenDone(t *testing.T) {
	t.Parallel()
	tr := newTrace()
	n := 0
	tr.clock.Go(func() {
		for tr.clock.Sleep(t.Context(), time.Second) == nil {
			n++
		}
		tr.note("stopped")
	})
	tr.clock.Run(func() bool { return n == 5 })
	tr.clock.AfterFunc(time.Second, func() { tr.note("a timer fired after Stop") })
	tr.clock.Go(func() { tr.note("%v", tr.clock.Sleep(t.Context(), time.Second)) })
	tr.clock.Stop()
	if want := []string{"5s stopped", "5s " + simulate.ErrStopped.Error()}; !slices.Equal(tr.lines, want) {
		t.Errorf("got %q, want %q", tr.lines, want)
	}
}

// A bubble fails when a goroutine is left in it.
func TestClock_LeavesNoGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := newTrace()
		for range 50 {
			tr.clock.Go(func() { _ = tr.clock.Sleep(t.Context(), time.Hour) })
			tr.clock.Go(func() {})
		}
		tr.clock.Run(func() bool { return tr.clock.Mono() > 0 })
		tr.clock.Stop()
	})
}

func TestClock_PanicComesOut(t *testing.T) {
	t.Parallel()
	clock := simulate.NewClock(time.Time{})
	clock.Go(func() { panic("defect") })
	defer func() {
		if got := recover(); got != "defect" {
			t.Errorf("recovered %v", got)
		}
	}()
	clock.Run(func() bool { return false })
	t.Error("the panic was swallowed")
}

func TestClock_Aside(t *testing.T) {
	t.Parallel()
	tr := newTrace()
	tr.clock.Aside(func() { tr.note("without a task") })
	for _, name := range []string{"a", "b"} {
		tr.clock.Go(func() {
			tr.clock.Aside(func() { tr.note("%s aside", name) })
			tr.clock.Aside(func() { tr.note("%s again", name) })
			tr.note("%s ends", name)
		})
	}
	tr.run(t, "0s without a task", "0s a aside", "0s a again", "0s a ends", "0s b aside", "0s b again", "0s b ends")
}

// TestClock_Repeats runs random programs of tasks that sleep, start, stop and
// cancel one another, twice each: both runs must do the same at the same times.
func TestClock_Repeats(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 99), 1, 6), 1, 12).Draw(rt, "tasks")
		first := played(t.Context(), steps)
		runtime.Gosched()
		if second := played(t.Context(), steps); !slices.Equal(first, second) {
			rt.Fatalf("first\n%s\nsecond\n%s", strings.Join(first, "\n"), strings.Join(second, "\n"))
		}
	})
}

// played interprets each number as something that a task does.
func played(ctx context.Context, programs [][]int) []string {
	tr := newTrace()
	contexts := make([]context.Context, len(programs))
	cancels := make([]context.CancelFunc, len(programs))
	for i := range programs {
		contexts[i], cancels[i] = context.WithCancel(ctx)
		defer cancels[i]()
	}
	for i, program := range programs {
		tr.clock.Go(func() {
			for _, n := range program {
				other := n % len(programs)
				switch {
				case n < 60:
					tr.note("%d slept: %v", i, tr.clock.Sleep(contexts[i], time.Duration(n%7)*time.Second))
				case n < 75:
					cancels[other]()
				case n < 90:
					tr.clock.AfterFunc(time.Duration(n%5)*time.Second, func() { tr.note("timer of %d", i) })
				default:
					tr.clock.Go(func() { tr.note("child of %d: %v", i, tr.clock.Sleep(contexts[other], time.Second)) })
				}
			}
		})
	}
	tr.clock.Run(func() bool { return false })
	tr.clock.Stop()
	return tr.lines
}
