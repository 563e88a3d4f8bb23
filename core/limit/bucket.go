package limit

import "time"

// part is the share of a token that a limit of one a minute refills in a
// nanosecond: counted in parts, every refill is a whole number and a bucket
// never drifts.
const part = int64(time.Minute)

// maxTokens is the most tokens that one request can ask for or report.
const maxTokens = maxPerMinute

// bucket is one token bucket. The zero value limits nothing. It is guarded by
// its owner.
type bucket struct {
	perMinute int64
	capacity  int64 // parts
	level     int64 // parts; negative after a request that used more than it said
	at        time.Duration
}

// set changes the limit. What was used stays used: only a bucket that is new
// starts full, because a change during a rush must not hand out a whole minute.
func (b *bucket) set(perMinute int64, burstSeconds int, now time.Duration, whole bool) {
	perMinute = clamp(perMinute, maxPerMinute)
	capacity := perMinute * int64(time.Second) * int64(burstSeconds)
	if whole && perMinute > 0 {
		capacity = max(capacity, part) // a short burst must hold one request
	}
	if b.perMinute == 0 {
		b.level, b.at = capacity, now
	}
	b.pass(now)
	b.perMinute, b.capacity = perMinute, capacity
	b.level = min(b.level, capacity)
}

// pass refills up to now. A time that goes back counts as standing still.
func (b *bucket) pass(now time.Duration) {
	elapsed := int64(now - b.at)
	if b.perMinute == 0 || elapsed <= 0 {
		return
	}
	b.at = now
	if missing := b.capacity - b.level; elapsed > missing/b.perMinute {
		b.level = b.capacity
		return
	}
	b.level += elapsed * b.perMinute
}

// lacks is how many parts are missing for n tokens, 0 when there are enough.
func (b *bucket) lacks(n int64) int64 {
	if b.perMinute == 0 || n == 0 {
		return 0
	}
	return max(0, n*part-b.level)
}

// refusal tells of n tokens for which parts are missing.
func (b *bucket) refusal(n, missing int64, rule Rule) Refusal {
	r := Refusal{Rule: rule, Asked: n, Left: max(0, b.level/part), Cap: b.perMinute, Never: n*part > b.capacity}
	if !r.Never {
		r.RetryAfter = time.Duration((missing + b.perMinute - 1) / b.perMinute)
	}
	return r
}

// move takes n tokens, or gives them back when n is negative, and returns n; 0
// without a limit. Debts end where the largest bucket could be full, so that a
// vendor's nonsense stays countable.
func (b *bucket) move(n int64) int64 {
	if b.perMinute == 0 {
		return 0
	}
	b.level = min(max(b.level-n*part, -maxTokens*part), b.capacity)
	return n
}

// used is how much of the burst is taken, in tokens.
func (b *bucket) used() int64 { return (b.capacity - b.level + part - 1) / part }
