package store

import (
	"context"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/audit"
)

const (
	defaultLimit = 50
	maxLimit     = 500
	// longestRequest bounds how long after its arrival, which is its time, a
	// decision is recorded (10 min, R3.1, with room).
	longestRequest = 15 * time.Minute

	// notable is the condition of the index events_notable, word for word:
	// SQLite uses a partial index only then.
	notable = `substr(body, 1, 36) <> '{"outcome":"none","situation":"none"'`
)

// query is the WHERE clause of a search for decisions.
type query struct {
	terms []string
	args  []any
	// indexed reports that the terms imply the index of notable events.
	indexed bool
}

func (q *query) add(term string, args ...any) {
	q.terms = append(q.terms, term)
	q.args = append(q.args, args...)
}

// has adds a search for a member of the body by its text. That is exact, and
// many times quicker than parsing: the encoder writes each of these names once
// per body, and a quote inside a string is escaped.
func (q *query) has(name, value string) {
	if value != "" {
		q.add("instr(body, ?) > 0", member(name, value))
	}
}

// member is how the encoder writes a member with a string, without the first
// quote: SQLite looks for the first character alone, and quotes are everywhere.
func member(name, value string) string {
	e := encoder{b: []byte{'{'}}
	e.text(name, value)
	return string(e.b[len(`{"`):])
}

// from names the table, with the index where it must be used: the planner has
// no statistics and would rather walk the table.
func (q *query) from() string {
	if q.indexed {
		return "FROM events INDEXED BY events_notable"
	}
	return "FROM events NOT INDEXED"
}

func (q *query) where() string {
	return "WHERE kind = 'decision' AND " + strings.Join(q.terms, " AND ")
}

func (db *DB) newQuery(ctx context.Context, f audit.Filter) (*query, error) {
	if err := db.span(ctx, &f); err != nil {
		return nil, err
	}
	q := &query{}
	q.add("seq > ?", f.After)
	if f.Before > 0 {
		q.add("seq < ?", f.Before)
	}
	if !f.From.IsZero() {
		q.add("at_us >= ?", f.From.UnixMicro())
	}
	if !f.To.IsZero() {
		q.add("at_us < ?", f.To.UnixMicro())
	}
	q.outcome(f.Outcome)
	if f.Degraded {
		q.indexed = true
		q.add(notable)
		q.add("(instr(body, ?) > 0 OR instr(body, ?) > 0)",
			member("situation", core.SituationFallback.String()), member("situation", core.SituationRerouted.String()))
	}
	q.has("use_case", f.UseCase)
	q.has("audience", f.Audience)
	q.has("answered_by", f.Target)
	q.has("revision", f.Revision)
	q.has("caller_key", f.KeyID)
	return q, db.text(ctx, q, f.Query)
}

// text adds the search for a piece of text. A whole id is looked up instead:
// pasting one is the commonest search, and it must not walk the table.
func (db *DB) text(ctx context.Context, q *query, text string) error {
	if text == "" {
		return nil
	}
	var seq int64
	err := db.readers.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM events WHERE kind = 'decision' AND id = ?", text).Scan(&seq)
	if err != nil {
		return err
	}
	if seq > 0 {
		q.add("seq = ?", seq)
		return nil
	}
	like := "%" + likeEscape(text) + "%"
	q.add(`(id LIKE ? ESCAPE '\' OR body ->> '$.facts.model' LIKE ? ESCAPE '\'
		OR body ->> '$.answer_model' LIKE ? ESCAPE '\' OR body ->> '$.tags' LIKE ? ESCAPE '\')`, like, like, like, like)
	return nil
}

func (q *query) outcome(outcome string) {
	answered := `{"` + member("outcome", core.KindNone.String())
	switch outcome {
	case "":
	case core.KindNone.String():
		q.add("substr(body, 1, ?) = ?", len(answered), answered)
	case "failed":
		q.indexed = true
		q.add(notable)
		q.add("substr(body, 1, ?) <> ?", len(answered), answered)
	default:
		q.indexed = true
		q.add(notable)
		q.has("outcome", outcome)
	}
}

// span narrows a search in time to sequence numbers, because times have no
// index. Rows are in the order in which requests ended, and their times are when
// those arrived: so a binary search is off by a request's length at most, and
// the exact comparison is left to the query.
func (db *DB) span(ctx context.Context, f *audit.Filter) error {
	if !f.From.IsZero() {
		seq, err := db.seqAt(ctx, f.From.Add(-longestRequest))
		if err != nil {
			return err
		}
		f.After = max(f.After, seq-1)
	}
	if !f.To.IsZero() {
		seq, err := db.seqAt(ctx, f.To.Add(longestRequest))
		if err != nil {
			return err
		}
		if f.Before == 0 || seq < f.Before {
			f.Before = seq
		}
	}
	return nil
}

// seqAt returns a sequence number whose time is not before t while that of the
// one before it is; one past the last if there is none.
func (db *DB) seqAt(ctx context.Context, t time.Time) (int64, error) {
	var low, high int64 // the answer lies in low..high
	err := db.readers.QueryRowContext(ctx,
		"SELECT (SELECT coalesce(min(seq), 1) FROM events), (SELECT coalesce(max(seq), 0) FROM events) + 1").Scan(&low, &high)
	for err == nil && low < high {
		middle := low + (high-low)/2
		var at int64
		err = db.readers.QueryRowContext(ctx, "SELECT at_us FROM events WHERE seq >= ? ORDER BY seq LIMIT 1", middle).Scan(&at)
		if at < t.UnixMicro() {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, err
}

func limitOf(n int) int {
	if n <= 0 {
		return defaultLimit
	}
	return min(n, maxLimit)
}

// likeEscape makes a search text match literally.
func likeEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}
