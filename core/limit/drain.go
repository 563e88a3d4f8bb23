package limit

import "time"

const (
	// drainGaps is how many of the newest gaps are averaged.
	drainGaps = 32
	// firstGap is assumed until a gap was measured.
	firstGap = time.Second
	// leastRetryAfter and maxRetryAfter bound a computed wait: none is no hint, and
	// nothing is known about a time beyond a request's longest life (R3.1).
	leastRetryAfter = 100 * time.Millisecond
	maxRetryAfter   = 10 * time.Minute
)

// drain measures how fast a full limit lets go. Only times at which the limit
// was full count: what ends while there is room says how much was asked for,
// not how much goes through.
type drain struct {
	gaps       [drainGaps]time.Duration
	sum        time.Duration
	next, size int
	mark       time.Duration // when the limit last became full or, being full, let go
}

// full marks the moment at which the limit became full.
func (d *drain) full(now time.Duration) { d.mark = now }

// letGo notes that a full limit let one go.
func (d *drain) letGo(now time.Duration) {
	gap := max(0, now-d.mark)
	d.sum += gap - d.gaps[d.next]
	d.gaps[d.next] = gap
	d.next = (d.next + 1) % drainGaps
	d.size = min(d.size+1, drainGaps)
	d.mark = now
}

// measured reports whether the drain is more than a guess.
func (d *drain) measured() bool { return d.size > 0 }

// gap is the mean time until a full limit lets the next one go. A limit that
// lets nothing go for longer than usual has slowed down, though no end has
// shown it yet.
func (d *drain) gap(now time.Duration) time.Duration {
	pending := max(0, now-d.mark)
	if d.size == 0 {
		return max(firstGap, pending)
	}
	mean := d.sum / time.Duration(d.size)
	if pending > mean {
		mean = (d.sum + pending) / time.Duration(d.size+1)
	}
	return mean
}

// retryAfter is when the place behind that many others will be free.
func (d *drain) retryAfter(now time.Duration, place int) time.Duration {
	gap := d.gap(now)
	if place > 0 && gap > maxRetryAfter/time.Duration(place) {
		return maxRetryAfter
	}
	return max(leastRetryAfter, gap*time.Duration(place))
}
