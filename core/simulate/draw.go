package simulate

import (
	"math"
	"time"

	"github.com/spillway-llm/spillway/core"
)

// The purposes of the tunnel's draws, far from the engine's own. Each draw is a
// function of seed, request and purpose, so that a request meets the same luck
// under every policy and the rows of a table differ by policy alone.
const (
	purposeArrival core.Purpose = iota + 1000
	purposeMix
	purposeLength
	purposeFailure
	purposeLatency
	purposeFailAfter
	purposeCut
)

// exponential turns a draw into the gap to the next event of a Poisson process
// of rate 1.
func exponential(u float64) float64 { return -math.Log1p(-u) }

// z95 is the standard normal distribution's 95th percentile.
const z95 = 1.6448536269514722

// at turns a draw into a value of the distribution.
func (d Spread) at(u float64) time.Duration {
	// At 0 it would be infinite, and no number where both percentiles are one.
	z := max(math.Sqrt2*math.Erfinv(2*u-1), -farthest)
	ms := d.P50 * math.Exp(z/z95*math.Log(d.P95/d.P50))
	return milliseconds(min(ms, longest))
}

// farthest is beyond every draw but 0.
const farthest = 9

// longest bounds a drawn time in milliseconds: an hour is beyond every limit.
const longest = 3_600_000

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
