package policy

import "time"

// The bounds of one evaluation. Steps are the primary one: their number is the
// same on every machine, in tests and in a replay. The time is a backstop.
const (
	defaultSteps    = 20_000
	defaultDeadline = 50 * time.Millisecond
	// poisonAfter deadlines, an evaluation is beyond stopping.
	poisonAfter = 10
	// patience multiplies the deadline where no request waits: a machine that is
	// busy for a moment must not make a good revision look slow.
	patience = 20
)

// meter counts the steps of one evaluation and stops it: OPA asks it before
// every expression. It belongs to one goroutine.
type meter struct {
	steps, limit int
	began        time.Time     // never changes
	start        time.Time     // of the time that deadline bounds
	deadline     time.Duration // 0: none
	now          func() time.Time
	strikes      int
	late         bool
}

// Cancel is never needed: the meter stops an evaluation by itself.
func (m *meter) Cancel() {}

// Cancelled counts a step and reports whether it was one too many. The clock is
// read at each of the first steps, where a few of them may do a lot, and then
// at every eighth, because reading it costs as much as a tenth of a step.
func (m *meter) Cancelled() bool {
	m.steps++
	if m.steps > m.limit || m.late {
		return true
	}
	if m.deadline > 0 && (m.steps < 64 || m.steps%8 == 0) {
		m.look()
	}
	return m.late
}

// look reads the clock. The first time that the deadline has passed it starts
// anew: on a busy machine the evaluation may just have been off the processor.
func (m *meter) look() {
	now := m.now()
	if now.Sub(m.start) <= m.deadline {
		return
	}
	m.strikes++
	m.late = m.strikes > 1
	if !m.late {
		m.start = now
	}
}

func (m *meter) exhausted() bool { return m.steps > m.limit }

// patient are the limits where no request waits. The steps stay as they are.
func (l limits) patient() limits {
	l.deadline *= patience
	return l
}

// meter starts a meter for one evaluation.
func (l limits) meter(steps int) *meter {
	m := &meter{limit: steps, deadline: l.deadline, now: l.now}
	if m.deadline > 0 {
		m.began = l.now()
		m.start = m.began
	}
	return m
}
