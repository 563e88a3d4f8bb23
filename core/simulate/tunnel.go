package simulate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// Options shape a run. The zero value takes everything from the scenario.
type Options struct {
	// Seed replaces the scenario's, unless it is 0.
	Seed uint64
	// Stopwatch reads real time, for [Result.Timing] alone; nil: nothing is measured.
	Stopwatch func() time.Duration
}

// Compare runs each contender through the scenario, side by side, and returns
// their results in their order. The same arguments give the same report, byte
// for byte, except for the timing. It ends early with ctx.
func Compare(ctx context.Context, s *Scenario, contenders []Contender, o Options) (*Report, error) {
	if len(contenders) == 0 {
		return nil, errors.New("compare policies: there is none")
	}
	// A scenario may have been made or changed by a program after Parse.
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("scenario %q: %w: %w", s.Name, err, ErrScenario)
	}
	r := &Report{
		Scenario: s.Name, Title: s.Title, Text: s.Text, Seed: seedOf(s, o), DurationS: s.DurationS,
		BucketS: s.DurationS / buckets, AvailabilityGoalPercent: availabilityGoal, Phases: phaseSpans(s),
		Results: make([]Result, len(contenders)),
	}
	errs := make([]error, len(contenders))
	var wg sync.WaitGroup
	for i := range contenders {
		wg.Go(func() { r.Results[i], errs[i] = run(ctx, s, contenders[i], o) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, nil
}

func seedOf(s *Scenario, o Options) uint64 {
	if o.Seed != 0 {
		return o.Seed
	}
	return s.Seed
}

// tunnel is one run.
type tunnel struct {
	scenario *Scenario
	clock    *Clock
	engine   *core.Engine
	random   core.Random
	vendors  *vendors
	tally    *tally
	running  int // traffic and requests that are not over
	spare    []*core.Request
}

func run(ctx context.Context, s *Scenario, c Contender, o Options) (Result, error) {
	t, watch, err := newTunnel(s, c, o)
	if err != nil {
		return Result{}, fmt.Errorf("simulate %q with %q: %w", s.Name, c.Name, err)
	}
	begun := watch.read()
	t.engine.Start()
	for i := range s.Traffic {
		t.begin(func() { t.arrivals(i) })
	}
	t.clock.Run(func() bool { return t.running == 0 || ctx.Err() != nil })
	t.clock.Stop()
	t.engine.Close()
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("simulate %q with %q: %w", s.Name, c.Name, err)
	}
	r := t.tally.result(c)
	r.Timing = Timing{Whole: watch.read() - begun, Policy: watch.spent, Plans: watch.plans, Snapshots: watch.snapshots}
	return r, nil
}

func newTunnel(s *Scenario, c Contender, o Options) (*tunnel, *stopwatch, error) {
	t := &tunnel{scenario: s, clock: NewClock(start()), random: core.Random{Seed: seedOf(s, o)}}
	t.tally = newTally(s)
	t.vendors = &vendors{
		scenario: s, clock: t.clock, random: t.random, tally: t.tally, windows: map[windowKey]*window{},
	}
	rev, watch, err := c.revision(s, t.clock, o.Stopwatch)
	if err != nil {
		return nil, nil, err
	}
	t.engine, err = core.New(core.Config{Revision: rev, Clock: t.clock, Recorder: t.tally, Seed: t.random.Seed})
	if err != nil {
		return nil, nil, err
	}
	for i := range s.Traffic {
		if _, ok := rev.Tables.UseCaseIndex(s.Traffic[i].UseCase); !ok {
			return nil, nil, fmt.Errorf("traffic[%d].use_case: the policies know no %q", i, s.Traffic[i].UseCase)
		}
	}
	if c.HoldCircuits {
		err = t.hold()
	}
	return t, watch, err
}

// hold lets every call past the circuits, which go on computing. It renews the
// holds long before they expire.
func (t *tunnel) hold() error {
	for _, target := range t.scenario.Targets {
		err := t.engine.Hold(core.Override{
			Target: target.ID, Hold: circuit.HoldClosed, By: "simulate", Reason: "a contender without circuits",
			Until: t.clock.Wall().Add(core.MaxHold),
		})
		if err != nil {
			return err
		}
	}
	// A renewal asks for what was granted before.
	t.clock.AfterFunc(core.MaxHold/2, func() { _ = t.hold() })
	return nil
}

// begin runs f as a task that the run waits for.
func (t *tunnel) begin(f func()) {
	t.running++
	t.clock.Go(func() {
		f()
		t.running--
	})
}

// arrivals lets the requests of one stream of traffic come.
func (t *tunnel) arrivals(i int) {
	stream := &t.scenario.Traffic[i]
	for n := uint64(0); ; n++ {
		id := uint64(i+1)<<40 | n
		next, ok := stream.after(t.clock.Mono(), exponential(t.random.Float64(id, purposeArrival, 0)), t.scenario.DurationS)
		if !ok || t.clock.Sleep(context.Background(), next-t.clock.Mono()) != nil {
			return
		}
		t.begin(func() { t.request(stream, id) })
	}
}

// after is the moment at which as many requests as gap were to be expected
// since now; false when traffic ends before.
func (t *Traffic) after(now time.Duration, gap, seconds float64) (time.Duration, bool) {
	at := now.Seconds()
	for i, r := range t.Rate {
		until := seconds
		if i+1 < len(t.Rate) {
			until = t.Rate[i+1].FromS
		}
		from := max(at, r.FromS)
		if from >= until {
			continue
		}
		if here := (until - from) * r.PerS; gap >= here {
			gap -= here
			continue
		}
		// One nanosecond on, so that time passes however many arrive.
		return max(duration(from+gap/r.PerS), now+1), true
	}
	return 0, false
}

// request runs one request to its end.
func (t *tunnel) request(stream *Traffic, id uint64) {
	kind := stream.kind(t.random.Float64(id, purposeMix, 0))
	v := &visit{vendors: t.vendors, id: id, kind: kind, tries: make([]int, len(t.scenario.Targets))}
	v.tokens = max(1, int((0.5+t.random.Float64(id, purposeLength, 0))*float64(kind.OutputTokens)))
	ctx := context.Background()
	if stream.PatienceS > 0 {
		patient, leave := context.WithCancel(ctx)
		stop := t.clock.AfterFunc(duration(stream.PatienceS), leave)
		defer stop()
		defer leave()
		ctx = patient
	}
	req := t.take()
	req.Facts = kind.facts(stream)
	// The error is in the decision, which the tally reads.
	_ = t.engine.Run(ctx, req, v)
	if !t.clock.stopped {
		t.engine.Finish(req)
	}
	t.spare = append(t.spare, req)
}

// take returns a request whose memory may be used again.
func (t *tunnel) take() *core.Request {
	if n := len(t.spare); n > 0 {
		r := t.spare[n-1]
		t.spare = t.spare[:n-1]
		return r
	}
	return &core.Request{Wire: core.WireGo}
}

// kind is the one that a draw falls on.
func (t *Traffic) kind(u float64) *RequestKind {
	sum := 0.0
	for i := range t.Mix {
		sum += factor(t.Mix[i].Share)
	}
	u *= sum
	for i := range t.Mix {
		if u -= factor(t.Mix[i].Share); u < 0 {
			return &t.Mix[i]
		}
	}
	return &t.Mix[len(t.Mix)-1]
}

// facts are what the gateway would make of the request.
func (k *RequestKind) facts(t *Traffic) core.Facts {
	f := core.Facts{
		UseCase: t.UseCase, Task: k.Task, Priority: k.Priority, Audience: t.Audience, Quality: k.Quality,
		LatencyBudgetMS: k.LatencyBudgetMS, InputTokens: core.RoundUp2(k.InputTokens), MaxTokens: core.RoundUp2(k.MaxTokens),
		Stream: k.Stream, TenantClass: "paid", Language: core.Languages()[0],
	}
	if f.Task == "" {
		f.Task = core.TaskSimple
	}
	if f.Audience == "" {
		f.Audience = core.AudiencePaid
	}
	if f.Quality == "" {
		f.Quality = core.QualityBalanced
	}
	if f.Priority == 0 {
		f.Priority = core.DefaultPriority
	}
	if f.LatencyBudgetMS == 0 {
		f.LatencyBudgetMS = core.DefaultLatencyBudgetMS
	}
	return f
}
