package limit

import (
	"errors"
	"fmt"
)

// ErrSettings marks settings that can't be used.
var ErrSettings = errors.New("unusable limit settings")

// ConcurrencySettings shape a [Concurrency]. The zero value limits nothing.
type ConcurrencySettings struct {
	// Limit is how many attempts may run at once; 0 is no limit.
	Limit int `json:"limit"`
	// Queue is how many may wait for a place; 0: none, what doesn't fit is refused.
	Queue int `json:"queue"`
	// MaxWaitMS is the longest wait in the queue; 0 means [DefaultMaxWaitMS].
	MaxWaitMS int `json:"max_wait_ms"`
}

// DefaultMaxWaitMS is the longest wait in a queue whose settings name none.
const DefaultMaxWaitMS = 5000

const (
	maxConcurrency = 100_000
	maxWaitMS      = 600_000 // no request lives longer (R3.1)
)

// Check reports the first figure that is out of range.
func (s ConcurrencySettings) Check() error {
	if err := within("limit", int64(s.Limit), maxConcurrency); err != nil {
		return err
	}
	if err := within("queue", int64(s.Queue), maxConcurrency); err != nil {
		return err
	}
	if s.Queue > 0 && s.Limit == 0 {
		return fmt.Errorf("queue is %d without a limit: %w", s.Queue, ErrSettings)
	}
	return within("max_wait_ms", int64(s.MaxWaitMS), maxWaitMS)
}

// RateSettings shape a [Rate]. 0 is no limit; the zero value limits nothing.
type RateSettings struct {
	RequestsPerMinute     int64 `json:"requests_per_minute"`
	InputTokensPerMinute  int64 `json:"input_tokens_per_minute"`
	OutputTokensPerMinute int64 `json:"output_tokens_per_minute"`
	// TokensPerMinute bounds input and output tokens together.
	TokensPerMinute int64 `json:"tokens_per_minute"`
	// BurstSeconds is how many seconds' allowance may be used at once; 0 means 60.
	BurstSeconds int `json:"burst_s"`
}

// DefaultRate is the shipped rate of a target (R13.1).
func DefaultRate() RateSettings {
	return RateSettings{OutputTokensPerMinute: 800_000, BurstSeconds: defaultBurstSeconds}
}

// Limited reports whether anything is limited.
func (s RateSettings) Limited() bool {
	return s.RequestsPerMinute > 0 || s.InputTokensPerMinute > 0 || s.OutputTokensPerMinute > 0 || s.TokensPerMinute > 0
}

const (
	defaultBurstSeconds = 60
	maxPerMinute        = 50_000_000 // what a bucket counts exactly
)

// Check reports the first figure that is out of range.
func (s RateSettings) Check() error {
	for _, f := range []struct {
		name string
		got  int64
	}{
		{"requests_per_minute", s.RequestsPerMinute},
		{"input_tokens_per_minute", s.InputTokensPerMinute},
		{"output_tokens_per_minute", s.OutputTokensPerMinute},
		{"tokens_per_minute", s.TokensPerMinute},
	} {
		if err := within(f.name, f.got, maxPerMinute); err != nil {
			return err
		}
	}
	return within("burst_s", int64(s.BurstSeconds), defaultBurstSeconds)
}

// SpendSettings shape a [Spend]. Amounts are picodollars (10⁻¹² USD). The zero
// value caps nothing.
type SpendSettings struct {
	// DayPico and MonthPico are the caps of a UTC day and a UTC calendar month; 0
	// is no cap.
	DayPico   int64 `json:"day_pico"`
	MonthPico int64 `json:"month_pico"`
	// FallbackInputPico and FallbackOutputPico are the stated price of a token whose
	// price is unknown. While both are 0, a cap refuses what has no price, because
	// unknown is not free (R13.2).
	FallbackInputPico  int64 `json:"fallback_input_pico"`
	FallbackOutputPico int64 `json:"fallback_output_pico"`
}

const (
	maxCapPico   = 4_000_000 * picoPerUSD // sums of two stay countable
	maxPricePico = picoPerUSD             // a dollar a token
)

// Check reports the first figure that is out of range, and a day's cap that a
// month's cap makes meaningless.
func (s SpendSettings) Check() error {
	for _, f := range []struct {
		name      string
		got, most int64
	}{
		{"day_pico", s.DayPico, maxCapPico},
		{"month_pico", s.MonthPico, maxCapPico},
		{"fallback_input_pico", s.FallbackInputPico, maxPricePico},
		{"fallback_output_pico", s.FallbackOutputPico, maxPricePico},
	} {
		if err := within(f.name, f.got, f.most); err != nil {
			return err
		}
	}
	if s.MonthPico > 0 && s.DayPico > s.MonthPico {
		return fmt.Errorf("day_pico is %d, above month_pico %d: %w", s.DayPico, s.MonthPico, ErrSettings)
	}
	return nil
}

// Capped reports whether anything is capped.
func (s SpendSettings) Capped() bool { return s.DayPico > 0 || s.MonthPico > 0 }

// Fallback is what tokens cost at the stated fallback price, in picodollars;
// false without such a price, or without tokens.
func (s SpendSettings) Fallback(input, output int64) (pico int64, ok bool) {
	if s.FallbackInputPico <= 0 && s.FallbackOutputPico <= 0 || input <= 0 && output <= 0 {
		return 0, false
	}
	return add(times(input, s.FallbackInputPico), times(output, s.FallbackOutputPico)), true
}

func within(name string, got, most int64) error {
	if got < 0 || got > most {
		return fmt.Errorf("%s is %d, not in 0..%d: %w", name, got, most, ErrSettings)
	}
	return nil
}

// clamp cuts a figure to 0..most: an embedder who skips Check gets a limit that
// works. A negative limit becomes none, as in [ConcurrencySettings.Check]'s
// message it would have been refused.
func clamp[T int | int64](n, most T) T { return min(max(0, n), most) }
