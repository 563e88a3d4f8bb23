package limit

import "time"

// span is one UTC day or month and what was spent in it.
type span struct {
	start, end int64 // Unix seconds
	spent      int64 // picodollars
}

// slack is how far the wall clock may be set back without leaving a span:
// callers that read it in another order than they arrive, and small corrections,
// must not open yesterday again at midnight.
const slack = 3600

// advance moves the span on to the one that holds now. When the clock was set
// back by more than the slack, what was spent stays counted: a wrong clock must
// neither free a cap nor lock it for years.
func (s *span) advance(now int64, bounds func(int64) (start, end int64)) {
	switch {
	case now >= s.end:
		s.start, s.end = bounds(now)
		s.spent = 0
	case now < s.start-slack:
		s.start, s.end = bounds(now)
	}
}

// day is the UTC day that holds a time.
func day(now int64) (start, end int64) {
	t := time.Unix(now, 0).UTC()
	from := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	return from.Unix(), from.AddDate(0, 0, 1).Unix()
}

// month is the UTC calendar month that holds a time.
func month(now int64) (start, end int64) {
	t := time.Unix(now, 0).UTC()
	from := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	return from.Unix(), from.AddDate(0, 1, 0).Unix()
}
