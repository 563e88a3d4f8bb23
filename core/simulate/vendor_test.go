package simulate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/simulate"
)

// lonely is one target whose every call meets one phase; a hundred seconds lie
// between two requests, so that circuits have no rate to judge.
const lonely = `{
  "name": "lonely", "title": "One target", "text": "", "seed": 3, "duration_s": 4000,
  "providers": [{"id": "a", "wire": "anthropic"}],
  "targets": [{"id": "m", "provider": "a", "family": "opus", "context_tokens": 100000,
    "first_content_ms": {"p50": 1000, "p95": 1000}, "ms_per_token": 10}],
  "traffic": [{"use_case": "admin", "rate": [{"from_s": 0, "per_s": 0.01}],
    "mix": [{"input_tokens": 100, "max_tokens": 1000, "output_tokens": 100, "stream": %v}]}],
  "phases": [{"name": "p", "from_s": 0, "to_s": 5000%s}]
}`

func alone(t *testing.T, stream bool, phase string) simulate.Result {
	t.Helper()
	s := parsed(t, fmt.Sprintf(lonely, stream, phase))
	return compare(t, s, simulate.Options{}, simulate.Whole("x", plain(t, s))).Results[0]
}

// TestFailures holds that every kind that a phase can bring arrives in the
// engine as that kind, streamed and not.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, kind := range simulate.FailureKinds() {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v_stream_%v", kind, stream), func(t *testing.T) {
				t.Parallel()
				x := alone(t, stream, fmt.Sprintf(`, "failures": {"%v": 1}`, kind))
				want := kind
				if kind == core.KindTimeoutIdle && !stream {
					want = core.KindTimeoutFirstContent // silence before any content
				}
				if x.Answered != 0 || lostTo(x, want) == 0 {
					t.Errorf("%d of %d answered, losses %+v, want some to %v", x.Answered, x.Requests, x.Losses, want)
				}
			})
		}
	}
}

// lostTo counts the requests lost to one kind.
func lostTo(x simulate.Result, k core.Kind) int {
	for _, l := range x.Losses {
		if l.Kind == k.String() {
			return l.Count
		}
	}
	return 0
}

func TestLatency(t *testing.T) {
	t.Parallel()
	// A first content after a second, and from 50 to 150 tokens of 10 ms each.
	x := alone(t, true, "")
	if x.FirstContentP50MS != 1000 || x.FirstContentP95MS != 1000 || x.P50MS < 1500 || x.P95MS > 2500 || x.Answered != x.Requests {
		t.Errorf("healthy: %s", indented(t, x))
	}
	if x.CostKnown || x.CostUSD != 0 {
		t.Errorf("without a price the cost is %v, known %v", x.CostUSD, x.CostKnown)
	}
	slow := alone(t, true, `, "first_content_factor": 4, "token_factor": 3`)
	if slow.FirstContentP50MS != 4000 || slow.P50MS < 5500 || slow.P50MS > 8500 {
		t.Errorf("slow: %s", indented(t, slow))
	}
	whole := alone(t, false, "")
	if whole.FirstContentP50MS != whole.P50MS {
		t.Errorf("not streamed: first content %v of %v", whole.FirstContentP50MS, whole.P50MS)
	}
	late := alone(t, true, `, "first_content_factor": 40`)
	if late.Answered != 0 || late.Losses[0].Kind != "timeout_first_content" {
		t.Errorf("later than the limit: %s", indented(t, late.Losses))
	}
}

func TestPhase_Shares(t *testing.T) {
	t.Parallel()
	s := parsed(t, fmt.Sprintf(lonely, false, `, "failures": {"invalid_request": 0.25}`))
	s.Traffic[0].Rate[0].PerS = 1
	x := compare(t, s, simulate.Options{}, simulate.Whole("x", plain(t, s))).Results[0]
	if share := float64(x.Failed) / float64(x.Requests); share < 0.22 || share > 0.28 || x.Refused != 0 {
		t.Errorf("%.3f of the calls failed, want about a quarter; %+v", share, x.Losses)
	}
}

