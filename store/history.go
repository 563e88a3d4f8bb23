package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/audit"
)

// decisionBody is a decision's JSON, as the encoder writes it.
type decisionBody struct {
	Outcome        string          `json:"outcome"`
	Situation      string          `json:"situation"`
	CallerKey      string          `json:"caller_key"`
	Tenant         string          `json:"tenant"`
	Wire           string          `json:"wire"`
	Facts          core.Facts      `json:"facts"`
	Source         string          `json:"source"`
	Revision       string          `json:"revision"`
	Catalog        string          `json:"catalog"`
	Level          string          `json:"level"`
	Attempts       []audit.Attempt `json:"attempts"`
	Skips          []audit.Skip    `json:"skips"`
	AnsweredBy     string          `json:"answered_by"`
	Status         int             `json:"status"`
	Disclosed      disclosedBody   `json:"disclosed"`
	Warnings       []string        `json:"warnings"`
	FirstContentMS int64           `json:"first_content_ms"`
	DurationMS     int64           `json:"duration_ms"`
	Cost           int64           `json:"cost_picousd"`
	CostKnown      bool            `json:"cost_known"`
	Plan           string          `json:"plan"`
	Snapshot       string          `json:"snapshot"`
}

type disclosedBody struct {
	Detail string `json:"detail"`
	Text   string `json:"text"`
}

func decodeDecision(seq, at int64, id, body string) (audit.Decision, decisionBody, error) {
	var b decisionBody
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		return audit.Decision{}, b, fmt.Errorf("row %d: %w", seq, err)
	}
	f := &b.Facts
	return audit.Decision{
		Seq: seq, ID: id, At: fromMicros(at), UseCase: f.UseCase, Audience: string(f.Audience),
		KeyID: b.CallerKey, Tenant: b.Tenant, Wire: b.Wire, Asked: f.Model, Target: b.AnsweredBy,
		Outcome: b.Outcome, Status: b.Status, Situation: b.Situation, Level: b.Level, Revision: b.Revision,
		Source: b.Source, Attempts: b.Attempts, Skips: b.Skips, Cost: b.Cost, CostKnown: b.CostKnown,
		Duration:     time.Duration(b.DurationMS) * time.Millisecond,
		FirstContent: time.Duration(b.FirstContentMS) * time.Millisecond,
	}, b, nil
}

// Decisions returns the decisions that pass the filter, newest first.
func (db *DB) Decisions(ctx context.Context, f audit.Filter) ([]audit.Decision, error) {
	list, err := db.decisions(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("read decisions: %w", err)
	}
	return list, nil
}

func (db *DB) decisions(ctx context.Context, f audit.Filter) (list []audit.Decision, err error) {
	q, err := db.newQuery(ctx, f)
	if err != nil {
		return nil, err
	}
	rows, err := db.readers.QueryContext(ctx, "SELECT seq, at_us, id, body "+q.from()+" "+q.where()+" ORDER BY seq DESC LIMIT ?",
		append(q.args, limitOf(f.Limit))...)
	if err != nil {
		return nil, err
	}
	defer closeRows(rows, &err)
	for rows.Next() {
		var seq, at int64
		var id, body string
		if err := rows.Scan(&seq, &at, &id, &body); err != nil {
			return nil, err
		}
		d, _, err := decodeDecision(seq, at, id, body)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, rows.Err()
}

// maxCount bounds CountSince: a reader who is further behind reads anew.
const maxCount = 1000

// CountSince returns how many decisions after f.After pass the filter, at most
// 1,000. f.Before and f.Limit are ignored.
func (db *DB) CountSince(ctx context.Context, f audit.Filter) (int, error) {
	f.Before = 0
	q, err := db.newQuery(ctx, f)
	if err != nil {
		return 0, fmt.Errorf("count decisions: %w", err)
	}
	var n int
	err = db.readers.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 "+q.from()+" "+q.where()+" ORDER BY seq DESC LIMIT ?)",
		append(q.args, maxCount)...).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count decisions: %w", err)
	}
	return n, nil
}

