package retry_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/retry"
)

// received is the moment of RFC 9110's own date examples, half a minute earlier.
func received() time.Time { return time.Date(1994, 11, 6, 8, 49, 7, 0, time.UTC) }

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func given(d time.Duration) retry.Hint { return retry.Hint{Delay: d, Given: true} }

func TestParseHint_RetryAfter(t *testing.T) {
	t.Parallel()
	none := retry.Hint{}
	for name, tc := range map[string]struct {
		values []string
		want   retry.Hint
	}{
		"seconds":                {[]string{"7"}, given(7 * time.Second)},
		"spaces":                 {[]string{" 7 "}, given(7 * time.Second)},
		"fraction":               {[]string{"1.5"}, given(1500 * time.Millisecond)},
		"small_fraction":         {[]string{"0.001"}, given(time.Millisecond)},
		"zero":                   {[]string{"0"}, given(0)},
		"over_an_hour":           {[]string{"7200"}, given(2 * time.Hour)},
		"date":                   {[]string{"Sun, 06 Nov 1994 08:49:37 GMT"}, given(30 * time.Second)},
		"rfc850_date":            {[]string{"Sunday, 06-Nov-94 08:49:37 GMT"}, given(30 * time.Second)},
		"asctime_date":           {[]string{"Sun Nov  6 08:49:37 1994"}, given(30 * time.Second)},
		"past_date":              {[]string{"Sun, 06 Nov 1994 08:00:00 GMT"}, given(0)},
		"date_of_now":            {[]string{"Sun, 06 Nov 1994 08:49:07 GMT"}, given(0)},
		"date_in_a_century":      {[]string{"Sat, 06 Nov 2094 08:49:37 GMT"}, given(retry.MaxHint)},
		"a_day":                  {[]string{"86400"}, given(retry.MaxHint)},
		"more_than_a_day":        {[]string{"86401"}, given(retry.MaxHint)},
		"overflows_nanoseconds":  {[]string{"9223372037"}, given(retry.MaxHint)},
		"huge":                   {[]string{"1e300"}, given(retry.MaxHint)},
		"too_large_for_a_float":  {[]string{"1e999"}, given(retry.MaxHint)},
		"negative":               {[]string{"-5"}, none},
		"negative_and_too_large": {[]string{"-1e999"}, none},
		"not_a_number":           {[]string{"NaN"}, none},
		"infinite":               {[]string{"Inf"}, none},
		"infinity":               {[]string{"+Infinity"}, none},
		"hexadecimal":            {[]string{"0x1p4"}, none},
		"underscore":             {[]string{"1_000"}, none},
		"words":                  {[]string{"abc"}, none},
		"empty":                  {[]string{""}, none},
		"only_signs":             {[]string{"+-.e"}, none},
		"absent":                 {nil, none},
		"larger_of_two":          {[]string{"7", "9"}, given(9 * time.Second)},
		"larger_comes_first":     {[]string{"9", "7"}, given(9 * time.Second)},
		"nonsense_and_a_number":  {[]string{"soon", "4"}, given(4 * time.Second)},
		"number_and_date":        {[]string{"4", "Sun, 06 Nov 1994 08:49:37 GMT"}, given(30 * time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{"Retry-After": tc.values}
			if got := retry.ParseHint(h, received()); got != tc.want {
				t.Errorf("%q: got %+v, want %+v", tc.values, got, tc.want)
			}
		})
	}
}

