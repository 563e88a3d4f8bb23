package differential_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/sony/gobreaker/v2"
	"github.com/spillway-llm/spillway/core/circuit"
)

// The semantics that all three share: 5 failures in a row open, 30 s later 2
// probes at a time find out, 2 successes close and one failure opens again.
const (
	failures  = 5
	openFor   = 30 * time.Second
	probes    = 2
	histories = 300
	steps     = 400
)

// ours is a circuit with the shared semantics and nothing else: a window that
// holds every history, no rate that decides before the failures in a row, no
// growth of the open time and no jitter.
func ours() *circuit.Circuit {
	return circuit.New(circuit.Settings{
		FailureThreshold: failures, WindowMS: 86_400_000, ErrorRatePermille: 1000, MinCalls: 20,
		OpenForMS: int(openFor.Milliseconds()), OpenForMaxMS: int(openFor.Milliseconds()),
		HalfOpenPermits: probes, SuccessThreshold: probes,
	}, nil)
}

// call is one that runs in both libraries.
type call struct {
	permit *circuit.Permit
	done   func(failed, counts bool)
	state  circuit.State // in which it began
	change int
}

// other is a library's circuit behind the same questions.
type other interface {
	// acquire asks for a call; done reports it, and counts is false for one that is
	// to be left out of the figures.
	acquire() (done func(failed, counts bool), ok bool)
	state() circuit.State
}

// history is one random sequence of calls in a bubble of virtual time.
type history struct {
	*testing.T
	rng     *rand.Rand
	seed    uint64
	mine    *circuit.Circuit
	theirs  other
	start   time.Time
	running []call
	changes int
	last    circuit.State
	// atOnce bounds the probes that run side by side.
	atOnce int
	// neutral and late tell whether the library knows calls that don't count, and
	// drops the results of an earlier state.
	neutral, late bool
	// lazy tells that time alone doesn't move the library: an open circuit whose
	// time is up reads as open until somebody asks for a call.
	lazy bool
}

func (h *history) now() time.Duration { return time.Since(h.start) }

// compare holds that both are in the same state.
func (h *history) compare(what string) {
	h.Helper()
	mine, theirs := h.mine.View(h.now()).State, h.theirs.state()
	if h.lazy && mine == circuit.HalfOpen && theirs == circuit.Open {
		return
	}
	if mine != theirs {
		h.Fatalf("history %d, %v, %s: ours is %v, theirs %v", h.seed, h.now(), what, mine, theirs)
	}
	if mine != h.last {
		h.last = mine
		h.changes++
	}
}

// begin asks both for a call.
func (h *history) begin() {
	h.Helper()
	if h.mine.View(h.now()).State == circuit.HalfOpen && h.mine.View(h.now()).Probes >= h.atOnce {
		return
	}
	permit, _, ok := h.mine.Acquire(h.now())
	done, theirs := h.theirs.acquire()
	if ok != theirs {
		h.Fatalf("history %d, %v: ours admits %v, theirs %v", h.seed, h.now(), ok, theirs)
	}
	h.compare("after a call began")
	if ok {
		h.running = append(h.running, call{permit: &permit, done: done, state: h.last, change: h.changes})
	}
}

// end ends one of the running calls, in any order.
func (h *history) end() {
	h.Helper()
	if len(h.running) == 0 {
		return
	}
	i := h.rng.IntN(len(h.running))
	c := h.running[i]
	h.running = append(h.running[:i], h.running[i+1:]...)
	o, failed := circuit.Success, h.rng.IntN(100) < 60
	if failed {
		o = circuit.Failure
	}
	counts := !h.neutral || h.rng.IntN(5) > 0
	if !counts {
		o = circuit.Neutral
	}
	c.permit.Done(h.now(), o, "server_error")
	if h.late || c.change == h.changes {
		c.done(failed, counts)
	}
	h.compare(fmt.Sprintf("after a call of the %v state ended with %v", c.state, o))
}

// run makes the history's steps. Waits are odd, so that none ends at the very
// moment at which the open time does: the libraries treat it differently.
func (h *history) run() {
	h.Helper()
	for range steps {
		switch n := h.rng.IntN(10); {
		case n < 4:
			h.begin()
		case n < 9:
			h.end()
		default:
			time.Sleep(time.Duration(h.rng.IntN(45_000))*time.Millisecond + time.Microsecond)
			h.compare("after a while")
		}
	}
}

// gobreakers are sony/gobreaker's two-step circuits.
type gobreakers struct {
	cb *gobreaker.TwoStepCircuitBreaker[any]
}

var (
	errFailed   = errors.New("failed")
	errExcluded = errors.New("does not count")
)