// Decision returns everything recorded about one decision, or [ErrNotFound].
// A decision appears within a second of its end.
func (db *DB) Decision(ctx context.Context, id string) (audit.Detail, error) {
	d, err := db.decision(ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("never recorded, not written yet, or beyond retention: %w", ErrNotFound)
	}
	if err != nil {
		return audit.Detail{}, fmt.Errorf("read decision %q: %w", id, err)
	}
	return d, nil
}

func (db *DB) decision(ctx context.Context, id string) (audit.Detail, error) {
	var seq, at int64
	var body string
	err := db.readers.QueryRowContext(ctx, "SELECT seq, at_us, body FROM events WHERE kind = 'decision' AND id = ? ORDER BY seq LIMIT 1", id).
		Scan(&seq, &at, &body)
	if err != nil {
		return audit.Detail{}, err
	}
	row, b, err := decodeDecision(seq, at, id, body)
	if err != nil {
		return audit.Detail{}, err
	}
	facts, err := json.Marshal(b.Facts)
	if err != nil {
		return audit.Detail{}, err
	}
	d := audit.Detail{
		Decision: row, Facts: facts, Body: json.RawMessage(body), Catalog: b.Catalog, Warnings: b.Warnings,
		DisclosedAs: b.Disclosed.Detail, DisclosedText: b.Disclosed.Text,
	}
	for _, doc := range []struct {
		digest string
		to     *json.RawMessage
	}{{b.Plan, &d.Plan}, {b.Snapshot, &d.Snapshot}} {
		if *doc.to, err = db.document(ctx, doc.digest); err != nil {
			return audit.Detail{}, err
		}
	}
	if d.Previous, err = db.neighbour(ctx, "seq < ? ORDER BY seq DESC", seq); err != nil {
		return audit.Detail{}, err
	}
	d.Next, err = db.neighbour(ctx, "seq > ? ORDER BY seq", seq)
	return d, err
}

// document returns a stored plan or snapshot, nil for a decision without one.
func (db *DB) document(ctx context.Context, digest string) (json.RawMessage, error) {
	if digest == "" {
		return nil, nil
	}
	var body string
	err := db.readers.QueryRowContext(ctx, "SELECT body FROM documents WHERE digest = ?", digest).Scan(&body)
	if err != nil {
		return nil, fmt.Errorf("document %s: %w", digest, err)
	}
	return json.RawMessage(body), nil
}

// neighbour returns the id of the next decision in a direction, "" at the end.
func (db *DB) neighbour(ctx context.Context, where string, seq int64) (id string, err error) {
	err = db.readers.QueryRowContext(ctx, "SELECT id FROM events NOT INDEXED WHERE kind = 'decision' AND "+where+" LIMIT 1", seq).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return id, err
}

// Events returns events other than decisions with a sequence number below
// before (0: no bound) and above after, newest first. Without kinds it returns
// all kinds.
func (db *DB) Events(ctx context.Context, before, after int64, kinds []string, limit int) (list []audit.Event, err error) {
	where := "kind <> 'decision' AND seq > ? AND (? = 0 OR seq < ?)"
	args := []any{after, before, before}
	if len(kinds) > 0 {
		where += " AND kind IN (?" + strings.Repeat(", ?", len(kinds)-1) + ")"
		for _, k := range kinds {
			args = append(args, k)
		}
	}
	rows, err := db.readers.QueryContext(ctx, "SELECT seq, at_us, kind, id, body FROM events WHERE "+where+" ORDER BY seq DESC LIMIT ?",
		append(args, limitOf(limit))...)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	defer closeRows(rows, &err)
	for rows.Next() {
		var e audit.Event
		var at int64
		var body string
		if err := rows.Scan(&e.Seq, &at, &e.Kind, &e.Subject, &body); err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
		e.At, e.Body = fromMicros(at), json.RawMessage(body)
		list = append(list, e)
	}
	return list, rows.Err()
}
