package simulate_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/simulate"
)

// Two vendors of which one is down for half of the time, and the engine's
// figures with and without circuits.
func ExampleCompare() {
	scenario, err := simulate.Parse([]byte(`{
	  "name": "half", "title": "One vendor is down for half of the time", "text": "", "seed": 1, "duration_s": 120,
	  "providers": [{"id": "anthropic", "wire": "anthropic"}, {"id": "openai", "wire": "openai"}],
	  "targets": [
	    {"id": "opus", "provider": "anthropic", "family": "opus", "context_tokens": 200000,
	     "first_content_ms": {"p50": 800, "p95": 2000}, "ms_per_token": 10},
	    {"id": "sol", "provider": "openai", "family": "sol", "context_tokens": 200000,
	     "first_content_ms": {"p50": 600, "p95": 1500}, "ms_per_token": 10}],
	  "traffic": [{"use_case": "assistant", "rate": [{"from_s": 0, "per_s": 10}],
	    "mix": [{"input_tokens": 1000, "max_tokens": 500, "output_tokens": 100, "stream": true}]}],
	  "phases": [{"name": "down", "from_s": 60, "to_s": 120, "provider": "anthropic", "failures": {"overloaded": 1}}]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	catalog, err := scenario.Catalog()
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := simulate.Compare(context.Background(), scenario, []simulate.Contender{
		simulate.Whole("with circuits", core.DefaultRevision(catalog)),
		simulate.BudgetOnly(core.DefaultRevision(catalog)),
	}, simulate.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Results {
		fmt.Printf("%s: availability %.0f %%, amplification %.1f\n", r.Name, r.AvailabilityPercent, r.Amplification)
	}
	// Output:
	// with circuits: availability 100 %, amplification 1.0
	// budget only: availability 100 %, amplification 1.5
}

// A misspelt scenario is refused with the place.
func ExampleParse() {
	_, err := simulate.Parse([]byte(`{"name": "x", "phases": [{"failures": {"overlaoded": 0.5}}]}`))
	fmt.Println(err)
	// Output:
	// read scenario: phases[0].failures.overlaoded: read failure kind: "overlaoded" is not one: unusable scenario
}

// What the retry budgets do in one and the same outage (R5.4).
func ExampleWriteRetryBudgetTable() {
	if err := simulate.WriteRetryBudgetTable(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	//           calls  retries  denied  amplification  loss %
	// naive      2231      731       0           1.49     7.4
	// jitter     2235      735       0           1.49     5.2
	// 200/0.1    1731      231     240           1.15    18.7
	// 400/0.2    1974      474     154           1.32    14.9
	// 500/0.25   2115      615      66           1.41     9.3
	// 600/0.3    2235      735       0           1.49     5.2
}

// Tasks take turns: an hour passes at once, in an order that repeats itself.
func ExampleClock() {
	clock := simulate.NewClock(time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC))
	for _, minutes := range []time.Duration{60, 20} {
		clock.Go(func() {
			if err := clock.Sleep(context.Background(), minutes*time.Minute); err != nil {
				fmt.Println(err)
			}
			fmt.Println(clock.Wall().Format(time.TimeOnly))
		})
	}
	clock.Run(func() bool { return false })
	clock.Stop()
	// Output:
	// 09:20:00
	// 10:00:00
}
