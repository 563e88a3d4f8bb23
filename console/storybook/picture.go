package storybook

import (
	"strings"
	"time"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/price"
)

// revision is the engine's acting revision: three use cases over two simulated vendors.
func revision() *core.Revision {
	var providers []core.Provider
	for _, w := range []core.Wire{core.WireAnthropic, core.WireOpenAI} {
		providers = append(providers, core.Provider{
			ID: string(w), Wire: w, Vendor: string(w), Simulated: true,
			Keys: []core.Key{{ID: "main"}}, Nodes: []core.Node{{ID: "eu-1", BaseURL: "http://127.0.0.1:1"}},
		})
	}
	var targets []core.Target
	for _, t := range [][2]string{
		{"claude-opus-5-5", "anthropic"}, {"claude-sonnet-5", "anthropic"}, {"claude-haiku-5-5", "anthropic"},
		{"gpt-6-sol", "openai"}, {"gpt-6-luna", "openai"},
	} {
		targets = append(targets, core.Target{
			ID: t[0], Provider: t[1], Model: t[0], ContextTokens: 200_000,
			Price: price.Table{Input: price.PerMillion(3), Output: price.PerMillion(15), AsOf: "2026-11-01"},
		})
	}
	targets[len(targets)-1].Price = price.Table{} // one that nobody priced
	cat, err := core.NewCatalog(providers, targets)
	if err != nil {
		panic(err) // the data above are constant
	}
	useCases := []core.UseCase{{ID: "assistant"}, {ID: "batch"}, {ID: "payments", Targets: []string{"claude-opus-5-5", "gpt-6-sol"}}}
	t := &core.Tables{UseCases: useCases}
	for _, u := range useCases {
		served := make([]bool, len(targets))
		for i := range targets {
			served[i] = len(u.Targets) == 0 || targets[i].ID == u.Targets[0] || targets[i].ID == u.Targets[1]
		}
		t.Served = append(t.Served, served)
	}
	return &core.Revision{ID: strings.Repeat("a91f03c7", 8), Catalog: cat, Tables: t}
}

// Healthy is a picture in which everything works.
func Healthy(rev *core.Revision) *core.Snapshot {
	s := &core.Snapshot{
		Epoch: 1, Time: Now(), Revision: rev.ID, Catalog: rev.Catalog,
		UseCases: []string{"assistant", "batch", "payments"}, Levels: []core.Level{core.Healthy, core.Healthy, core.Healthy},
	}
	for i := range rev.Catalog.Targets {
		l := core.Live{
			SuccessPermille: 1000, P95MS: 1200 + 300*i, FirstContentP95MS: 380 + 40*i, RequestsPerMinute: 60 - 10*i, Healthy: true,
		}
		for range s.UseCases {
			l.Circuits = append(l.Circuits, core.CircuitLive{BudgetPermille: 1000, BudgetTokens: 500})
		}
		s.Targets = append(s.Targets, l)
	}
	return s
}

// Outage is a picture with one target in every state that matters.
func Outage(rev *core.Revision) *core.Snapshot {
	s := Healthy(rev)
	s.Epoch = 2
	s.Levels = []core.Level{core.Degraded, core.Degraded, core.Unhealthy}
	at := Now()
	opus := &s.Targets[0]
	opus.SuccessPermille, opus.P95MS, opus.RequestsPerMinute = 121, 30_000, 31
	for i := range opus.Circuits {
		opus.Circuits[i] = core.CircuitLive{
			State: circuit.Open, Computed: circuit.Open, Since: at.Add(-7 * time.Second), Until: at.Add(23 * time.Second),
			Cause: core.KindOverloaded.String(), BudgetPermille: 82, BudgetTokens: 41,
		}
	}
	sonnet := &s.Targets[1]
	sonnet.CoolingDown, sonnet.CooldownUntil = true, at.Add(17*time.Second)
	haiku := &s.Targets[2]
	haiku.Circuits[1] = core.CircuitLive{
		State: circuit.HalfOpen, Computed: circuit.HalfOpen, Since: at.Add(-2 * time.Second),
		Cause: core.KindTimeoutFirstContent.String(), BudgetPermille: 640, BudgetTokens: 320,
	}
	sol := &s.Targets[3]
	sol.Overridden = true
	sol.Circuits[0].State, sol.Circuits[0].Until = circuit.Open, at.Add(11*time.Minute)
	sol.Circuits[0].Held = &core.Override{
		At: at.Add(-4 * time.Minute), Target: "gpt-6-sol", UseCase: "assistant", Hold: circuit.HoldOpen,
		By: "aki", Reason: "vendor maintenance", Until: at.Add(11 * time.Minute),
	}
	luna := &s.Targets[4]
	luna.RequestsPerMinute, luna.P95MS, luna.FirstContentP95MS = 0, 0, 0
	return s
}

const routing = `# METADATA
# title: Routing
# description: Ranks the targets that can serve a request.
package spillway.routing

import rego.v1

default plan := {"ranked": [], "no_target": "undefined"}

plan := {
	"ranked": ranked,
	"excluded": excluded,
	"scores": scores,
	"preferred": preferred,
}

# One point for every permille of success.
scores[id] := {"success": data.live[id].success_permille * 30} if {
	some id in candidates
}
`

// revisions are three activations, the last of which acts.
func revisions(id string) []console.Revision {
	files := func(weight string) []console.File {
		return []console.File{
			{Name: "circuits.rego", Text: "package spillway.circuits\n\nimport rego.v1\n\nsettings := data.config.circuits[input.use_case]\n"},
			{Name: "config/routing/data.json", Text: "{\n  \"weights\": {\n    \"success\": " + weight + "\n  }\n}\n"},
			{Name: "routing.rego", Text: routing},
		}
	}
	info := func(number int, id, by, reason string, ago time.Duration) console.RevisionInfo {
		return console.RevisionInfo{Number: number, ID: id, At: Now().Add(-ago), By: by, Reason: reason}
	}
	third := info(3, id, "mika", "weigh success higher", 14*time.Minute)
	third.Active = true
	return []console.Revision{
		{RevisionInfo: info(1, strings.Repeat("00c0ffee", 8), "server", "shipped policies", 240*time.Hour), Files: files("25")},
		{RevisionInfo: info(2, strings.Repeat("5eedf00d", 8), Operator, "less weight on latency", 26*time.Hour), Files: files("28")},
		{RevisionInfo: third, Files: files("30")},
	}
}