func newGobreaker() gobreakers {
	return gobreakers{cb: gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		MaxRequests: probes, Timeout: openFor,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= failures },
		IsExcluded:  func(err error) bool { return errors.Is(err, errExcluded) },
	})}
}

func (g gobreakers) acquire() (func(failed, counts bool), bool) {
	done, err := g.cb.Allow()
	if err != nil {
		return nil, false
	}
	return func(failed, counts bool) {
		switch {
		case !counts:
			done(errExcluded)
		case failed:
			done(errFailed)
		default:
			done(nil)
		}
	}, true
}

func (g gobreakers) state() circuit.State {
	switch g.cb.State() {
	case gobreaker.StateHalfOpen:
		return circuit.HalfOpen
	case gobreaker.StateOpen:
		return circuit.Open
	default:
		return circuit.Closed
	}
}

// failsafes are failsafe-go's circuits, used without their executor.
type failsafes struct {
	cb circuitbreaker.CircuitBreaker[any]
}

func newFailsafe() failsafes {
	return failsafes{cb: circuitbreaker.NewBuilder[any]().
		WithFailureThreshold(failures).WithSuccessThreshold(probes).WithDelay(openFor).Build()}
}

func (f failsafes) acquire() (func(failed, counts bool), bool) {
	if !f.cb.TryAcquirePermit() {
		return nil, false
	}
	return func(failed, _ bool) {
		if failed {
			f.cb.RecordFailure()
		} else {
			f.cb.RecordSuccess()
		}
	}, true
}

func (f failsafes) state() circuit.State {
	switch f.cb.State() {
	case circuitbreaker.HalfOpenState:
		return circuit.HalfOpen
	case circuitbreaker.OpenState:
		return circuit.Open
	default:
		return circuit.Closed
	}
}

// compareHistories runs random histories and counts the changes of state that
// they agreed on.
func compareHistories(t *testing.T, setup func(*history)) {
	synctest.Test(t, func(t *testing.T) {
		changes := 0
		for seed := range uint64(histories) {
			h := &history{T: t, rng: rand.New(rand.NewPCG(20260921, seed)), seed: seed, mine: ours(), start: time.Now()}
			setup(h)
			h.run()
			changes += h.changes
		}
		if changes < 5*histories {
			t.Errorf("only %d changes of state in %d histories: too few to say anything", changes, histories)
		}
		t.Logf("%d histories of %d steps, %d changes of state, no difference", histories, steps, changes)
	})
}

// Calls overlap freely while closed, and end late: results of an earlier state
// vote in neither. Probes run one after another, because gobreaker counts its
// permits over the whole half-open time and ours are so many at a time.
func TestCircuit_AgainstGobreaker(t *testing.T) {
	t.Parallel()
	compareHistories(t, func(h *history) {
		h.theirs, h.atOnce, h.neutral, h.late = newGobreaker(), 1, true, true
	})
}

// Calls overlap freely in every state. Results of an earlier state are kept
// from failsafe-go, where they would vote, and every call counts, because it
// knows only success and failure.
func TestCircuit_AgainstFailsafe(t *testing.T) {
	t.Parallel()
	compareHistories(t, func(h *history) {
		h.theirs, h.atOnce = newFailsafe(), probes
		h.lazy = true
	})
}

// Rates agree as long as both look at the same calls: fewer than the last 20,
// within a window that drops nothing.
func TestCircuit_RateAgainstFailsafe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		for seed := range uint64(histories) {
			rng := rand.New(rand.NewPCG(20260921, seed))
			mine := circuit.New(circuit.Settings{
				FailureThreshold: 1000, WindowMS: 60_000, ErrorRatePermille: 500, MinCalls: 10,
			}, nil)
			theirs := circuitbreaker.NewBuilder[any]().WithFailureRateThreshold(0.5, 10, time.Minute).
				WithDelay(openFor).Build()
			start, share := time.Now(), rng.IntN(80)
			for i := range 20 {
				time.Sleep(time.Duration(rng.IntN(2500)) * time.Millisecond)
				permit, _, _ := mine.Acquire(time.Since(start))
				if rng.IntN(100) < share {
					permit.Done(time.Since(start), circuit.Failure, "server_error")
					theirs.RecordFailure()
				} else {
					permit.Done(time.Since(start), circuit.Success, "")
					theirs.RecordSuccess()
				}
				open := mine.View(time.Since(start)).State == circuit.Open
				if open != theirs.IsOpen() {
					t.Fatalf("history %d, call %d: ours is open %v, theirs %v", seed, i, open, theirs.IsOpen())
				}
				if open {
					opened++
					break
				}
			}
		}
		if opened < histories/10 || opened > histories*9/10 {
			t.Errorf("%d of %d opened: too one-sided to say anything", opened, histories)
		}
	})
}
