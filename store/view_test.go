package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// firstRow reads the first row of a query as column = value.
func firstRow(t *testing.T, s *sql.DB, query string) map[string]string {
	t.Helper()
	rows, err := s.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil || !rows.Next() {
		t.Fatalf("%s: no row: %v, %v", query, err, rows.Err())
	}
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(any)
	}
	if err := rows.Scan(values...); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for i, c := range columns {
		v := *values[i].(*any)
		if b, ok := v.([]byte); ok {
			v = string(b)
		}
		if v == nil {
			v = "NULL"
		}
		got[c] = fmt.Sprint(v)
	}
	return got
}

func checkRow(t *testing.T, got, want map[string]string) {
	t.Helper()
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: got %q, want %q", k, got[k], v)
		}
	}
}

func TestViews_Decisions(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	db := open(t, cfg)
	snap, p := snapshot(t, 1), plan()
	d := decision(snap, p, 1)
	d.Skips = []core.Skip{{Step: 0, Target: "claude-haiku-5-5", Kind: core.KindNotPortable, Detail: "tools[0].cache"}, {Step: 1, Target: "gpt-6-luna", Kind: core.KindCoolingDown}}
	db.Record(d)
	failed := &core.Decision{
		ID: "failed", At: noon(), Facts: core.Facts{UseCase: "batch", Audience: core.AudienceFree}, Plan: p, Snapshot: snap,
		Attempts: []core.AttemptRecord{{Number: 1, Target: "gpt-6-sol", Kind: core.KindConnect}}, Outcome: core.KindConnect, Status: 502,
	}
	flush(t, db)
	want := map[string]string{
		"id": "0d0000000000000000000001", "at_utc": "2026-11-29 12:00:00.124", "caller_key": "k-team", "tenant": "acme", "audience": "paid",
		"use_case": "assistant", "asked": "claude-opus-5-5", "wire": "anthropic", "stream": "1", "priority": "5", "input_tokens": "2100",
		"excluded": "claude-opus-5-5: circuit open; gpt-6-luna: context, cooling down",
		"skipped":  "claude-haiku-5-5: not portable (tools[0].cache); gpt-6-luna: cooling down",
		"tried":    "claude-sonnet-5 overloaded(529) -> gpt-6-sol ok", "answered_by": "gpt-6-sol", "outcome": "answered", "status": "200",
		"situation": "fallback", "disclosed": "target: now on GPT-6 Sol (normally Opus)", "cost_usd": "0.021504", "revision": "rev-1",
		"config": "cat-1", "source": "memo", "level": "degraded", "tier": "chat", "duration_ms": "1932", "first_content_ms": "352", "seq": "2",
	}
	got := firstRow(t, shell(t, cfg.Path), "SELECT * FROM v_decisions LIMIT 5")
	checkRow(t, got, want)
	if len(got) != len(want) {
		t.Errorf("columns: %v", maps.Keys(got))
	}
	db.Record(failed)
	flush(t, db)
	checkRow(t, firstRow(t, shell(t, cfg.Path), "SELECT * FROM v_decisions LIMIT 5"), map[string]string{
		"id": "failed", "tried": "gpt-6-sol connect", "answered_by": "NULL", "outcome": "connect", "status": "502", "cost_usd": "NULL",
		"stream": "0", "skipped": "NULL", "disclosed": "none", "first_content_ms": "NULL",
	})
}

func TestViews_History(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	db := open(t, cfg)
	at := noon()
	db.Record(decision(snapshot(t, 1), plan(), 1))
	db.Record(&core.Transition{At: at, Target: "t1", UseCase: "batch", From: circuit.Closed, To: circuit.Open, Cause: "overloaded", Failures: 3, Calls: 3, Until: at.Add(2 * time.Minute), Opens: 1, Effective: circuit.Open})
	db.Record(&core.BudgetSample{At: at, Target: "t1", UseCase: "batch", Tokens: 12.5, Capacity: 500, ZeroSeconds: 3})
	db.Record(&core.Override{At: at, UseCase: "batch", Hold: circuit.HoldEmergency, By: "ann", Reason: "vendor page", Until: at.Add(time.Minute)})
	db.Record(&core.PolicyChange{At: at, Action: "poisoned", Revision: "r2", Previous: "r1", Number: 2, By: "engine", Reason: "deadline"})
	flush(t, db)
	s := shell(t, cfg.Path)
	for query, want := range map[string]map[string]string{
		"SELECT * FROM v_attempts WHERE number = 1": {
			"decision": "0d0000000000000000000001", "at_utc": "2026-11-29 12:00:00.125", "target": "claude-sonnet-5", "result": "overloaded",
			"status": "529", "type": "overloaded_error", "cost_usd": "NULL", "input_tokens": "NULL", "use_case": "assistant", "probe": "0",
		},
		"SELECT * FROM v_attempts WHERE number = 2": {"target": "gpt-6-sol", "result": "ok", "cost_usd": "0.021504", "output_tokens": "512", "price_as_of": "2026-11-01"},
		"SELECT * FROM v_circuit_history": {
			"at_utc": "2026-11-29 12:00:00.123", "target": "t1", "use_case": "batch", "from_state": "closed", "to_state": "open",
			"cause": "overloaded", "failures": "3", "until_utc": "2026-11-29 12:02:00.123", "opens": "1", "effective": "open",
		},
		"SELECT * FROM v_budget_history": {"target": "t1", "use_case": "batch", "tokens": "12.5", "capacity": "500", "zero_seconds": "3"},
		"SELECT * FROM v_policy_history": {"action": "poisoned", "number": "2", "revision": "r2", "previous": "r1", "by": "engine", "reason": "deadline"},
		"SELECT * FROM v_override_history": {
			"at_utc": "2026-11-29 12:00:00.123", "target": "*", "use_case": "batch", "hold": "emergency", "by": "ann",
			"reason": "vendor page", "until_utc": "2026-11-29 12:01:00.123",
		},
		"SELECT * FROM v_events": {"kind": "policy", "subject": "r2"},
	} {
		checkRow(t, firstRow(t, s, query), want)
	}
}

// TestViews_Lazy holds that a view with LIMIT reads only as many rows as it
// shows: the table in its own order, or the index, and never a sort.
func TestViews_Lazy(t *testing.T) {
	t.Parallel()
	db := open(t, config(t))
	for view, how := range map[string]string{
		"v_decisions": "SCAN e", "v_attempts": "SCAN e",
		"v_circuit_history": "USING INDEX events_notable (kind=?)", "v_budget_history": "USING INDEX events_notable (kind=?)",
		"v_override_history": "USING INDEX events_notable (kind=?)",
		"v_policy_history":   "USING INDEX events_notable (kind=?)", "v_gaps": "USING INDEX events_notable (kind=?)",
	} {
		plan, err := db.Explain(context.Background(), "SELECT * FROM "+view+" LIMIT 5")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(plan, how) || strings.Contains(plan, "TEMP B-TREE") || strings.Contains(plan, "MATERIALIZE") || strings.Contains(plan, "CO-ROUTINE e") {
			t.Errorf("%s:\n%s", view, plan)
		}
	}
}

// TestViews_Shell is the issue's own command, with the program that auditors have.
func TestViews_Shell(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("no sqlite3 program here")
	}
	cfg := config(t)
	db := open(t, cfg)
	db.Record(decision(snapshot(t, 1), plan(), 1))
	flush(t, db)
	out, err := exec.Command(program, "-line", cfg.Path, "select * from v_decisions limit 5").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "tried = claude-sonnet-5 overloaded(529) -> gpt-6-sol ok") {
		t.Errorf("%v:\n%s", err, out)
	}
}
