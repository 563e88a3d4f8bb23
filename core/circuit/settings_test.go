package circuit_test

import (
	"errors"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
)

func TestSetSettings_KeepsCounts(t *testing.T) {
	t.Parallel()
	t.Run("lowered_threshold_applies_at_the_next_outcome", func(t *testing.T) {
		t.Parallel()
		r := setup(t, func(s *circuit.Settings) { s.FailureThreshold = 7 })
		r.call(fail, fail, fail, fail)
		s := circuit.DefaultSettings()
		s.FailureThreshold = 3
		r.c.SetSettings(s)
		r.state(circuit.Closed)
		r.call(fail)
		r.state(circuit.Open)
	})
	t.Run("raised_threshold_keeps_the_run", func(t *testing.T) {
		t.Parallel()
		r := setup(t, nil)
		r.call(fail, fail, fail, fail)
		s := circuit.DefaultSettings()
		s.FailureThreshold, s.MinCalls, s.ErrorRatePermille = 30, 20, 1000
		r.c.SetSettings(s)
		r.call(succeed)
		r.call(repeat(19, fail)...)
		r.state(circuit.Closed)
		s.ErrorRatePermille = 900
		r.c.SetSettings(s)
		if v := r.c.View(r.now); v.Calls != 20 || v.Failures != 19 || v.Consecutive != 19 {
			t.Fatalf("got %+v, want 19 of 20", v)
		}
		r.call(succeed)
		r.state(circuit.Open)
	})
	t.Run("threshold_beyond_the_rate_window", func(t *testing.T) {
		t.Parallel()
		r := setup(t, func(s *circuit.Settings) {
			s.FailureThreshold, s.MinCalls, s.ErrorRatePermille = 1000, 20, 1000
		})
		r.call(repeat(19, fail)...)
		r.state(circuit.Closed)
		r.call(fail)
		r.state(circuit.Open) // by the rate: 20 of 20
	})
	t.Run("shorter_window_forgets", func(t *testing.T) {
		t.Parallel()
		r := setup(t, nil)
		r.call(fail, fail, fail, fail)
		r.now = 20 * time.Second
		s := circuit.DefaultSettings()
		s.WindowMS = 10_000
		r.c.SetSettings(s)
		r.call(fail)
		r.state(circuit.Closed)
	})
}

func TestSetSettings_RunningOpenTime(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ openForMS, wantWait int }{
		"longer_is_for_the_next_opening": {120_000, 20_000},
		"shorter_applies_at_once":        {15_000, 5_000},
		"already_over":                   {2_000, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, nil)
			r.open()
			r.now = 10 * time.Second
			s := circuit.DefaultSettings()
			s.OpenForMS = tc.openForMS
			r.c.SetSettings(s)
			if tc.wantWait == 0 {
				r.take()
				return
			}
			r.refused(time.Duration(tc.wantWait) * time.Millisecond)
		})
	}
}

func TestSetSettings_FewerProbes(t *testing.T) {
	t.Parallel()
	r := halfOpen(t, func(s *circuit.Settings) { s.SuccessThreshold = 100 })
	a, b, c := r.take(), r.take(), r.take()
	s := circuit.DefaultSettings()
	s.HalfOpenPermits = 1
	r.c.SetSettings(s)
	a.Done(r.now, neutral, "")
	b.Done(r.now, neutral, "")
	r.refused(0) // one still runs
	c.Done(r.now, neutral, "")
	r.take()
	r.refused(0)
}

func TestSettings_WithDefaults(t *testing.T) {
	t.Parallel()
	if got := (circuit.Settings{}).WithDefaults(); got != circuit.DefaultSettings() {
		t.Errorf("zero settings: got %+v", got)
	}
	wild := circuit.Settings{
		FailureThreshold: 1 << 30, WindowMS: -5, ErrorRatePermille: 5000, MinCalls: 99, OpenForMS: 400_000,
		HalfOpenPermits: 1 << 20, SuccessThreshold: 1 << 20, LeaseMS: 1 << 40,
	}.WithDefaults()
	if err := wild.Check(); err != nil {
		t.Errorf("settings made usable are not: %v", err)
	}
	if wild.OpenForMaxMS != 400_000 {
		t.Errorf("longest open time %d, want no less than the first", wild.OpenForMaxMS)
	}
	slow := circuit.Settings{SlowCallMS: 1 << 40, SlowRatePermille: -4}.WithDefaults()
	if slow.SlowCallMS != 86_400_000 || slow.SlowRatePermille != 500 || slow.Check() != nil {
		t.Errorf("slow calls: got %d ms and %d permille", slow.SlowCallMS, slow.SlowRatePermille)
	}
	// A circuit with such settings works.
	r := &rig{T: t, c: circuit.New(circuit.Settings{HalfOpenPermits: 1 << 20}, nil)}
	r.open()
	r.now = 30 * time.Second
	for range 16 {
		r.take()
	}
	r.refused(0)
}

func TestSettings_Check(t *testing.T) {
	t.Parallel()
	if err := circuit.DefaultSettings().Check(); err != nil {
		t.Fatalf("the defaults: %v", err)
	}
	for want, edit := range map[string]func(*circuit.Settings){
		"failure_threshold is 0, not in 1..1000: unusable circuit settings":       func(s *circuit.Settings) { s.FailureThreshold = 0 },
		"min_calls is 21, not in 1..20: unusable circuit settings":                func(s *circuit.Settings) { s.MinCalls = 21 },
		"half_open_permits is 17, not in 1..16: unusable circuit settings":        func(s *circuit.Settings) { s.HalfOpenPermits = 17 },
		"open_for_max_ms is 1, not in 30000..86400000: unusable circuit settings": func(s *circuit.Settings) { s.OpenForMaxMS = 1 },
		"window_ms is 0, not in 1000..3600000: unusable circuit settings":         func(s *circuit.Settings) { s.WindowMS = 0 },
		"failure_threshold is -5, not in 1..1000: unusable circuit settings":      func(s *circuit.Settings) { s.FailureThreshold = -5 },
		"error_rate_permille is -1, not in 1..1000: unusable circuit settings":    func(s *circuit.Settings) { s.ErrorRatePermille = -1 },
		"success_threshold is -2, not in 1..100: unusable circuit settings":       func(s *circuit.Settings) { s.SuccessThreshold = -2 },
		"half_open_permits is 21, not in 1..16: unusable circuit settings":        func(s *circuit.Settings) { s.HalfOpenPermits = 21 }, // more than the window's 20 outcomes
		"lease_ms is -1, not in 1000..86400000: unusable circuit settings":        func(s *circuit.Settings) { s.LeaseMS = -1 },
		"slow_call_ms is -1, not in 0..86400000: unusable circuit settings":       func(s *circuit.Settings) { s.SlowCallMS = -1 },
		"slow_rate_permille is 0, not in 1..1000: unusable circuit settings":      func(s *circuit.Settings) { s.SlowCallMS = 5000 },
		"slow_rate_permille is 1001, not in 1..1000: unusable circuit settings":   func(s *circuit.Settings) { s.SlowCallMS, s.SlowRatePermille = 5000, 1001 },
		"slow_rate_permille is 500 without slow_call_ms: unusable circuit settings": func(s *circuit.Settings) {
			s.SlowRatePermille = 500
		},
	} {
		s := circuit.DefaultSettings()
		edit(&s)
		err := s.Check()
		if !errors.Is(err, circuit.ErrSettings) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
