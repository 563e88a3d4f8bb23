package limit_test

import (
	"errors"
	"testing"

	"github.com/spillway-llm/spillway/core/limit"
)

func TestSettings_Check(t *testing.T) {
	t.Parallel()
	type checked interface{ Check() error }
	for _, s := range []checked{
		limit.ConcurrencySettings{}, limit.ConcurrencySettings{Limit: 20, Queue: 40, MaxWaitMS: 2000},
		limit.RateSettings{}, limit.DefaultRate(), limit.SpendSettings{},
		limit.SpendSettings{DayPico: 1e12, MonthPico: 1e13, FallbackOutputPico: 75e6},
	} {
		if err := s.Check(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	for want, s := range map[string]checked{
		"limit is -1, not in 0..100000":                       limit.ConcurrencySettings{Limit: -1},
		"queue is 100001, not in 0..100000":                   limit.ConcurrencySettings{Limit: 1, Queue: 100_001},
		"queue is 5 without a limit":                          limit.ConcurrencySettings{Queue: 5},
		"max_wait_ms is 600001, not in 0..600000":             limit.ConcurrencySettings{MaxWaitMS: 600_001},
		"requests_per_minute is -3, not in 0..50000000":       limit.RateSettings{RequestsPerMinute: -3},
		"output_tokens_per_minute is -1, not in 0..50000000":  limit.RateSettings{OutputTokensPerMinute: -1},
		"tokens_per_minute is 50000001, not in 0..50000000":   limit.RateSettings{TokensPerMinute: 50_000_001},
		"burst_s is 61, not in 0..60":                         limit.RateSettings{BurstSeconds: 61},
		"day_pico is -1, not in 0..4000000000000000000":       limit.SpendSettings{DayPico: -1},
		"day_pico is 20, above month_pico 10":                 limit.SpendSettings{DayPico: 20, MonthPico: 10},
		"fallback_input_pico is -7, not in 0..1000000000000":  limit.SpendSettings{FallbackInputPico: -7},
		"fallback_output_pico is -7, not in 0..1000000000000": limit.SpendSettings{FallbackOutputPico: -7},
	} {
		err := s.Check()
		if !errors.Is(err, limit.ErrSettings) || err.Error() != want+": unusable limit settings" {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
