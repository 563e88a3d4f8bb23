package circuit_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
)

const (
	fail    = circuit.Failure
	succeed = circuit.Success
	answer  = circuit.Answered
	neutral = circuit.Neutral
)

// rig drives one circuit by hand.
type rig struct {
	*testing.T
	c   *circuit.Circuit
	now time.Duration
}

func setup(t *testing.T, edit func(*circuit.Settings)) *rig {
	t.Helper()
	s := circuit.DefaultSettings()
	if edit != nil {
		edit(&s)
	}
	return &rig{T: t, c: circuit.New(s, nil)}
}

// take acquires a permit that must be granted.
func (r *rig) take() *circuit.Permit {
	r.Helper()
	p, wait, ok := r.c.Acquire(r.now)
	if !ok {
		r.Fatalf("at %v: refused for %v, want a permit", r.now, wait)
	}
	return &p
}

// call makes calls with these outcomes and returns the last transition.
func (r *rig) call(outcomes ...circuit.Outcome) circuit.Transition {
	r.Helper()
	var last circuit.Transition
	for _, o := range outcomes {
		if t, ok := r.take().Done(r.now, o, "server_error"); ok {
			last = t
		}
	}
	return last
}

// refused fails the test unless a call is refused for wait.
func (r *rig) refused(wait time.Duration) {
	r.Helper()
	_, got, ok := r.c.Acquire(r.now)
	if ok || got != wait {
		r.Fatalf("at %v: got permit %v, wait %v; want refusal for %v", r.now, ok, got, wait)
	}
}

func (r *rig) state(want circuit.State) {
	r.Helper()
	if got := r.c.View(r.now).State; got != want {
		r.Fatalf("at %v: got %v, want %v", r.now, got, want)
	}
}

// open brings a circuit with default thresholds to open.
func (r *rig) open() {
	r.Helper()
	r.call(fail, fail, fail, fail, fail)
	r.state(circuit.Open)
}

func repeat(n int, outcomes ...circuit.Outcome) []circuit.Outcome {
	var all []circuit.Outcome
	for range n {
		all = append(all, outcomes...)
	}
	return all
}

func TestCircuit_OpensOnConsecutiveFailures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		outcomes []circuit.Outcome
		every    time.Duration
		want     circuit.State
	}{
		"threshold":                  {repeat(5, fail), time.Second, circuit.Open},
		"one_less":                   {repeat(4, fail), time.Second, circuit.Closed},
		"success_resets":             {[]circuit.Outcome{fail, fail, fail, fail, succeed, fail, fail, fail, fail}, time.Second, circuit.Closed},
		"neutral_between":            {[]circuit.Outcome{fail, fail, neutral, fail, neutral, fail, fail}, time.Second, circuit.Open},
		"callers_mistake_between":    {[]circuit.Outcome{fail, fail, answer, fail, answer, fail, fail}, time.Second, circuit.Open},
		"first_at_edge_of_window":    {repeat(5, fail), 15 * time.Second, circuit.Open},
		"first_just_outside":         {repeat(30, fail), 15*time.Second + time.Millisecond, circuit.Closed},
		"quiet_hour_of_bad_calls":    {repeat(60, fail), time.Minute, circuit.Closed},
		"nothing_but_neutral":        {repeat(100, neutral), time.Second, circuit.Closed},
		"nothing_but_callers_faults": {repeat(100, answer), time.Second, circuit.Closed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, nil)
			for _, o := range tc.outcomes {
				r.call(o)
				r.now += tc.every
			}
			r.now -= tc.every
			r.state(tc.want)
		})
	}
}

func TestCircuit_ConsecutiveFailuresSlideWithTheWindow(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	r.call(fail)
	r.now = 55 * time.Second
	r.call(fail, fail, fail)
	r.now = 70 * time.Second
	r.call(fail)
	r.state(circuit.Closed)
	if got := r.c.View(r.now).Consecutive; got != 4 {
		t.Errorf("got %d consecutive failures inside the window, want 4", got)
	}
	r.call(fail)
	r.state(circuit.Open)
}

