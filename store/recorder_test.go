package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/audit"
	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/store"
)

func TestRecord_DecisionReadsBack(t *testing.T) {
	t.Parallel()
	db := open(t, config(t))
	snap, p := snapshot(t, 1), plan()
	d := decision(snap, p, 1)
	d.Skips = []core.Skip{{Step: 0, Target: "claude-opus-5-5", Kind: core.KindOpenCircuit, Detail: "open", Wait: 1500 * time.Microsecond}}
	d.Warnings = []string{"dropped: cache_control"}
	wantFacts, err := json.Marshal(d.Facts)
	if err != nil {
		t.Fatal(err)
	}
	db.Record(d)
	d.Reset() // the recorder must not keep it
	flush(t, db)

	if _, err := db.Decision(context.Background(), "0d"); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("an unknown id: %v", err)
	}
	list, err := db.Decisions(context.Background(), audit.Filter{})
	if err != nil || len(list) != 1 {
		t.Fatalf("decisions: %d rows, %v", len(list), err)
	}
	got, err := db.Decision(context.Background(), list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Facts, wantFacts) {
		t.Errorf("facts:\n got %s\nwant %s", got.Facts, wantFacts)
	}
	_, wantPlan := p.Document()
	_, wantSnapshot := snap.Document()
	if !bytes.Equal(got.Plan, wantPlan) || !bytes.Equal(got.Snapshot, wantSnapshot) {
		t.Errorf("documents differ:\n%s\n%s", got.Plan, got.Snapshot)
	}
	checkDetail(t, &got)
}

func checkDetail(t *testing.T, got *audit.Detail) {
	t.Helper()
	a := got.Attempts
	for _, c := range []struct {
		what string
		ok   bool
	}{
		{"time", got.At.Equal(noon().Add(time.Millisecond))},
		{"who", got.KeyID == "k-team" && got.Tenant == "acme" && got.Audience == "paid" && got.UseCase == "assistant"},
		{"asked", got.Asked == "claude-opus-5-5" && got.Wire == "anthropic"},
		{"answer", got.Target == "gpt-6-sol" && got.Outcome == "none" && got.Status == 200 && got.Situation == "fallback"},
		{"policy", got.Revision == "rev-1" && got.Catalog == "cat-1" && got.Source == "memo" && got.Level == "degraded"},
		{"cost", got.CostKnown && got.Cost == 21_504_000_000},
		{"times", got.Duration == 1932*time.Millisecond && got.FirstContent == 352*time.Millisecond},
		{"disclosure", got.DisclosedAs == "target" && got.DisclosedText == "now on GPT-6 Sol (normally Opus)"},
		{"warnings", len(got.Warnings) == 1 && got.Warnings[0] == "dropped: cache_control"},
		{"skip", len(got.Skips) == 1 && got.Skips[0] == audit.Skip{Target: "claude-opus-5-5", Kind: "open_circuit", Detail: "open", WaitMS: 2}},
		{"attempts", len(a) == 2 && a[0].Kind == "overloaded" && a[0].Status == 529 && a[0].StartMS == 1 && !a[0].CostKnown},
		{"second attempt", len(a) == 2 && a[1].Kind == "none" && a[1].Input == 2048 && a[1].Output == 512 && a[1].CostKnown},
		{"neighbours", got.Previous == "" && got.Next == ""},
	} {
		if !c.ok {
			t.Errorf("%s: got %+v", c.what, got)
		}
	}
}

