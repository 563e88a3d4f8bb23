package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/console/locale"
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/audit"
)

func TestChain(t *testing.T) {
	t.Parallel()
	p := page{Printer: locale.For("en")}
	at := func(n, step int, target, kind string) audit.Attempt {
		return audit.Attempt{Number: n, Step: step, Target: target, Kind: kind}
	}
	skip := func(step int, target, kind string) audit.Skip {
		return audit.Skip{Step: step, Target: target, Kind: kind}
	}
	for _, tc := range []struct {
		name string
		d    audit.Decision
		want string
	}{
		{"nothing", audit.Decision{}, ""},
		{"answered", audit.Decision{Attempts: []audit.Attempt{at(1, 0, "a", "none")}}, "a ok"},
		{"retried", audit.Decision{Attempts: []audit.Attempt{at(1, 0, "a", "overloaded"), at(2, 0, "a", "overloaded"), at(3, 0, "a", "none")}}, "a overloaded ×2 > a ok"},
		{"skip_before_attempt", audit.Decision{Attempts: []audit.Attempt{at(1, 1, "b", "none")}, Skips: []audit.Skip{skip(0, "a", "open_circuit")}}, "a skipped: circuit open > b ok"},
		{"skip_between", audit.Decision{
			Attempts: []audit.Attempt{at(1, 0, "a", "connect"), at(2, 2, "c", "none")}, Skips: []audit.Skip{skip(1, "b", "not_portable")},
		}, "a no connection > b skipped: not portable > c ok"},
		{"back_to_the_first", audit.Decision{Attempts: []audit.Attempt{at(1, 0, "a", "connect"), at(2, 1, "b", "connect")}, Skips: []audit.Skip{skip(1, "b", "budget_empty")}}, "a no connection > b skipped: retry budget empty > b no connection"},
	} {
		var got []string
		for _, l := range chain(&tc.d) {
			got = append(got, l.Target+" "+p.word(l))
		}
		if s := strings.Join(got, " > "); s != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, s, tc.want)
		}
	}
}

func TestBar_StaysInside(t *testing.T) {
	t.Parallel()
	for _, a := range []audit.Attempt{
		{}, {StartMS: 0, DurationMS: 1000, FirstMS: 400}, {StartMS: 999, DurationMS: 1}, {StartMS: 5000, DurationMS: 9}, {StartMS: -5, DurationMS: 3},
		{StartMS: 100, FirstMS: 900, DurationMS: 200},
	} {
		for _, whole := range []time.Duration{0, time.Second, time.Hour} {
			from, content, to := bar(&a, whole)
			if from < 0 || from >= to || to > 1000 || content < from || content > to {
				t.Errorf("%+v in %v: %d, %d, %d", a, whole, from, content, to)
			}
		}
	}
}

func TestTrace_NamesEveryTarget(t *testing.T) {
	t.Parallel()
	p := page{Printer: locale.For("en")}
	plan := planDocument{
		Steps:    []core.Step{{Target: "a"}, {Target: "b"}, {Target: "c"}},
		Excluded: []core.Exclusion{{Target: "d", Reasons: []string{"open_circuit"}}, {Target: "b"}},
	}
	for _, tc := range []struct {
		name    string
		outcome string
		want    string
	}{
		{"answered", "none", "a failed, b skipped, c unused (not needed: an earlier step answered), d excluded (open_circuit)"},
		{"caller_left", "caller_gone", "a failed, b skipped, c unused (not reached: the caller had left), d excluded (open_circuit)"},
		{"gave_up", "rate_limited", "a failed, b skipped, c unused (not reached: the request ended (429 rate limited)), d excluded (open_circuit)"},
	} {
		d := audit.Detail{Decision: audit.Decision{
			Outcome: tc.outcome, Attempts: []audit.Attempt{{Number: 1, Step: 0, Target: "a", Kind: "overloaded"}}, Skips: []audit.Skip{{Step: 1, Target: "b", Kind: "open_circuit"}},
		}}
		var got []string
		for _, s := range trace(p, d, plan) {
			text := s.Target + " " + string(s.Kind)
			if s.Kind == traceUnused || s.Kind == traceExcluded {
				text += fmt.Sprintf(" (%s)", strings.Join(s.Reasons, ", "))
			}
			got = append(got, text)
		}
		if s := strings.Join(got, ", "); s != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, s, tc.want)
		}
	}
}
