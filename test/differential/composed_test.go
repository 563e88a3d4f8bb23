package differential_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/sony/gobreaker/v2"
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/limit"
	"github.com/spillway-llm/spillway/core/retry"
)

// path is one way to make a call that succeeds at once.
type path struct {
	name string
	call func()
}

// since is the clock that ours are given; the others read theirs themselves.
func since() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// circuits are the ways through a closed circuit.
func circuits() []path {
	now := since()
	mine := circuit.New(circuit.DefaultSettings(), nil)
	settings := gobreaker.Settings{Interval: time.Minute, ReadyToTrip: func(c gobreaker.Counts) bool {
		return c.ConsecutiveFailures >= failures || c.Requests >= 10 && c.TotalFailures*2 >= c.Requests
	}}
	execute := gobreaker.NewCircuitBreaker[int](settings)
	settings.BucketPeriod = 6 * time.Second
	rolling := gobreaker.NewCircuitBreaker[int](settings)
	twoStep := gobreaker.NewTwoStepCircuitBreaker[int](settings)
	standalone := circuitbreaker.NewBuilder[int]().WithFailureRateThreshold(0.5, 10, time.Minute).Build()
	ok := func() (int, error) { return 1, nil }
	return []path{
		{"spillway acquire+done", func() {
			p, _, _ := mine.Acquire(now())
			p.Done(now(), circuit.Success, "")
		}},
		{"gobreaker execute, fixed window", func() { _, _ = execute.Execute(ok) }},
		{"gobreaker execute, rolling window", func() { _, _ = rolling.Execute(ok) }},
		{"gobreaker two-step", func() {
			done, _ := twoStep.Allow()
			done(nil)
		}},
		{"failsafe-go standalone, time window", func() {
			standalone.TryAcquirePermit()
			standalone.RecordSuccess()
		}},
	}
}

// composed are limit, circuit, retry budget and timeout around one call.
func composed(t testing.TB) []path {
	now, ctx := since(), t.Context()
	set := limit.Set{
		Target:     limit.NewConcurrency(limit.ConcurrencySettings{Limit: 40}),
		TargetRate: limit.NewRate(limit.RateSettings{OutputTokensPerMinute: 50_000_000}, now()),
	}
	c := circuit.New(circuit.DefaultSettings(), nil)
	b := retry.NewBudget(retry.DefaultBudget(), now())
	d := &deadlines{now: now}
	executor := failsafe.With[int](
		retrypolicy.NewBuilder[int]().WithMaxRetries(2).WithBudget(budget.New()).Build(),
		circuitbreaker.NewBuilder[int]().WithFailureRateThreshold(0.5, 10, time.Minute).Build(),
		bulkhead.New[int](40), timeout.New[int](30*time.Second),
	)
	engine := newEngine(t)
	req := &core.Request{}
	return []path{
		{"spillway limit+circuit+budget+timeout", func() { run(ctx, now, &set, c, b, d) }},
		{"failsafe-go bulkhead+circuit+budget+retry+timeout", func() {
			_, _ = executor.WithContext(ctx).GetWithExecution(func(e failsafe.Execution[int]) (int, error) { return answer(e.Context()) })
		}},
		{"spillway engine: plan, circuit, budget, nodes, timeouts, record", func() {
			_, _ = core.Do(ctx, engine, req, func(ctx context.Context, _ *core.Attempt) (int, error) { return answer(ctx) })
		}},
	}
}

// run is one attempt as the engine makes it: reserve, permit, deadline, call,
// settle.
func run(ctx context.Context, now func() time.Duration, set *limit.Set, c *circuit.Circuit, b *retry.Budget, d *deadlines) {
	at := limit.Now{Mono: now()}
	use := limit.Use{Requests: 1, Input: 10, Output: 20}
	r, no := set.Reserve(at, limit.Ask{Priority: 5, Use: use})
	if no.Refused() {
		return
	}
	p, _, ok := c.Acquire(at.Mono)
	if !ok {
		r.Cancel(at)
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w := d.add(at.Mono+30*time.Second, cancel)
	_, _ = answer(ctx)
	d.remove(w)
	cancel(nil)
	at.Mono = now()
	p.Done(at.Mono, circuit.Success, "")
	b.Refund(at.Mono)
	r.Settle(at, use, limit.Cost{})
}

// deadlines is the engine's way to end late attempts, in small: one timer for
// all of them instead of one each.
type deadlines struct {
	now   func() time.Duration
	pool  sync.Pool
	mu    sync.Mutex
	head  *watched
	armed bool
}

type watched struct {
	prev, next *watched
	due        time.Duration
	cancel     context.CancelCauseFunc
}

func (d *deadlines) add(due time.Duration, cancel context.CancelCauseFunc) *watched {
	w, ok := d.pool.Get().(*watched)
	if !ok {
		w = &watched{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	*w = watched{due: due, cancel: cancel, next: d.head}
	if d.head != nil {
		d.head.prev = w
	}
	d.head = w
	if !d.armed {
		d.armed = true
		time.AfterFunc(due-d.now(), d.sweep)
	}
	return w
}

func (d *deadlines) remove(w *watched) {
	d.mu.Lock()
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		d.head = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	d.mu.Unlock()
	d.pool.Put(w)
}

func (d *deadlines) sweep() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = false
	for w := d.head; w != nil; w = w.next {
		if w.due <= d.now() {
			w.cancel(context.DeadlineExceeded)
		}
	}
}

// answer is the call that both make: it looks at its context and succeeds.
func answer(ctx context.Context) (int, error) { return 1, ctx.Err() }

// remembered decides once, as a policy's memo does.
type remembered struct{ plan *core.Plan }

func (r *remembered) Decide(s *core.Snapshot, f *core.Facts) (*core.Plan, bool) {
	if r.plan == nil {
		r.plan = core.SafePlan(s, f, "")
	}
	return r.plan, true
}

func (r *remembered) Prepare(*core.Snapshot) {}

func newEngine(t testing.TB) *core.Engine {
	t.Helper()
	catalog, err := core.NewCatalog(
		[]core.Provider{{ID: "a", Wire: core.WireAnthropic, Vendor: "a", Keys: []core.Key{{ID: "k"}}, Nodes: []core.Node{{ID: "n"}}}},
		[]core.Target{{ID: "model", Provider: "a", Model: "model", ContextTokens: 200_000}},
	)
	if err != nil {
		t.Fatal(err)
	}
	rev := core.DefaultRevision(catalog)
	rev.Decider = &remembered{}
	e, err := core.New(core.Config{Revision: rev, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}
