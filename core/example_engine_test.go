package core_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// handClock is a clock that a hand moves: what a host is that lets a program run
// only now and then.
type handClock struct{ passed time.Duration }

var startOfDay = time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)

func (c *handClock) Mono() time.Duration { return c.passed }
func (c *handClock) Wall() time.Time     { return startOfDay.Add(c.passed) }

func (c *handClock) Sleep(ctx context.Context, d time.Duration) error {
	c.passed += d
	return ctx.Err()
}

// AfterFunc never calls: nothing happens in the background.
func (c *handClock) AfterFunc(time.Duration, func()) func() bool { return func() bool { return true } }
func (c *handClock) Go(f func())                                 { go f() }

// newExampleEngine serves two targets of two vendors, and never starts anything.
func newExampleEngine(c core.Clock, r core.Recorder) (*core.Engine, error) {
	provider := func(id string) core.Provider {
		return core.Provider{ID: id, Vendor: id, Keys: []core.Key{{ID: "main"}}, Nodes: []core.Node{{ID: "eu"}}}
	}
	catalog, err := core.NewCatalog(
		[]core.Provider{provider("anthropic"), provider("openai")},
		[]core.Target{
			{ID: "opus", Provider: "anthropic", Model: "claude-opus-5-5", ContextTokens: 1_000_000},
			{ID: "sol", Provider: "openai", Model: "gpt-6-sol", ContextTokens: 400_000},
		})
	if err != nil {
		return nil, err
	}
	return core.New(core.Config{Revision: core.DefaultRevision(catalog), Clock: c, Recorder: r, Seed: 1})
}

// overloadedOpus is a day on which one vendor is down.
func overloadedOpus(_ context.Context, a *core.Attempt) (string, error) {
	if a.Target.ID == "opus" {
		return "", &core.Error{Op: "create message", Kind: core.KindOverloaded, Status: 529}
	}
	return "answered by " + a.Target.ID, nil
}

// Without Start the engine has no goroutine and no timer. What time alone would
// change is changed by Tick, which a cron calls (R16.1); requests need no tick,
// because each looks at the clock before it decides.
func ExampleEngine_Tick() {
	clock := &handClock{}
	engine, err := newExampleEngine(clock, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 7 { // failures in a row open the assistant's circuit
		if _, err := core.Do(context.Background(), engine, &core.Request{}, overloadedOpus); err != nil {
			fmt.Println(err)
		}
	}
	opus := func() circuit.State { return engine.Snapshot().Targets[0].Circuits[0].State }
	fmt.Println(opus())
	clock.passed += time.Minute
	engine.Tick()
	fmt.Println(opus())
	// Output:
	// open
	// half_open
}

// What must survive the program's end is a value that any store can hold: a file,
// a row, a key.
func ExampleEngine_Restore() {
	clock := &handClock{}
	engine, err := newExampleEngine(clock, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 7 {
		if _, err := core.Do(context.Background(), engine, &core.Request{}, overloadedOpus); err != nil {
			fmt.Println(err)
		}
	}
	saved, err := json.Marshal(engine.State())
	if err != nil {
		fmt.Println(err)
		return
	}
	engine.Close()

	clock.passed += 5 * time.Second // and a new process
	var state core.State
	if err := json.Unmarshal(saved, &state); err != nil {
		fmt.Println(err)
		return
	}
	next, err := newExampleEngine(clock, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	next.Restore(state)
	req := &core.Request{}
	answer, err := core.Do(context.Background(), next, req, overloadedOpus)
	fmt.Println(answer, err)
	fmt.Println(len(req.Decision.Attempts), "attempt; opus:", req.Decision.Plan.Excluded[0].Reasons[0])
	// Output:
	// answered by sol <nil>
	// 1 attempt; opus: circuit open
}

// A plan says what would be done, and why not otherwise.
func ExampleEngine_Plan() {
	engine, err := newExampleEngine(&handClock{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan := engine.Plan(&core.Facts{UseCase: "assistant", InputTokens: 500_000})
	for _, s := range plan.Steps {
		fmt.Printf("%s, first content within %d ms\n", s.Target, s.FirstContentMS)
	}
	for _, x := range plan.Excluded {
		fmt.Println("not", x.Target+":", x.Reasons[0])
	}
	// Output:
	// opus, first content within 30000 ms
	// not sol: cannot serve the request
}

// An operator takes a target out for a while; everybody routes around it.
func ExampleEngine_Hold() {
	clock := &handClock{}
	engine, err := newExampleEngine(clock, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = engine.Hold(core.Override{
		Target: "opus", Hold: circuit.HoldOpen, By: "aki", Reason: "wrong answers", Until: clock.Wall().Add(time.Hour),
	})
	fmt.Println(err)
	ask := func() {
		answer, err := core.Do(context.Background(), engine, &core.Request{},
			func(_ context.Context, a *core.Attempt) (string, error) { return "answered by " + a.Target.ID, nil })
		fmt.Println(answer, err)
	}
	ask()
	clock.passed += time.Hour
	ask()
	// Output:
	// <nil>
	// answered by sol <nil>
	// answered by opus <nil>
}

// printer is a listener to everything that happens.
type printer struct{}

func (printer) Record(ev core.Event) {
	switch e := ev.(type) {
	case *core.Decision:
		fmt.Println("decided:", e.Outcome, "by", cmp.Or(e.Target, "nobody"))
	case *core.Cooldown:
		fmt.Println("cools down:", e.QuotaGroup, "until", e.Until.Format(time.TimeOnly))
	}
}

// counter counts decisions, as a metric would.
type counter map[string]int

func (c counter) Record(ev core.Event) {
	if d, ok := ev.(*core.Decision); ok {
		c[d.Target]++
	}
}

// Several listeners share one engine. A vendor that throttles cools down, for
// everybody, and later requests go around it at once.
func ExampleRecorders() {
	count := counter{}
	engine, err := newExampleEngine(&handClock{}, core.Recorders{printer{}, count})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		_, err := core.Do(context.Background(), engine, &core.Request{},
			func(_ context.Context, a *core.Attempt) (string, error) {
				if a.Target.ID == "opus" {
					header := http.Header{"Retry-After": {"20"}}
					return "", core.FromStatus("create message", http.StatusTooManyRequests, header, startOfDay, errors.New("slow down"))
				}
				return "answer", nil
			})
		fmt.Println("error:", core.KindOf(err))
	}
	fmt.Println(count["sol"])
	// Output:
	// cools down: anthropic until 00:00:20
	// decided: rate_limited by nobody
	// error: rate_limited
	// decided: none by sol
	// error: none
	// 1
}
