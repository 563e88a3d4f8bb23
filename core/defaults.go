package core

import (
	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/retry"
)

// DefaultUseCases are the use cases that Spillway ships with.
func DefaultUseCases() []string { return []string{"assistant", "batch", "admin", "payments", "static"} }

// DefaultTables are the shipped figures over a catalog. They equal what the
// shipped policies tabulate to, and a test in core/policy holds that.
func DefaultTables(c *Catalog) *Tables {
	t := &Tables{}
	for _, id := range DefaultUseCases() {
		t.UseCases = append(t.UseCases, UseCase{ID: id})
		cs, bs := defaultCircuit(id), defaultBudget(id)
		circuits, budgets := make([]circuit.Settings, len(c.Targets)), make([]retry.BudgetSettings, len(c.Targets))
		for i := range c.Targets {
			circuits[i], budgets[i] = cs, bs
			if c.Targets[i].Standby() {
				circuits[i] = standbyCircuit(cs)
			}
		}
		t.Circuits, t.Budgets = append(t.Circuits, circuits), append(t.Budgets, budgets)
		t.Reactions = append(t.Reactions, defaultReactions(id))
		t.Tiers = append(t.Tiers, defaultTiers(id))
		t.Disclosures = append(t.Disclosures, defaultDisclosures())
	}
	t.defaultLimits(c)
	return t
}

// defaultCircuit is R1.5.
func defaultCircuit(useCase string) circuit.Settings {
	s := circuit.DefaultSettings()
	switch useCase {
	case "assistant":
		s.FailureThreshold, s.WindowMS = 7, 30_000
	case "batch":
		s.FailureThreshold, s.OpenForMS = 3, 120_000
	case "admin":
		s.FailureThreshold, s.OpenForMS = 10, 60_000
	}
	return s
}

// standbyCircuit is slower to give up than the use case's own, because nothing
// but the outage path is left after it (R1.7).
func standbyCircuit(s circuit.Settings) circuit.Settings {
	s.FailureThreshold, s.WindowMS, s.MinCalls, s.OpenForMS = 10, 60_000, 20, 60_000
	return s
}

// defaultBudget is R5.3.
func defaultBudget(useCase string) retry.BudgetSettings {
	switch useCase {
	case "payments":
		return retry.BudgetSettings{Capacity: 200, Refund: 0.1}
	case "assistant":
		return retry.BudgetSettings{Capacity: 600, Refund: 0.3}
	}
	return retry.DefaultBudget()
}

// defaultReactions is R3.2 and R4 for one use case. After first content nothing
// is retried and no other target is tried.
func defaultReactions(useCase string) [KindCount][2][2]Reaction {
	var out [KindCount][2][2]Reaction
	for k := range KindCount {
		for repeated := range 2 {
			out[k][repeated][0] = defaultReaction(useCase, k)
			out[k][repeated][1] = Reaction{Next: NextNone, Schedule: ScheduleExponential, BaseMS: 1000, MaxMS: 60_000}
		}
	}
	return out
}

func defaultReaction(useCase string, k Kind) Reaction {
	r := Reaction{Schedule: ScheduleExponential, BaseMS: 1000, MaxMS: 60_000, Next: NextNone}
	batch := useCase == "batch"
	transient := 0
	if batch {
		transient = 2
	}
	switch k {
	case KindConnect, KindTimeoutConnect:
		r.Retries, r.Schedule, r.Next = max(transient, 1), ScheduleConnect, NextOtherVendor
	case KindTimeoutFirstContent, KindTimeoutIdle:
		r.Retries, r.Next = transient, NextOtherVendor
	case KindOverloaded:
		r.Retries, r.Schedule, r.Next = transient, ScheduleOverloaded, NextOtherVendor
	case KindServerError, KindStreamCut, KindStreamError, KindBadResponse, KindConflict:
		r.Retries, r.Next = transient, NextAny
	case KindRateLimited:
		r.Retries, r.MaxInlineWaitMS = 1, 5_000
		if batch {
			r.MaxInlineWaitMS = 60_000
		}
		return r
	case KindAuthProvider, KindBilling, KindQuotaExhausted, KindNotPortable, KindOpenCircuit, KindCoolingDown, KindBudgetEmpty, KindLimitLocal:
		r.Next = NextAny
		return r
	default:
		return r
	}
	if batch {
		r.PauseMS = 30_000
	}
	return r
}

// defaultTiers is R10.1.
func defaultTiers(useCase string) [LevelCount]Tier {
	t := Tier{Name: "refuse", RTOSeconds: 900, RPOSeconds: -1, Outage: OutageRefuse}
	switch useCase {
	case "payments":
		t = Tier{Name: "payments", RTOSeconds: 300, Outage: OutageQueue, QueueBelow: 7}
	case "batch":
		t = Tier{Name: "batch", RTOSeconds: 3600, RPOSeconds: 3600, Outage: OutageQueue, QueueBelow: 7}
	case "assistant":
		t = Tier{Name: "free_chat", RTOSeconds: 900, RPOSeconds: -1, Outage: OutageGraceful}
	case "static":
		t = Tier{Name: "static", RTOSeconds: 30, Outage: OutageStatic}
	}
	return [LevelCount]Tier{t, t, t}
}

// defaultDisclosures tells each audience what R11.1 allows it, without texts:
// those are policy data.
func defaultDisclosures() [3][SituationCount][2]Disclosure {
	var out [3][SituationCount][2]Disclosure
	for a, detail := range []Detail{DetailNone, DetailTarget, DetailAdmin} {
		for s := range SituationCount {
			out[a][s] = [2]Disclosure{{Detail: detail}, {Detail: detail}}
		}
	}
	return out
}