func TestPhase_Choice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, choice string
		hit          bool
	}{
		{"provider", `"provider": "anthropic"`, true},
		{"other_provider", `"provider": "openai"`, false},
		{"target", `"target": "claude-opus-5-5"`, true},
		{"key", `"key": "one"`, true},
		{"other_key", `"key": "two"`, true},
		{"node", `"node": "us"`, true},
		{"later", `"provider": "anthropic", "from_s": 41`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := changed(t, `"from_s": 5, "to_s": 30, "provider": "anthropic", "region": "us", "failures": {"connect": 0.5, "timeout_connect": 0.5}`,
				`"to_s": 50, "failures": {"invalid_request": 1}, `+c.choice)
			// So few that no target is at its concurrency limit, which moves requests on.
			text = strings.NewReplacer(`"per_s": 15}`, `"per_s": 2}`, `"per_s": 5}],`, `"per_s": 0.5}],`).Replace(text)
			s := parsed(t, text)
			s.Phases = s.Phases[:1]
			// The keys share the traffic; the first target is used as long as it works.
			x := compare(t, s, simulate.Options{}, simulate.Whole("x", plain(t, s))).Results[0]
			if hit := lostTo(x, core.KindInvalidRequest) > 0; hit != c.hit {
				t.Errorf("hit %v, want %v; losses %+v", hit, c.hit, x.Losses)
			}
		})
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	limit := func(kind string) simulate.Result {
		s := parsed(t, fmt.Sprintf(lonely, false, fmt.Sprintf(`, "limit": {"calls": 2, "per_s": 100, "kind": %q}`, kind)))
		s.Traffic[0].Rate[0].PerS = 0.2
		return compare(t, s, simulate.Options{}, simulate.Whole("x", plain(t, s))).Results[0]
	}
	x := limit("rate_limited")
	// Forty windows of two calls each; the rest cools down or waits.
	if x.Answered < 70 || x.Answered > 82 || x.Refused == 0 {
		t.Errorf("%d answered, %d refused of %d", x.Answered, x.Refused, x.Requests)
	}
	if len(x.Circuits) != 0 {
		t.Error("a 429 opened a circuit")
	}
	if x := limit("overloaded"); x.Answered > 82 || len(x.Circuits) == 0 {
		t.Errorf("%d answered, circuits %+v", x.Answered, x.Circuits)
	}
}

func TestPatience(t *testing.T) {
	t.Parallel()
	s := parsed(t, fmt.Sprintf(lonely, true, `, "first_content_factor": 20`))
	s.Traffic[0].PatienceS = 5
	x := compare(t, s, simulate.Options{}, simulate.Whole("x", plain(t, s))).Results[0]
	if x.Answered != 0 || len(x.Losses) != 1 || x.Losses[0].Kind != "caller_gone" || len(x.Circuits) != 0 {
		t.Errorf("callers who leave: %d answered, losses %+v, circuits %+v", x.Answered, x.Losses, x.Circuits)
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	s := parsed(t, fmt.Sprintf(lonely, true, ""))
	s.Traffic[0].Rate = []simulate.Rate{{FromS: 1000, PerS: 2}, {FromS: 2000, PerS: 0}, {FromS: 3000, PerS: 1}}
	x := compare(t, s, simulate.Options{}, simulate.Whole("x", plain(t, s))).Results[0]
	in := func(from, to int) int {
		n := 0
		for _, b := range x.Series[from:to] {
			n += b.Requests
		}
		return n
	}
	// Poisson counts: 2000 ± 45 and 1000 ± 32, held to four of these.
	if in(0, 25) != 0 || in(50, 75) != 0 || in(25, 50) < 1820 || in(25, 50) > 2180 || in(75, 100) < 870 || in(75, 100) > 1130 {
		t.Errorf("requests by quarter: %d, %d, %d, %d", in(0, 25), in(25, 50), in(50, 75), in(75, 100))
	}
}
