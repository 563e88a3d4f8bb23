// Package price turns token usage into cost and keeps unknown apart from free.
package price

import (
	"math"
	"math/bits"
)

// Pico is money in picodollars (10⁻¹² USD), so that a price of $0.01 per million
// tokens is a whole number per token and sums stay exact.
type Pico = int64

// PicoPerUSD is one dollar.
const PicoPerUSD Pico = 1_000_000_000_000

// Usage is what a vendor billed for, in tokens. Input excludes what was read
// from or written to a cache, in both wire formats (R13.2). The zero value is
// unknown usage.
type Usage struct {
	Input        int64 `json:"input"`
	CacheRead    int64 `json:"cache_read"`
	CacheWrite   int64 `json:"cache_write"`    // at the short lifetime's price
	CacheWrite1h int64 `json:"cache_write_1h"` // at the one-hour price
	Output       int64 `json:"output"`         // reasoning included
	Reasoning    int64 `json:"reasoning"`
	// Known is false until a vendor's figures were seen.
	Known bool `json:"known"`
	// Estimated marks figures that no vendor confirmed.
	Estimated bool `json:"estimated,omitempty"`
}

// Prompt is every input token, cached or not.
func (u Usage) Prompt() int64 { return u.Input + u.CacheRead + u.CacheWrite + u.CacheWrite1h }

// Table is the price of one target's tokens, in picodollars a token. Every
// component stands for itself, because vendors' multipliers differ by model.
// The zero value is an unknown price.
type Table struct {
	Input        Pico `json:"input"`
	Output       Pico `json:"output"`
	CacheRead    Pico `json:"cache_read"`
	CacheWrite   Pico `json:"cache_write"`
	CacheWrite1h Pico `json:"cache_write_1h"`
	// AsOf dates the price, and marks the table as known: "" is unknown.
	AsOf string `json:"as_of"`
	// LongAbove is the prompt size above which Long applies to the whole request; 0: never.
	LongAbove int64  `json:"long_above,omitempty"`
	Long      *Table `json:"long,omitempty"`
}

// Known reports whether the table is a price, even one of zero.
func (t Table) Known() bool { return t.AsOf != "" }

// Cost returns the price of the usage, and false when price or usage is
// unknown: unknown is never 0. Figures below 0 and sums beyond what a Pico holds
// are unknown too, because a vendor's nonsense must not refund or overflow a sum.
func (t Table) Cost(u Usage) (Pico, bool) {
	if !t.Known() || !u.Known {
		return 0, false
	}
	if t.Long != nil && t.LongAbove > 0 && u.Prompt() > t.LongAbove {
		l := *t.Long
		l.Long, l.AsOf = nil, t.AsOf
		return l.Cost(u)
	}
	return sum(u.Input, t.Input, u.CacheRead, t.CacheRead, u.CacheWrite, t.CacheWrite,
		u.CacheWrite1h, t.CacheWrite1h, u.Output, t.Output)
}

// sum adds the products of pairs of tokens and price.
func sum(pairs ...int64) (Pico, bool) {
	var cost Pico
	for i := 0; i < len(pairs); i += 2 {
		tokens, each := pairs[i], pairs[i+1]
		if tokens < 0 || each < 0 {
			return 0, false
		}
		high, low := bits.Mul64(uint64(tokens), uint64(each))
		if high != 0 || low > uint64(math.MaxInt64-cost) {
			return 0, false
		}
		cost += Pico(low)
	}
	return cost, true
}

// PerMillion converts a price in dollars per million tokens to picodollars a
// token, rounded. What is below 0 or not a number gives 0: whoever reads prices
// from people must refuse those first. A price beyond what a Pico holds gives
// the largest.
func PerMillion(usd float64) Pico {
	p := math.Round(usd * float64(PicoPerUSD/1e6))
	switch {
	case p >= math.MaxInt64:
		return math.MaxInt64
	case p > 0:
		return Pico(p)
	}
	return 0
}

// USD converts to dollars, for display.
func USD(p Pico) float64 { return float64(p) / float64(PicoPerUSD) }
