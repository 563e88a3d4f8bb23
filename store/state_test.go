package store_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/limit"
)

func TestState_SurvivesRestart(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	db := open(t, cfg)
	at := noon().Truncate(time.Microsecond)
	later := at.Add(time.Hour)
	for _, ev := range []core.Event{
		&core.Transition{At: at, Target: "t1", UseCase: "assistant", To: circuit.Open, Cause: "overloaded", Until: later, Opens: 2},
		&core.Transition{At: at, Target: "t2", UseCase: "assistant", To: circuit.Open, Cause: "connect", Until: later, Opens: 1},
		&core.Transition{At: at, Target: "t2", UseCase: "assistant", From: circuit.HalfOpen, To: circuit.Closed, Cause: "probes"},
		&core.Transition{At: at, Target: "t3", UseCase: "batch", From: circuit.Open, To: circuit.HalfOpen, Cause: "time", Opens: 1},
		&core.Cooldown{At: at, QuotaGroup: "q1", Key: "k1", Until: later},
		&core.Cooldown{At: at, QuotaGroup: "q1", Key: "k1", Until: at.Add(time.Second)}, // the later end wins
		&core.Cooldown{At: at, QuotaGroup: "q2", Key: "k1", Until: at},                  // over
		&core.BudgetSample{At: at, Target: "t1", UseCase: "batch", Tokens: 500, Capacity: 500},
		&core.BudgetSample{At: at, Target: "t1", UseCase: "batch", Tokens: 12.75, Capacity: 500},
		spendSample(at.AddDate(0, -1, 0)), // over
		spendSample(at),
		&core.SpendSample{At: at, Scope: limit.ScopeUseCase, ID: "k1", Spent: limit.Spent{Day: at, Month: at, DayPico: 7}},
		&core.KeyState{At: at, Provider: "p1", Key: "k1", Kind: core.KindBilling, By: "vendor"},
		&core.KeyState{At: at, Provider: "p1", Key: "k2", Kind: core.KindAuthProvider, By: "vendor"},
		&core.KeyState{At: at, Provider: "p1", Key: "k2", Usable: true, By: "ann"},
		&core.Override{At: at, Target: "t1", Hold: circuit.HoldOpen, By: "ann", Reason: "vendor page", Until: later},
		&core.Override{At: at, Target: "t2", UseCase: "batch", Hold: circuit.HoldClosed, By: "ann", Until: later},
		&core.Override{At: at, Target: "t2", UseCase: "batch", Hold: circuit.HoldNone, By: "ann"},
		&core.Override{At: at, Target: "t3", Hold: circuit.HoldClosed, By: "ann", Until: at.Add(-time.Second)},  // nobody recorded its end
		&core.Override{At: at, Target: "t1", UseCase: "batch", Hold: circuit.HoldNone, By: "ann", Until: later}, // inside the wider one
	} {
		db.Record(ev)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, cfg).LoadState(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := core.State{
		Circuits: []core.CircuitState{
			{Target: "t1", UseCase: "assistant", Since: at, Until: later, Cause: "overloaded", Opens: 2},
			{Target: "t3", UseCase: "batch", Since: at, Cause: "time", Opens: 1},
		},
		Cooldowns: []core.CooldownState{{QuotaGroup: "q1", Key: "k1", Until: later}},
		Budgets:   []core.BudgetState{{Target: "t1", UseCase: "batch", Tokens: 12.75}},
		Spends: []core.SpendState{
			{Scope: limit.ScopeKey, ID: "k1", Spent: spendSample(at).Spent},
			{Scope: limit.ScopeUseCase, ID: "k1", Spent: limit.Spent{Day: at, Month: at, DayPico: 7}},
		},
		Keys: []core.KeyState{{At: at, Provider: "p1", Key: "k1", Kind: core.KindBilling, By: "vendor"}},
		Overrides: []core.Override{
			{At: at, Target: "t1", Hold: circuit.HoldOpen, By: "ann", Reason: "vendor page", Until: later},
			{At: at, Target: "t1", UseCase: "batch", Hold: circuit.HoldNone, By: "ann", Until: later},
			{At: at, Target: "t3", Hold: circuit.HoldClosed, By: "ann", Until: at.Add(-time.Second)},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

// spendSample is what a key has spent in the day and month of at.
func spendSample(at time.Time) *core.SpendSample {
	day := at.UTC().Truncate(24 * time.Hour)
	return &core.SpendSample{
		At: at, Scope: limit.ScopeKey, ID: "k1",
		Spent:      limit.Spent{Day: day, Month: day.AddDate(0, 0, 1-day.Day()), DayPico: 3_000_000, MonthPico: 40_000_000},
		DayCapPico: 5_000_000_000, MonthCapPico: 90_000_000_000,
	}
}
