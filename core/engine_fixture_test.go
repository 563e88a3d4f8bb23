package core_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
)

// catalog is two vendors with three targets: a1 and a2 share a quota group.
func catalog(t testing.TB) *core.Catalog {
	t.Helper()
	tokens := price.Table{Input: price.PerMillion(3), Output: price.PerMillion(15), AsOf: "2026-11-29"}
	c, err := core.NewCatalog([]core.Provider{
		{ID: "a", Wire: core.WireAnthropic, Vendor: "anthropic", Keys: []core.Key{{ID: "k1", Secret: core.NewSecret("s")}}, Nodes: []core.Node{{ID: "n", BaseURL: "http://a"}}},
		{ID: "o", Wire: core.WireOpenAI, Vendor: "openai", Keys: []core.Key{{ID: "k2", Secret: core.NewSecret("s")}}, Nodes: []core.Node{{ID: "n", BaseURL: "http://o"}}},
	}, []core.Target{
		{ID: "a1", Provider: "a", Model: "claude", Family: "opus", ContextTokens: 200_000, Price: tokens},
		{ID: "a2", Provider: "a", Model: "claude-small", Family: "haiku", ContextTokens: 200_000, Price: tokens},
		{ID: "o1", Provider: "o", Model: "gpt", Family: "sol", ContextTokens: 200_000},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tape records events; it copies what it keeps.
type tape struct {
	mu          sync.Mutex
	transitions []core.Transition
	cooldowns   []core.Cooldown
	levels      []core.LevelChange
	keys        []core.KeyState
	budgets     []core.BudgetSample
	spends      []core.SpendSample
	overrides   []core.Override
	decisions   int
}

func (r *tape) Record(ev core.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := ev.(type) {
	case *core.Transition:
		r.transitions = append(r.transitions, *e)
	case *core.Cooldown:
		r.cooldowns = append(r.cooldowns, *e)
	case *core.LevelChange:
		r.levels = append(r.levels, *e)
	case *core.KeyState:
		r.keys = append(r.keys, *e)
	case *core.BudgetSample:
		r.budgets = append(r.budgets, *e)
	case *core.SpendSample:
		r.spends = append(r.spends, *e)
	case *core.Override:
		r.overrides = append(r.overrides, *e)
	case *core.Decision:
		r.decisions++
	}
}

// rig is an engine over the test catalog with a recording tape.
type rig struct {
	*core.Engine
	tape *tape
	rev  *core.Revision
}

func newRig(t testing.TB, change ...func(*core.Tables)) *rig {
	t.Helper()
	rev := core.DefaultRevision(catalog(t))
	for _, f := range change {
		f(rev.Tables)
	}
	tp := &tape{}
	e, err := core.New(core.Config{Revision: rev, Recorder: tp, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return &rig{e, tp, rev}
}

// vendor answers attempts from a script by target; without one it succeeds.
type vendor struct {
	mu     sync.Mutex
	script map[string][]error
	hits   map[string]int
	take   time.Duration
}

func (v *vendor) call(ctx context.Context, a *core.Attempt) (string, error) {
	v.mu.Lock()
	if v.hits == nil {
		v.hits = map[string]int{}
	}
	v.hits[a.Target.ID]++
	var err error
	if s := v.script[a.Target.ID]; len(s) > 0 {
		err = s[0]
		if len(s) > 1 {
			v.script[a.Target.ID] = s[1:]
		}
	}
	v.mu.Unlock()
	if v.take > 0 {
		select {
		case <-time.After(v.take):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	if err != nil {
		return "", err
	}
	a.Usage = price.Usage{Input: 10, Output: 100, Known: true}
	return "from " + a.Target.ID, nil
}

func fails(k core.Kind, after ...time.Duration) error {
	e := &core.Error{Op: "call", Kind: k, Status: 500}
	for _, d := range after {
		e.RetryAfter, e.HintGiven = d, true
	}
	return e
}

// ask runs one request and returns its record.
func (r *rig) ask(ctx context.Context, useCase string, v *vendor) (*core.Decision, error) {
	req := &core.Request{Facts: core.Facts{UseCase: useCase, MaxTokens: 10}}
	_, err := core.Do(ctx, r.Engine, req, v.call)
	return &req.Decision, err
}