func TestRecord_EveryOtherEvent(t *testing.T) {
	t.Parallel()
	at := noon()
	tests := []struct {
		event         core.Event
		kind, subject string
		body          string
	}{
		{
			&core.Transition{At: at, Target: "t1", UseCase: "assistant", From: circuit.Closed, To: circuit.Open, Cause: "overloaded", Failures: 7, Calls: 9, Until: at.Add(time.Second), Opens: 1, Effective: circuit.Open, Revision: "r1"},
			"transition", "t1",
			`{"target":"t1","use_case":"assistant","from":"closed","to":"open","cause":"overloaded","failures":7,"calls":9,"until_us":1795953601123456,"opens":1,"effective":"open","revision":"r1"}`,
		},
		{
			&core.Cooldown{At: at, QuotaGroup: "q1", Key: "k1", Target: "t1", Until: at.Add(20 * time.Second), Hinted: true},
			"cooldown", "q1", `{"quota_group":"q1","key":"k1","target":"t1","until_us":1795953620123456,"hinted":true}`,
		},
		{
			&core.BudgetSample{At: at, Target: "t1", UseCase: "batch", Tokens: 499.25, Capacity: 500, ZeroSeconds: 1.5},
			"budget", "t1", `{"target":"t1","use_case":"batch","tokens":499.25,"capacity":500,"zero_seconds":1.5}`,
		},
		{&core.LevelChange{At: at, UseCase: "batch", From: core.Healthy, To: core.Unhealthy}, "level", "batch", `{"use_case":"batch","from":"healthy","to":"unhealthy"}`},
		{&core.KeyState{At: at, Provider: "p1", Key: "k1", By: "ann", Reason: "leaked"}, "key", "p1/k1", `{"provider":"p1","key":"k1","usable":false,"kind":"none","by":"ann","reason":"leaked"}`},
		{&core.KeyState{At: at, Provider: "p1", Key: "k1", Kind: core.KindBilling, By: "vendor"}, "key", "p1/k1", `{"provider":"p1","key":"k1","usable":false,"kind":"billing","by":"vendor"}`},
		{
			&core.Override{At: at, Target: "t1", Hold: circuit.HoldOpen, By: "ann", Reason: "vendor <status> page", Until: at.Add(time.Hour)},
			"override", "t1", `{"target":"t1","use_case":"","hold":"forced_open","by":"ann","reason":"vendor \u003cstatus\u003e page","until_us":1795957200123456}`,
		},
		{&core.PolicyChange{At: at, Action: "poisoned", Revision: "r2", Previous: "r1", Number: 2, By: "engine", Reason: "deadline"}, "policy", "r2", `{"action":"poisoned","revision":"r2","previous":"r1","number":2,"by":"engine","reason":"deadline"}`},
		{&core.ConfigChange{At: at, Digest: "c1", By: "signal", Refused: "line 3"}, "config", "c1", `{"digest":"c1","by":"signal","refused":"line 3"}`},
		{&core.FaultChange{At: at, Vendor: "sim-a", Fault: "overloaded", By: "ann"}, "fault", "sim-a", `{"vendor":"sim-a","fault":"overloaded","by":"ann"}`},
	}
	db := open(t, config(t))
	for _, tt := range tests {
		db.Record(tt.event)
	}
	flush(t, db)
	got, err := db.Events(context.Background(), 0, 1, nil, 0)
	if err != nil || len(got) != len(tests) {
		t.Fatalf("%d events, want %d: %v", len(got), len(tests), err)
	}
	for i, tt := range tests {
		e := got[len(got)-1-i]
		if e.Kind != tt.kind || e.Subject != tt.subject || string(e.Body) != tt.body || !e.At.Equal(at) {
			t.Errorf("got  %s %s %s\nwant %s %s %s", e.Kind, e.Subject, e.Body, tt.kind, tt.subject, tt.body)
		}
	}
}

func TestRecord_DecisionWithoutPlan(t *testing.T) {
	t.Parallel()
	db := open(t, config(t))
	db.Record(&core.Decision{ID: "bare", At: noon(), Outcome: core.KindNoTarget})
	flush(t, db)
	got, err := db.Decision(context.Background(), "bare")
	if err != nil {
		t.Fatal(err)
	}
	if got.Plan != nil || got.Snapshot != nil || got.Outcome != "no_target" || got.CostKnown {
		t.Errorf("got %+v", got)
	}
}

// TestRecord_Concurrently is field-failures R37: many writers, a reader that
// pages, jobs in between, and no lock error anywhere.
func TestRecord_Concurrently(t *testing.T) {
	t.Parallel()
	const writers, each = 50, 60
	db := open(t, config(t))
	snap, p := snapshot(t, 1), plan()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				db.Record(decision(snap, p, w*each+i))
				if i%20 == 0 {
					if _, err := db.SaveDraft(context.Background(), store.Draft{ID: strings.Repeat("x", w+1) + string(rune('a'+i/20)), By: "ann"}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Go(func() {
		for range 20 {
			if _, err := db.Decisions(context.Background(), audit.Filter{UseCase: "assistant", Limit: 100}); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	flush(t, db)
	if s := db.Stats(); s.Written != writers*each || s.Dropped != 0 || s.Pending != 0 || s.Failing || s.Last != nil {
		t.Errorf("stats: %+v", s)
	}
	r, err := db.Verify(context.Background())
	if err != nil || r.Broken != nil || r.Events != writers*each+1 || r.Documents != 2 {
		t.Errorf("verify: %+v, %v", r, err)
	}
}

func TestRecord_AfterCloseIsLost(t *testing.T) {
	t.Parallel()
	db := open(t, config(t))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db.Record(&core.LevelChange{At: noon(), UseCase: "batch"})
	if s := db.Stats(); s.Dropped != 1 || s.Accepted != 0 {
		t.Errorf("stats: %+v", s)
	}
	if err := db.Flush(context.Background()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("flush after close: %v", err)
	}
}

func TestRecord_Allocations(t *testing.T) {
	if raceEnabled {
		t.Skip("under the race detector, pools forget at random")
	}
	db := open(t, config(t).Tune(0, time.Hour, nil))
	snap, p := snapshot(t, 1), plan()
	d := decision(snap, p, 1)
	for range 300 { // grow the buffers
		db.Record(d)
	}
	flush(t, db)
	if n := testing.AllocsPerRun(200, func() { db.Record(d) }); n > 1 {
		t.Errorf("recording a decision allocates %v times", n)
	}
}
