package demovendor

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Count says which requests were counted together.
type Count struct {
	Path, Model string
	// Status is the answer's; [NoStatus] while none was sent.
	Status int
}

// NoStatus counts requests that got no status line, yet or for ever.
const NoStatus = -1

// Stats are a vendor's figures.
type Stats struct {
	// Counts are the requests since the start.
	Counts map[Count]int
	// ClientGone counts clients that left before their answer was whole, Cut the
	// answers that the vendor cut.
	ClientGone, Cut int
	// Open are requests being served, Streams those among them whose events have
	// begun, Connections the open ones if [Vendor.ConnState] is in use.
	Open, Streams, Connections int
}

// Hits sums the requests that match; a zero field of m matches everything.
func (s Stats) Hits(m Count) int {
	n := 0
	for c, hits := range s.Counts {
		if (m.Path == "" || m.Path == c.Path) && (m.Model == "" || m.Model == c.Model) && (m.Status == 0 || m.Status == c.Status) {
			n += hits
		}
	}
	return n
}

// maxCounts bounds the counts: paths and models are the client's words.
const maxCounts = 1000

// ledger counts and records requests. It is safe for concurrent use.
type ledger struct {
	open, streams, connections, gone, cuts atomic.Int64

	mu     sync.Mutex
	counts map[Count]int
	kept   []Request
	keep   int
}

// visit is one request in the ledger.
type visit struct {
	ledger *ledger
	count  Count // where it is counted now
}

// arrive counts a request that has come.
func (l *ledger) arrive(r *Request) *visit {
	l.open.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	v := &visit{l, Count{r.Path, r.Model, NoStatus}}
	l.add(&v.count)
	if l.keep > 0 {
		if len(l.kept) == l.keep {
			l.kept = slices.Delete(l.kept, 0, 1)
		}
		l.kept = append(l.kept, *r)
	}
	return v
}

// answered notes the status that the request got.
func (v *visit) answered(status int) {
	v.ledger.mu.Lock()
	defer v.ledger.mu.Unlock()
	if v.ledger.counts[v.count]--; v.ledger.counts[v.count] == 0 {
		delete(v.ledger.counts, v.count)
	}
	v.count.Status = status
	v.ledger.add(&v.count)
}

// done notes that the request is no longer being served.
func (v *visit) done() { v.ledger.open.Add(-1) }

// add counts one more, under "other" when there are too many names already.
func (l *ledger) add(c *Count) {
	if l.counts == nil {
		l.counts = map[Count]int{}
	}
	if _, known := l.counts[*c]; !known && len(l.counts) >= maxCounts {
		c.Path, c.Model = "other", "other"
	}
	l.counts[*c]++
}

func (l *ledger) stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{
		Counts: maps.Clone(l.counts), ClientGone: int(l.gone.Load()), Cut: int(l.cuts.Load()),
		Open: int(l.open.Load()), Streams: int(l.streams.Load()), Connections: int(l.connections.Load()),
	}
}

func (l *ledger) requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.kept)
}
