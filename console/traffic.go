package console

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-llm/spillway/core"
)

// traffic counts decisions for the live view. Counting is all that happens on a
// request's path: two atomic stores, and a short lock when another target than
// the preferred one answered.
type traffic struct {
	decisions atomic.Int64
	lastAt    atomic.Int64 // unix nanoseconds, 0 for never

	mu       sync.Mutex
	reroutes map[route]*window
}

// route is from the preferred target to the one that answered.
type route struct{ from, to string }

// slots of ten seconds cover the last minute.
const (
	slots     = 6
	slotWidth = 10 * time.Second
)

// window counts over the last minute.
type window struct {
	counts [slots]int
	stamps [slots]int64 // which slot of all time the count is of
}

func (w *window) add(slot int64) {
	i := slot % slots
	if w.stamps[i] != slot {
		w.stamps[i], w.counts[i] = slot, 0
	}
	w.counts[i]++
}

func (w *window) sum(slot int64) int {
	n := 0
	for i, s := range w.stamps {
		if s > slot-slots && s <= slot {
			n += w.counts[i]
		}
	}
	return n
}

func newTraffic() *traffic { return &traffic{reroutes: map[route]*window{}} }

func slotOf(t time.Time) int64 { return t.UnixNano() / int64(slotWidth) }

// count takes note of a decision without keeping it.
func (t *traffic) count(d *core.Decision) {
	t.decisions.Add(1)
	t.lastAt.Store(d.At.UnixNano())
	if d.Plan == nil || d.Plan.Preferred == "" || d.Plan.Preferred == d.Target || d.Target == "" {
		return
	}
	key := route{d.Plan.Preferred, d.Target}
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.reroutes[key]
	if w == nil {
		w = &window{}
		t.reroutes[key] = w
	}
	w.add(slotOf(d.At))
}

// total is the number of decisions since the start.
func (t *traffic) total() int64 { return t.decisions.Load() }

// last is when the newest request came, zero when there was none.
func (t *traffic) last() time.Time {
	if ns := t.lastAt.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}

// instead returns who answered most of the requests that another target was
// preferred for, and its share of them over the last minute; "" when there were none.
func (t *traffic) instead(from string, now time.Time) (target string, permille int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot, all, most := slotOf(now), 0, 0
	for key, w := range t.reroutes {
		if key.from != from {
			continue
		}
		n := w.sum(slot)
		all += n
		if n > most || (n == most && n > 0 && key.to < target) {
			target, most = key.to, n
		}
	}
	if all == 0 {
		return "", 0
	}
	return target, most * 1000 / all
}
