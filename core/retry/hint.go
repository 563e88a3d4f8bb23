package retry

import (
	"errors"
	"math"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// MaxHint is the longest hint that [ParseHint] returns. It is far beyond what
// any request waits, and keeps a vendor's nonsense from overflowing or from
// cooling a target down for years.
const MaxHint = 24 * time.Hour

// Hint is the wait that a vendor asked for. The zero value is no hint.
type Hint struct {
	// Delay is the wait from receipt on, in [0, MaxHint].
	Delay time.Duration
	// Given tells a hint of 0 ("try again, at your own backoff") from none.
	Given bool
}

// ParseHint reads how long an answer asks to wait (R4.3): retry-after-ms, else
// Retry-After in seconds, fractions or any of HTTP's three date forms, else the
// resets of those of a vendor's limits that have nothing remaining. now is the
// wall time of receipt, from which dates count. Several values of one field,
// and several empty limits, give the longest wait; what can't be read is
// ignored.
func ParseHint(h http.Header, now time.Time) Hint {
	hint := longest(h.Values("Retry-After-Ms"), func(v string) Hint { return number(v, time.Millisecond) })
	if !hint.Given {
		hint = longest(h.Values("Retry-After"), func(v string) Hint { return secondsOrDate(v, now) })
	}
	if !hint.Given {
		hint = resets(h, now)
	}
	return hint
}

// longest is the longest of the hints that read finds in the values.
func longest(values []string, read func(string) Hint) Hint {
	var best Hint
	for _, v := range values {
		best = later(best, read(textproto.TrimString(v)))
	}
	return best
}

func later(a, b Hint) Hint {
	if b.Given && (!a.Given || b.Delay > a.Delay) {
		return b
	}
	return a
}

// number reads a non-negative decimal number of units. A number too large for a
// float is a long wait and not nonsense; Inf, NaN and hexadecimal are nonsense.
func number(v string, unit time.Duration) Hint {
	if strings.Trim(v, "0123456789.+-eE") != "" {
		return Hint{}
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || f < 0 {
		return Hint{}
	}
	if f *= float64(unit); f >= float64(MaxHint) {
		return Hint{Delay: MaxHint, Given: true}
	}
	return Hint{Delay: time.Duration(math.Round(f)), Given: true}
}

func secondsOrDate(v string, now time.Time) Hint {
	if hint := number(v, time.Second); hint.Given {
		return hint
	}
	t, err := http.ParseTime(v)
	if err != nil {
		return Hint{}
	}
	return until(t.Sub(now))
}

func until(d time.Duration) Hint {
	return Hint{Delay: min(MaxHint, max(0, d)), Given: true}
}

// The fields of vendors' limits, in canonical form. A limit that still has
// something remaining was not the one that refused, and its reset says nothing.
const (
	anthropicPrefix = "Anthropic-Ratelimit-"
	openAIReset     = "X-Ratelimit-Reset-"
	openAIRemaining = "X-Ratelimit-Remaining-"
)

// resets is the latest reset among the exhausted limits.
func resets(h http.Header, now time.Time) Hint {
	var best Hint
	for name := range h {
		value := textproto.TrimString(h.Get(name))
		if limit, ok := strings.CutPrefix(name, openAIReset); ok && empty(h, openAIRemaining+limit) {
			if d, err := time.ParseDuration(value); err == nil && d >= 0 {
				best = later(best, until(d))
			}
			continue
		}
		limit, ok := strings.CutSuffix(name, "-Reset")
		if !ok || !strings.HasPrefix(limit, anthropicPrefix) || !empty(h, limit+"-Remaining") {
			continue
		}
		if t, err := time.Parse(time.RFC3339, value); err == nil {
			best = later(best, until(t.Sub(now)))
		}
	}
	return best
}

func empty(h http.Header, remaining string) bool {
	n, err := strconv.ParseFloat(textproto.TrimString(h.Get(remaining)), 64)
	return err == nil && n <= 0
}
