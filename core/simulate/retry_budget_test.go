package simulate_test

import (
	"fmt"
	"testing"

	"github.com/spillway-llm/spillway/core/simulate"
)

// TestRetryBudgetTable holds R5.4's six rows.
func TestRetryBudgetTable(t *testing.T) {
	t.Parallel()
	want := []string{
		"naive 2231, 731, 0, 1.49, 7.4 %",
		"jitter 2235, 735, 0, 1.49, 5.2 %",
		"200/0.1 1731, 231, 240, 1.15, 18.7 %",
		"400/0.2 1974, 474, 154, 1.32, 14.9 %",
		"500/0.25 2115, 615, 66, 1.41, 9.3 %",
		"600/0.3 2235, 735, 0, 1.49, 5.2 %",
	}
	rows := simulate.RetryBudgetTable()
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(rows), len(want))
	}
	for i, r := range rows {
		got := fmt.Sprintf("%s %d, %d, %d, %.2f, %.1f %%", r.Name, r.Calls, r.Retries, r.Denied, r.Amplification(), r.LossPercent())
		if got != want[i] {
			t.Errorf("got  %s\nwant %s", got, want[i])
		}
	}
}