// The rate's cases are those of a well-known breaker's suite (minimum 5 calls,
// 50 %), with a consecutive threshold out of reach.
func TestCircuit_OpensOnErrorRate(t *testing.T) {
	t.Parallel()
	rate := func(s *circuit.Settings) {
		s.FailureThreshold, s.MinCalls, s.WindowMS = 100, 5, 20_000
	}
	t.Run("success_can_be_the_call_that_opens", func(t *testing.T) {
		t.Parallel()
		r := setup(t, rate)
		r.call(fail, fail, fail, succeed)
		r.state(circuit.Closed)
		got := r.call(succeed)
		want := circuit.Transition{
			From: circuit.Closed, To: circuit.Open, Cause: "server_error",
			Failures: 3, Calls: 5, Opens: 1, OpenUntil: 30 * time.Second,
		}
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		r.refused(30 * time.Second)
	})
	t.Run("opens_when_the_rate_is_reached", func(t *testing.T) {
		t.Parallel()
		r := setup(t, rate)
		for _, o := range []circuit.Outcome{succeed, succeed, succeed, fail, fail} {
			r.call(o)
			r.now += time.Second
		}
		r.state(circuit.Closed)
		r.now += time.Second
		if got := r.call(fail); got.Failures != 3 || got.Calls != 6 || got.To != circuit.Open {
			t.Errorf("got %+v, want open at 3 of 6", got)
		}
	})
	t.Run("compares_whole_numbers", func(t *testing.T) {
		t.Parallel()
		r := setup(t, func(s *circuit.Settings) { s.FailureThreshold, s.MinCalls = 100, 20 })
		r.call(repeat(11, succeed)...)
		r.call(repeat(9, fail)...)
		r.state(circuit.Closed) // 9 of 20 is 450 permille
		r.call(fail)
		r.state(circuit.Open) // the oldest success made room: 10 of 20
	})
	t.Run("old_outcomes_do_not_count", func(t *testing.T) {
		t.Parallel()
		r := setup(t, rate)
		r.call(fail, fail, fail, fail)
		r.now = 20*time.Second + 1
		r.call(succeed)
		r.state(circuit.Closed)
		if v := r.c.View(r.now); v.Failures != 0 || v.Calls != 1 {
			t.Errorf("got %d of %d, want 0 of 1", v.Failures, v.Calls)
		}
	})
}

// Reads age the window: a count of 4 slides by number, a window by time.
func TestCircuit_WindowAgesOnRead(t *testing.T) {
	t.Parallel()
	r := setup(t, func(s *circuit.Settings) { s.WindowMS = 5000; s.FailureThreshold = 100 })
	for _, step := range []struct {
		at              time.Duration
		outcome         circuit.Outcome
		failures, calls int
	}{
		{0, fail, 1, 1}, {100, succeed, 1, 2}, {200, succeed, 1, 3}, {1200, succeed, 1, 4},
		{2200, succeed, 1, 5}, {3200, fail, 2, 6}, {4200, succeed, 2, 7}, {5150, succeed, 1, 6},
		{6200, succeed, 1, 6},
	} {
		r.now = step.at * time.Millisecond
		r.call(step.outcome)
		if v := r.c.View(r.now); v.Failures != step.failures || v.Calls != step.calls {
			t.Errorf("at %v: got %d of %d, want %d of %d", r.now, v.Failures, v.Calls, step.failures, step.calls)
		}
	}
	if v := r.c.View(r.now + 5001*time.Millisecond); v.Failures != 0 || v.Calls != 0 {
		t.Errorf("read 5 s later without a call: got %d of %d, want 0 of 0", v.Failures, v.Calls)
	}
}

// A ring of 20 slides by number: the failure is one in one, one in two, and
// falls out when the 21st outcome comes.
func TestCircuit_RingSlidesByNumber(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	r.call(fail)
	for calls := 1; calls <= 20; calls++ {
		if v := r.c.View(r.now); v.Failures != 1 || v.Calls != calls {
			t.Fatalf("got %d of %d, want 1 of %d", v.Failures, v.Calls, calls)
		}
		r.call(succeed)
	}
	if v := r.c.View(r.now); v.Failures != 0 || v.Calls != 20 {
		t.Errorf("got %d of %d, want 0 of 20", v.Failures, v.Calls)
	}
}

