package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/limit"
)

// The kinds of state rows.
const (
	stateCircuit  = "circuit"
	stateCooldown = "cooldown"
	stateBudget   = "budget"
	stateSpend    = "spend"
	stateKey      = "key"
	stateOverride = "override"
)

// stateBody is what any state row's JSON may hold.
type stateBody struct {
	SinceUS int64     `json:"since_us"`
	UntilUS int64     `json:"until_us"`
	AtUS    int64     `json:"at_us"`
	Cause   string    `json:"cause"`
	Opens   int       `json:"opens"`
	Tokens  float64   `json:"tokens"`
	Kind    core.Kind `json:"kind"`
	Hold    string    `json:"hold"`
	By      string    `json:"by"`
	Reason  string    `json:"reason"`

	DayUS     int64 `json:"day_us"`
	MonthUS   int64 `json:"month_us"`
	DayPico   int64 `json:"day_picousd"`
	MonthPico int64 `json:"month_picousd"`
}

// LoadState returns what an earlier process left: circuits that were not
// closed, cooldowns that still run, budgets, what was spent this month, provider
// keys out of service, and holds, those too whose time ran out meanwhile: nobody
// recorded their end. It is as old as the last written event.
func (db *DB) LoadState(ctx context.Context) (core.State, error) {
	s, err := db.loadState(ctx)
	if err != nil {
		return core.State{}, fmt.Errorf("load state: %w", err)
	}
	return s, nil
}

func (db *DB) loadState(ctx context.Context) (s core.State, err error) {
	rows, err := db.readers.QueryContext(ctx, `SELECT kind, subject, qualifier, body FROM state
		WHERE until_us = 0 OR until_us > ? OR kind = ? ORDER BY kind, subject, qualifier`, db.cfg.Now().UnixMicro(), stateOverride)
	if err != nil {
		return s, err
	}
	defer closeRows(rows, &err)
	for rows.Next() {
		var kind, subject, qualifier, text string
		if err := rows.Scan(&kind, &subject, &qualifier, &text); err != nil {
			return s, err
		}
		var b stateBody
		if err := json.Unmarshal([]byte(text), &b); err != nil {
			return s, fmt.Errorf("%s of %s: %w", kind, subject, err)
		}
		addState(&s, kind, subject, qualifier, &b)
	}
	return s, rows.Err()
}

func addState(s *core.State, kind, subject, qualifier string, b *stateBody) {
	switch kind {
	case stateCircuit:
		s.Circuits = append(s.Circuits, core.CircuitState{
			Target: subject, UseCase: qualifier, Since: fromMicros(b.SinceUS), Until: fromMicros(b.UntilUS),
			Cause: b.Cause, Opens: b.Opens,
		})
	case stateCooldown:
		s.Cooldowns = append(s.Cooldowns, core.CooldownState{QuotaGroup: subject, Key: qualifier, Until: fromMicros(b.UntilUS)})
	case stateBudget:
		s.Budgets = append(s.Budgets, core.BudgetState{Target: subject, UseCase: qualifier, Tokens: b.Tokens})
	case stateSpend:
		s.Spends = append(s.Spends, core.SpendState{Scope: scopeOf(qualifier), ID: subject, Spent: limit.Spent{
			Day: fromMicros(b.DayUS), Month: fromMicros(b.MonthUS), DayPico: b.DayPico, MonthPico: b.MonthPico,
		}})
	case stateKey:
		s.Keys = append(s.Keys, core.KeyState{At: fromMicros(b.AtUS), Provider: subject, Key: qualifier, Kind: b.Kind, By: b.By, Reason: b.Reason})
	case stateOverride:
		s.Overrides = append(s.Overrides, core.Override{
			At: fromMicros(b.AtUS), Target: subject, UseCase: qualifier, Hold: holdOf(b.Hold),
			By: b.By, Reason: b.Reason, Until: fromMicros(b.UntilUS),
		})
	}
}

func scopeOf(name string) limit.Scope {
	for _, s := range []limit.Scope{limit.ScopeKey, limit.ScopeUseCase} {
		if s.String() == name {
			return s
		}
	}
	return limit.ScopeNone
}

func holdOf(name string) circuit.Hold {
	for _, h := range circuit.Holds() {
		if h.String() == name {
			return h
		}
	}
	return circuit.HoldNone
}

// closer is a result set.
type closer interface{ Close() error }

// closeRows closes a result set and keeps the first error.
func closeRows(c closer, err *error) {
	if closeErr := c.Close(); *err == nil {
		*err = closeErr
	}
}
