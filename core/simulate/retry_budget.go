package simulate

import (
	"container/heap"
	"time"

	"github.com/spillway-llm/spillway/core/retry"
)

// The outage of R5.4: five requests a second for five minutes; everything fails
// for 20 s and 40 % up to 120 s.
const (
	budgetSeed     = 20260921
	budgetRequests = 1500
	budgetPerS     = 5
	budgetDownS    = 20
	budgetShakyS   = 120
	budgetShaky    = 0.4
	budgetAttempts = 5
	naiveDelayS    = 0.05
	jitterMost     = 30 * time.Second
)

// RetryBudgetRow is what one way of retrying makes of R5.4's outage.
type RetryBudgetRow struct {
	Name    string `json:"name"`
	Calls   int    `json:"calls"`
	Retries int    `json:"retries"`
	// Denied counts the retries that the budget refused; each one is a lost request.
	Denied int `json:"denied"`
	Lost   int `json:"lost"`
}

// Amplification is calls per request.
func (r RetryBudgetRow) Amplification() float64 { return float64(r.Calls) / budgetRequests }

// LossPercent is the share of requests that no attempt answered.
func (r RetryBudgetRow) LossPercent() float64 { return 100 * float64(r.Lost) / budgetRequests }

// RetryBudgetTable runs R5.4's outage over [retry.Budget] and [retry.Exponential],
// once for each of the six ways of retrying, each from the same seed.
func RetryBudgetTable() []RetryBudgetRow {
	row := func(name string, wait func(n int, m *mulberry) float64, s *retry.BudgetSettings) RetryBudgetRow {
		o := budgetOutage{row: RetryBudgetRow{Name: name}, wait: wait, draws: mulberry{budgetSeed}}
		if s != nil {
			o.budget = retry.NewBudget(*s, 0)
		}
		o.run()
		return o.row
	}
	return []RetryBudgetRow{
		row("naive", naiveWait, nil),
		row("jitter", jitterWait, nil),
		row("200/0.1", jitterWait, &retry.BudgetSettings{Capacity: 200, Refund: 0.1}),
		row("400/0.2", jitterWait, &retry.BudgetSettings{Capacity: 400, Refund: 0.2}),
		row("500/0.25", jitterWait, &retry.BudgetSettings{Capacity: 500, Refund: 0.25}),
		row("600/0.3", jitterWait, &retry.BudgetSettings{Capacity: 600, Refund: 0.3}),
	}
}

func naiveWait(int, *mulberry) float64 { return naiveDelayS }

func jitterWait(n int, m *mulberry) float64 {
	return retry.Exponential(time.Second, jitterMost, n, m.float64()).Seconds()
}

// budgetOutage is one run. Time is in float64 seconds and not in nanoseconds,
// because R5.4's figures were computed so: five waits of 0.05 s from 19.8 s on
// end a little beyond 20 s there, and exactly at 20 s in whole nanoseconds,
// which makes the naive row another one.
type budgetOutage struct {
	row     RetryBudgetRow
	wait    func(n int, m *mulberry) float64
	budget  *retry.Budget // nil: every retry is allowed
	draws   mulberry
	planned int // calls so far
	queue   budgetCalls
}

// run makes the calls in the order of their times; of calls at one time, the
// one that was planned first.
func (o *budgetOutage) run() {
	for i := range budgetRequests {
		o.plan(float64(i)/budgetPerS, 0)
	}
	for len(o.queue) > 0 {
		c := heap.Pop(&o.queue).(budgetCall)
		o.row.Calls++
		if o.fails(c.at) {
			o.again(c)
		} else if o.budget != nil {
			o.budget.Refund(seconds(c.at))
		}
	}
}

func (o *budgetOutage) plan(at float64, n int) {
	o.planned++
	heap.Push(&o.queue, budgetCall{at: at, n: n, order: o.planned})
}

// fails draws a call's luck while anything fails at all.
func (o *budgetOutage) fails(at float64) bool {
	switch {
	case at < budgetDownS:
		return o.draws.float64() < 1
	case at < budgetShakyS:
		return o.draws.float64() < budgetShaky
	}
	return false
}

// again plans the next attempt of a failed one. The token is taken before the
// wait is drawn, as R5.1 says.
func (o *budgetOutage) again(c budgetCall) {
	if c.n+1 == budgetAttempts {
		o.row.Lost++
		return
	}
	if o.budget != nil && !o.budget.Take(seconds(c.at)) {
		o.row.Denied++
		o.row.Lost++
		return
	}
	o.row.Retries++
	o.plan(c.at+o.wait(c.n, &o.draws), c.n+1)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// budgetCall is an attempt to come; n counts the attempts before it.
type budgetCall struct {
	at    float64
	n     int
	order int
}

type budgetCalls []budgetCall

func (q budgetCalls) Len() int      { return len(q) }
func (q budgetCalls) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q budgetCalls) Less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].order < q[j].order
}

// Push is for container/heap.
func (q *budgetCalls) Push(x any) { *q = append(*q, x.(budgetCall)) }

// Pop is for container/heap.
func (q *budgetCalls) Pop() any {
	old := *q
	c := old[len(old)-1]
	*q = old[:len(old)-1]
	return c
}