func TestCircuit_OpenTime(t *testing.T) {
	t.Parallel()
	t.Run("half_opens_on_time", func(t *testing.T) {
		t.Parallel()
		r := setup(t, nil)
		r.open()
		r.refused(30 * time.Second)
		r.now = 30*time.Second - 1
		r.refused(1)
		if _, moved := r.c.Advance(r.now); moved {
			t.Fatal("moved before its time")
		}
		r.now = 30 * time.Second
		got, moved := r.c.Advance(r.now)
		want := circuit.Transition{
			From: circuit.Open, To: circuit.HalfOpen, At: r.now, Cause: circuit.CauseTime, Opens: 1,
		}
		if !moved || got != want {
			t.Fatalf("got %+v, %v, want %+v without any call to wake it", got, moved, want)
		}
		if _, again := r.c.Advance(r.now); again {
			t.Error("the same change was reported twice")
		}
	})
	t.Run("acquire_reports_the_change", func(t *testing.T) {
		t.Parallel()
		r := setup(t, nil)
		r.open()
		r.now = 31 * time.Second
		p := r.take()
		got, ok := p.Transition()
		want := circuit.Transition{
			From: circuit.Open, To: circuit.HalfOpen, At: r.now, Cause: circuit.CauseTime, Opens: 1,
		}
		if !ok || got != want || !p.Probe() {
			t.Fatalf("got %+v, %v, probe %v, want %+v on a probe", got, ok, p.Probe(), want)
		}
		if _, ok := r.take().Transition(); ok {
			t.Error("the second probe reported the change again")
		}
	})
	t.Run("grows_to_the_longest", func(t *testing.T) {
		t.Parallel()
		r := setup(t, nil)
		r.open()
		for i, want := range []time.Duration{60, 120, 240, 300, 300} {
			r.now = r.c.View(r.now).OpenUntil
			if got := r.call(fail); got.OpenUntil-r.now != want*time.Second || got.Opens != i+2 {
				t.Errorf("opening %d: got %v, opens %d, want %v s", i+2, got.OpenUntil-r.now, got.Opens, int(want))
			}
		}
	})
}

func TestCircuit_OpenTimeGrowthEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		healthy time.Duration
		want    time.Duration
	}{
		"relapse_inside_the_window": {60 * time.Second, 60 * time.Second},
		"relapse_after_the_window":  {60*time.Second + 1, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, nil)
			r.open()
			r.now = 30 * time.Second
			r.call(succeed, succeed)
			r.state(circuit.Closed)
			r.now += tc.healthy
			r.open()
			r.refused(tc.want)
		})
	}
}

func TestCircuit_OpenTimeIsStretchedUpwards(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ jitter, want float64 }{{0, 30}, {0.5, 31.5}, {0.999, 32.997}, {-3, 30}, {7, 33}} {
		c := circuit.New(circuit.Settings{}, func() float64 { return tc.jitter })
		r := &rig{T: t, c: c}
		r.open()
		if got := r.c.View(0).OpenUntil.Seconds(); got < tc.want-1e-6 || got > tc.want+1e-6 {
			t.Errorf("jitter %v: open for %v s, want %v", tc.jitter, got, tc.want)
		}
	}
}

// One failure in a hundred, at a hundred calls a second for ten minutes, opens
// none of the shipped circuits, however the failures fall.
func TestCircuit_HealthyBusyTargetStaysClosed(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*circuit.Settings){
		"default":   nil,
		"batch":     func(s *circuit.Settings) { s.FailureThreshold, s.OpenForMS = 3, 120_000 },
		"assistant": func(s *circuit.Settings) { s.FailureThreshold, s.WindowMS = 7, 30_000 },
		"admin":     func(s *circuit.Settings) { s.FailureThreshold, s.OpenForMS = 10, 60_000 },
	} {
		for spread, failing := range map[string]func(i int, rng *rand.Rand) bool{
			"even":   func(i int, _ *rand.Rand) bool { return i%100 == 0 },
			"random": func(_ int, rng *rand.Rand) bool { return rng.IntN(100) == 0 },
		} {
			t.Run(name+"_"+spread, func(t *testing.T) {
				t.Parallel()
				r, rng := setup(t, edit), rand.New(rand.NewPCG(20260921, 1))
				for i := range 60_000 {
					o := succeed
					if failing(i, rng) {
						o = fail
					}
					if tr := r.call(o); tr != (circuit.Transition{}) {
						t.Fatalf("call %d: %+v", i, tr)
					}
					r.now += 10 * time.Millisecond
				}
			})
		}
	}
}

func TestCircuit_OneBadCallInAQuietMinute(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	for range 50 {
		r.call(fail)
		r.now += 30 * time.Second
		r.call(succeed)
		r.now += 30 * time.Second
	}
	r.state(circuit.Closed)
}
