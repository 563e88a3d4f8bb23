package health

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The figures of R2.3 and R8.1.
const (
	alpha      = 0.1 // weight of the newest call in the success rate
	sampleSize = 256
	sampleAge  = 5 * time.Minute
	percentile = 95
)

// Prior is what is assumed of a target before its first calls (R2.3).
type Prior struct {
	// P95 stands in for both percentiles until there are samples.
	P95 time.Duration
	// SuccessPermille is where the moving average starts; 0 means 1000.
	SuccessPermille int
}

// Sample is one finished attempt. Attempts that say nothing about the target,
// such as one whose caller left, are not samples.
type Sample struct {
	// OK is a whole answer.
	OK bool
	// Stream tells that the answer was streamed.
	Stream bool
	// FirstContent is the time to the first content of a stream, 0 if none came.
	FirstContent time.Duration
	// Total is the time to the last byte.
	Total time.Duration
}

// Figures are a target's live figures.
type Figures struct {
	// SuccessPermille is the moving average of success.
	SuccessPermille int
	// P95 is the 95th percentile of the time to the last byte of whole answers.
	P95 time.Duration
	// FirstContentP95 is that of the time to a stream's first content.
	FirstContentP95 time.Duration
	// RequestsPerMinute counts the attempts of the last 60 s.
	RequestsPerMinute int
	// InFlight counts the running attempts.
	InFlight int
	// Samples is how many whole answers P95 rests on; 0 means on the prior.
	Samples int
}

// Window keeps the sliding figures of one target. Make it with [NewWindow]. It
// is safe for concurrent use. Times are monotonic; one that goes back counts as
// standing still.
type Window struct {
	inFlight atomic.Int64

	mu      sync.Mutex
	prior   Prior
	success float64
	newest  time.Duration
	total   latencies
	first   latencies
	minute  minute
	scratch [sampleSize]time.Duration
}

// NewWindow returns the window of a target without calls.
func NewWindow(prior Prior) *Window {
	w := &Window{prior: prior, success: 1}
	if prior.SuccessPermille > 0 {
		w.success = float64(min(prior.SuccessPermille, 1000)) / 1000
	}
	return w
}

// Begin notes the start of an attempt. [Window.End] must follow on every path.
func (w *Window) Begin() { w.inFlight.Add(1) }

// End notes the end of an attempt, whether or not it is recorded.
func (w *Window) End() { w.inFlight.Add(-1) }

// Record takes a finished attempt into the figures. A failure's latency is
// left out, or a target that refuses at once would look fast; the first content
// of a stream that was cut later was seen and counts.
func (w *Window) Record(now time.Duration, s Sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now = w.pass(now)
	w.minute.add(now)
	w.success *= 1 - alpha
	if s.OK {
		w.success += alpha
		w.total.push(now, s.Total)
	}
	if s.Stream && s.FirstContent > 0 {
		w.first.push(now, s.FirstContent)
	}
}

// Figures reads the window, and ages it: what is too old is left out, even if
// no call followed it.
func (w *Window) Figures(now time.Duration) Figures {
	w.mu.Lock()
	defer w.mu.Unlock()
	now = w.pass(now)
	f := Figures{
		SuccessPermille:   int(w.success*1000 + 0.5),
		RequestsPerMinute: w.minute.sum(now),
		InFlight:          int(max(0, w.inFlight.Load())),
	}
	f.P95, f.Samples = w.percentile(&w.total, now)
	f.FirstContentP95, _ = w.percentile(&w.first, now)
	return f
}

func (w *Window) pass(now time.Duration) time.Duration {
	w.newest = max(w.newest, now)
	return w.newest
}

// percentile is the smallest sample that no more than 5 % of the samples
// exceed, and the prior without samples.
func (w *Window) percentile(l *latencies, now time.Duration) (time.Duration, int) {
	recent := l.since(now-sampleAge, w.scratch[:0])
	n := len(recent)
	if n == 0 {
		return w.prior.P95, 0
	}
	slices.Sort(recent)
	return recent[(n*percentile+99)/100-1], n
}

// latencies keeps the newest samples of one kind, whose times never fall.
type latencies struct {
	at, took [sampleSize]time.Duration
	count    int // ever pushed
}

func (l *latencies) push(at, took time.Duration) {
	i := l.count % sampleSize
	l.at[i], l.took[i] = at, took
	l.count++
}

// since appends the samples that ended at horizon or later.
func (l *latencies) since(horizon time.Duration, to []time.Duration) []time.Duration {
	for i := l.count - 1; i >= max(0, l.count-sampleSize); i-- {
		if l.at[i%sampleSize] < horizon {
			break
		}
		to = append(to, l.took[i%sampleSize])
	}
	return to
}

// minute counts attempts in the seconds of the last minute.
type minute struct {
	counts [60]int
	second int64 // the newest second that counts holds
}

func (m *minute) add(now time.Duration) {
	m.pass(now)
	m.counts[m.second%int64(len(m.counts))]++
}

func (m *minute) sum(now time.Duration) int {
	m.pass(now)
	n := 0
	for _, c := range m.counts {
		n += c
	}
	return n
}

// pass empties the seconds that have gone by since the newest one.
func (m *minute) pass(now time.Duration) {
	second := int64(now / time.Second)
	if second-m.second >= int64(len(m.counts)) {
		m.counts = [60]int{}
		m.second = second
	}
	for m.second < second {
		m.second++
		m.counts[m.second%int64(len(m.counts))] = 0
	}
}
