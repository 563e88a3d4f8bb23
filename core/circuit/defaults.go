package circuit

// WithDefaults returns the settings with each figure that is zero or negative
// replaced by [DefaultSettings]'s (slow calls stay off), and figures that a circuit can't hold cut to
// what it can: an embedder who skips [Settings.Check] gets a circuit that works.
func (s Settings) WithDefaults() Settings {
	d := DefaultSettings()
	for _, f := range []struct {
		got       *int
		otherwise int
		most      int
	}{
		{&s.FailureThreshold, d.FailureThreshold, 1000},
		{&s.WindowMS, d.WindowMS, maxMillis},
		{&s.ErrorRatePermille, d.ErrorRatePermille, 1000},
		{&s.MinCalls, d.MinCalls, rateOutcomes},
		{&s.OpenForMS, d.OpenForMS, maxMillis},
		{&s.OpenForMaxMS, d.OpenForMaxMS, maxMillis},
		{&s.HalfOpenPermits, d.HalfOpenPermits, maxProbes},
		{&s.SuccessThreshold, d.SuccessThreshold, 100},
		{&s.LeaseMS, d.LeaseMS, maxMillis},
	} {
		if *f.got <= 0 {
			*f.got = f.otherwise
		}
		*f.got = min(*f.got, f.most)
	}
	s.OpenForMaxMS = max(s.OpenForMaxMS, s.OpenForMS)
	s.SlowCallMS = min(max(0, s.SlowCallMS), maxMillis)
	if s.SlowCallMS > 0 && s.SlowRatePermille <= 0 {
		s.SlowRatePermille = d.ErrorRatePermille
	}
	s.SlowRatePermille = min(max(0, s.SlowRatePermille), 1000)
	return s
}

// maxMillis is a day, the longest time in settings.
const maxMillis = 24 * 3_600_000
