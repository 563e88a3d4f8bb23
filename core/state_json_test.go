package core_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// An embedder keeps the state in any store, as JSON (R16.1).
func TestState_JSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 12, 0, 0, 5, time.UTC)
	want := core.State{
		Circuits:  []core.CircuitState{{Target: "t", UseCase: "u", Since: at, Until: at.Add(time.Minute), Cause: "overloaded", Opens: 3}},
		Cooldowns: []core.CooldownState{{QuotaGroup: "g", Key: "k", Until: at}},
		Budgets:   []core.BudgetState{{Target: "t", UseCase: "u", Tokens: 12.25}},
		Keys:      []core.KeyState{{At: at, Provider: "p", Key: "k", Kind: core.KindBilling, By: "vendor"}},
	}
	for _, h := range circuit.Holds() {
		want.Overrides = append(want.Overrides, core.Override{At: at, Target: "t", Hold: h, By: "aki", Reason: "r", Until: at})
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got core.State
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s came back as %+v", b, got)
	}
}