func TestParseHint_Order(t *testing.T) {
	t.Parallel()
	const reset = "1994-11-06T08:50:07Z"
	for name, tc := range map[string]struct {
		h    http.Header
		want retry.Hint
	}{
		"milliseconds_win": {header("retry-after-ms", "1500", "retry-after", "9"), given(1500 * time.Millisecond)},
		"milliseconds_fraction": {
			header("retry-after-ms", "0.5"), given(500 * time.Microsecond),
		},
		"nonsense_milliseconds": {header("retry-after-ms", "x", "retry-after", "9"), given(9 * time.Second)},
		"no_date_in_milliseconds": {
			header("retry-after-ms", "Sun, 06 Nov 1994 08:49:37 GMT", "retry-after", "9"), given(9 * time.Second),
		},
		"zero_milliseconds_are_a_hint": {header("retry-after-ms", "0", "retry-after", "9"), given(0)},
		"retry_after_wins_over_resets": {
			header("retry-after", "9", "anthropic-ratelimit-tokens-remaining", "0", "anthropic-ratelimit-tokens-reset", reset),
			given(9 * time.Second),
		},
		"resets_without_a_usable_retry_after": {
			header("retry-after", "-1", "anthropic-ratelimit-tokens-remaining", "0", "anthropic-ratelimit-tokens-reset", reset),
			given(time.Minute),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := retry.ParseHint(tc.h, received()); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestParseHint_VendorResets(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		pairs []string
		want  retry.Hint
	}{
		"timestamp_of_an_empty_limit": {
			[]string{"anthropic-ratelimit-requests-remaining", "0", "anthropic-ratelimit-requests-reset", "1994-11-06T08:49:17Z"},
			given(10 * time.Second),
		},
		"timestamp_with_offset": {
			[]string{"anthropic-ratelimit-requests-remaining", "0", "anthropic-ratelimit-requests-reset", "1994-11-06T09:49:17+01:00"},
			given(10 * time.Second),
		},
		"limit_with_something_left": {
			[]string{"anthropic-ratelimit-requests-remaining", "12", "anthropic-ratelimit-requests-reset", "1994-11-06T08:49:17Z"},
			retry.Hint{},
		},
		"remaining_unknown": {
			[]string{"anthropic-ratelimit-requests-reset", "1994-11-06T08:49:17Z"}, retry.Hint{},
		},
		"only_the_empty_one_of_two": {
			[]string{
				"anthropic-ratelimit-requests-remaining", "5", "anthropic-ratelimit-requests-reset", "1994-11-06T09:49:07Z",
				"anthropic-ratelimit-input-tokens-remaining", "0", "anthropic-ratelimit-input-tokens-reset", "1994-11-06T08:49:27Z",
			},
			given(20 * time.Second),
		},
		"later_of_two_empty": {
			[]string{
				"anthropic-ratelimit-requests-remaining", "0", "anthropic-ratelimit-requests-reset", "1994-11-06T08:49:17Z",
				"anthropic-ratelimit-output-tokens-remaining", "0", "anthropic-ratelimit-output-tokens-reset", "1994-11-06T08:49:27Z",
			},
			given(20 * time.Second),
		},
		"past_timestamp": {
			[]string{"anthropic-ratelimit-tokens-remaining", "0", "anthropic-ratelimit-tokens-reset", "1994-11-06T08:00:00Z"},
			given(0),
		},
		"unreadable_timestamp": {
			[]string{"anthropic-ratelimit-tokens-remaining", "0", "anthropic-ratelimit-tokens-reset", "784111777"}, retry.Hint{},
		},
		"duration": {
			[]string{"x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "6m0s"}, given(6 * time.Minute),
		},
		"milliseconds": {
			[]string{"x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "20ms"}, given(20 * time.Millisecond),
		},
		"duration_with_something_left": {
			[]string{"x-ratelimit-remaining-tokens", "7", "x-ratelimit-reset-tokens", "20s"}, retry.Hint{},
		},
		"longer_of_two_durations": {
			[]string{
				"x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "1h2m3s",
				"x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "1s",
			},
			given(time.Hour + 2*time.Minute + 3*time.Second),
		},
		"negative_duration": {
			[]string{"x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "-20s"}, retry.Hint{},
		},
		"long_duration": {
			[]string{"x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "2000000h"}, given(retry.MaxHint),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := retry.ParseHint(header(tc.pairs...), received()); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func FuzzParseHint(f *testing.F) {
	for _, v := range []string{
		"7", "1.5", "1e300", "-5", "NaN", "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
		"Sun Nov  6 08:49:37 1994", "6m0s", "1994-11-06T08:49:17Z", "9223372037", "", "1e999", "0x1p4",
	} {
		f.Add(v, "0", "3")
	}
	f.Fuzz(func(t *testing.T, value, remaining, other string) {
		for _, name := range []string{
			"Retry-After", "Retry-After-Ms", "Anthropic-Ratelimit-Tokens-Reset", "X-Ratelimit-Reset-Tokens",
		} {
			h := http.Header{
				name:                                   {value, other},
				"Anthropic-Ratelimit-Tokens-Remaining": {remaining},
				"X-Ratelimit-Remaining-Tokens":         {remaining},
			}
			got := retry.ParseHint(h, received())
			if got.Delay < 0 || got.Delay > retry.MaxHint || !got.Given && got.Delay != 0 {
				t.Fatalf("%s %q: got %+v", name, value, got)
			}
			if again := retry.ParseHint(h, received()); again != got {
				t.Fatalf("%s %q: got %+v, then %+v", name, value, got, again)
			}
		}
	})
}
