package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/store"
)

// noon is a fixed time with microseconds, so that rounding shows.
func noon() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 123456000, time.UTC) }

func config(t testing.TB) store.Config {
	t.Helper()
	return store.Config{
		Path: filepath.Join(t.TempDir(), "spillway.db"), Version: "v0-test", Now: noon,
	}.Tune(0, 0, nil)
}

// open opens a database that is closed with the test.
func open(t testing.TB, cfg store.Config) *store.DB {
	t.Helper()
	db, err := store.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

func flush(t testing.TB, db *store.DB) {
	t.Helper()
	if err := db.Flush(context.Background()); err != nil {
		t.Fatalf("flush: %v", err)
	}
}

// shell opens the file as another program would.
func shell(t testing.TB, path string) *sql.DB {
	t.Helper()
	s, err := sql.Open("sqlite3", "file:"+path+"?_busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func catalog(t testing.TB) *core.Catalog {
	t.Helper()
	c, err := core.NewCatalog(
		[]core.Provider{
			{ID: "anthropic", Wire: core.WireAnthropic, Vendor: "anthropic", Keys: []core.Key{{ID: "a1"}}, Nodes: []core.Node{{ID: "main", BaseURL: "http://127.0.0.1:1"}}},
			{ID: "openai", Wire: core.WireOpenAI, Vendor: "openai", Keys: []core.Key{{ID: "o1"}}, Nodes: []core.Node{{ID: "main", BaseURL: "http://127.0.0.1:2"}}},
		},
		[]core.Target{{ID: "claude-opus-5-5", Provider: "anthropic"}, {ID: "claude-sonnet-5", Provider: "anthropic"}, {ID: "gpt-6-sol", Provider: "openai"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func snapshot(t testing.TB, epoch uint64) *core.Snapshot {
	t.Helper()
	c := catalog(t)
	s := &core.Snapshot{
		Epoch: epoch, Time: noon().Add(time.Duration(epoch) * time.Second), Revision: "rev-1", Catalog: c,
		UseCases: []string{"assistant", "batch"}, Levels: []core.Level{core.Degraded, core.Healthy},
	}
	for range c.Targets {
		s.Targets = append(s.Targets, core.Live{Circuits: make([]core.CircuitLive, 2), SuccessPermille: 1000, Healthy: true})
	}
	s.Targets[0].Circuits[0] = core.CircuitLive{State: circuit.Open, Until: noon().Add(time.Minute)}
	return s
}

func plan() *core.Plan {
	return &core.Plan{
		Revision: "rev-1", Source: core.SourceEvaluated,
		Steps: []core.Step{{Target: "claude-sonnet-5"}, {Target: "gpt-6-sol"}},
		Excluded: []core.Exclusion{
			{Target: "claude-opus-5-5", Reasons: []string{"circuit_open"}},
			{Target: "gpt-6-luna", Reasons: []string{"context", "cooling_down"}},
		},
		Preferred: "claude-opus-5-5", Limits: core.DefaultLimits(),
	}
}

// decision is a typical one: the first target was overloaded, another vendor answered.
func decision(snap *core.Snapshot, p *core.Plan, n int) *core.Decision {
	return &core.Decision{
		ID: fmt.Sprintf("0d%022d", n), At: noon().Add(time.Duration(n) * time.Millisecond), KeyID: "k-team", Tenant: "acme",
		Wire: core.WireAnthropic, Path: "/v1/messages", Tags: "feature=search",
		Facts: core.Facts{
			UseCase: "assistant", Task: core.TaskSimple, Priority: 5, Audience: core.AudiencePaid, Quality: core.QualityBalanced,
			LatencyBudgetMS: 5000, InputTokens: 2100, MaxTokens: 1100, Stream: true, Model: "claude-opus-5-5",
			Target: "claude-opus-5-5", TenantClass: "standard", Needs: core.Needs{Tools: true}, Language: "en",
		},
		Snapshot: snap, Plan: p, Memo: true, Revision: "rev-1", Catalog: "cat-1", Level: core.Degraded, Tier: "chat",
		Attempts: []core.AttemptRecord{
			{
				Number: 1, Step: 0, Target: "claude-sonnet-5", Node: "main", Key: "a1", Start: 200 * time.Microsecond,
				Duration: 41 * time.Millisecond, Kind: core.KindOverloaded, Status: 529, Type: "overloaded_error", UpstreamID: "req_011",
			},
			{
				Number: 2, Step: 1, Target: "gpt-6-sol", Node: "main", Key: "o1", Start: 42 * time.Millisecond,
				FirstContent: 310 * time.Millisecond, Duration: 1890 * time.Millisecond, Status: 200, UpstreamID: "req_022",
				Usage: price.Usage{Input: 2048, Output: 512, Known: true}, Cost: 21_504_000_000, CostKnown: true, PriceAsOf: "2026-11-01",
			},
		},
		Target: "gpt-6-sol", Model: "gpt-6-sol", Status: 200, Situation: core.SituationFallback,
		Disclosed:    core.Disclosed{Detail: core.DetailTarget, Text: "now on GPT-6 Sol (normally Opus)"},
		FirstContent: 352 * time.Millisecond, Duration: 1932 * time.Millisecond,
		Usage: price.Usage{Input: 2048, Output: 512, Known: true}, Cost: 21_504_000_000, CostKnown: true,
	}
}

// answered is a decision without any trouble.
func answered(snap *core.Snapshot, p *core.Plan, n int) *core.Decision {
	d := decision(snap, p, n)
	d.Attempts = d.Attempts[1:]
	d.Attempts[0].Number = 1
	d.Situation, d.Disclosed = core.SituationNone, core.Disclosed{}
	return d
}
