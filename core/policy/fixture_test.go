package policy_test

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/policy"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/policies"
)

// catalog has eight targets at two vendors.
func catalog(t testing.TB) *core.Catalog {
	t.Helper()
	all := core.Needs{Tools: true, Images: true, Documents: true, JSONSchema: true, Thinking: true, Prefill: true}
	some := core.Needs{Tools: true, JSONSchema: true}
	target := func(id, provider, family string, context int, usd float64, able core.Needs) core.Target {
		return core.Target{
			ID: id, Provider: provider, Model: "model-" + id, Family: family, ContextTokens: context, Capabilities: able,
			Price: price.Table{Input: price.PerMillion(usd), Output: price.PerMillion(5 * usd), AsOf: "2026-11-01"},
		}
	}
	c, err := core.NewCatalog(
		[]core.Provider{
			{ID: "anthropic", Wire: core.WireAnthropic, Vendor: "anthropic", Nodes: []core.Node{{ID: "a", BaseURL: "http://a"}}},
			{ID: "openai", Wire: core.WireOpenAI, Vendor: "openai", Nodes: []core.Node{{ID: "o", BaseURL: "http://o"}}},
		},
		[]core.Target{
			target("opus", "anthropic", "opus", 200_000, 15, all), target("sonnet", "anthropic", "sonnet", 200_000, 3, all),
			target("haiku", "anthropic", "haiku", 200_000, 1, all), target("sol", "openai", "gpt-sol", 400_000, 10, some),
			target("luna", "openai", "gpt-luna", 128_000, 0.25, some), target("terra", "openai", "haiku", 16_000, 0.075, some),
			target("opus-eu", "anthropic", "opus", 200_000, 16.5, all), target("sonnet-eu", "anthropic", "sonnet", 1_000_000, 3.3, all),
		})
	if err != nil {
		t.Fatal(err)
	}
	c.Targets[6].Price = price.Table{} // unknown, which is not free
	return c
}

// snapshot is a healthy picture.
func snapshot(c *core.Catalog, useCases []core.UseCase) *core.Snapshot {
	s := &core.Snapshot{Epoch: 1, Time: time.Date(2026, 11, 30, 9, 15, 0, 0, time.UTC), Catalog: c, Revision: "r"}
	for _, u := range useCases {
		s.UseCases, s.Levels = append(s.UseCases, u.ID), append(s.Levels, core.Healthy)
	}
	for range c.Targets {
		s.Targets = append(s.Targets, core.Live{
			SuccessPermille: 1000, P95MS: 1200, FirstContentP95MS: 700, Healthy: true,
			Circuits: make([]core.CircuitLive, len(useCases)),
		})
	}
	return s
}

// shaken is a picture with random figures and holds.
func shaken(r *rand.Rand, c *core.Catalog, useCases []core.UseCase, epoch uint64) *core.Snapshot {
	s := snapshot(c, useCases)
	s.Epoch = epoch
	for i := range s.Targets {
		l := &s.Targets[i]
		l.SuccessPermille = 1000 - r.IntN(4)*r.IntN(200)
		l.P95MS, l.FirstContentP95MS = core.RoundUp2(200+r.IntN(9000)), core.RoundUp2(100+r.IntN(4000))
		l.CoolingDown, l.Healthy = r.IntN(8) == 0, r.IntN(10) > 0
		for u := range l.Circuits {
			l.Circuits[u].State = circuit.State(r.IntN(8) % 3)
			l.Circuits[u].BudgetPermille = r.IntN(1001)
		}
	}
	return s
}

// ask is a request like most.
func ask() core.Facts {
	return core.Facts{
		UseCase: "assistant", Task: core.TaskCode, Priority: 5, Audience: core.AudiencePaid, Quality: core.QualityBalanced,
		LatencyBudgetMS: 5000, InputTokens: 2000, MaxTokens: 1000, TenantClass: "paid", Language: "en",
	}
}

// asked is a random request.
func asked(r *rand.Rand, c *core.Catalog) core.Facts {
	f := ask()
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	f.UseCase = pick("assistant", "batch", "admin", "payments", "static")
	f.Task = core.Tasks()[r.IntN(4)]
	f.Quality = core.Qualities()[r.IntN(3)]
	f.LatencyBudgetMS = []int{1000, 2000, 5000, 10_000, 60_000, 120_000}[r.IntN(6)]
	f.InputTokens = core.RoundUp2([]int{0, r.IntN(300), r.IntN(9000), r.IntN(190_000), r.IntN(1_200_000)}[r.IntN(5)])
	f.MaxTokens = core.RoundUp2(r.IntN(20_000))
	f.Stream = r.IntN(2) == 0
	f.Needs = core.Needs{Tools: r.IntN(4) == 0, Images: r.IntN(6) == 0, Prefill: r.IntN(12) == 0, Thinking: r.IntN(12) == 0}
	f.Drill, f.ForceFallback = r.IntN(12) == 0, r.IntN(12) == 0
	if r.IntN(3) == 0 {
		f.AffinityTarget = pick(c.Targets[r.IntN(8)].ID, "gone")
	}
	if r.IntN(4) == 0 {
		f.Target = c.Targets[r.IntN(8)].ID
		f.Model = "model-" + f.Target
	}
	return f
}

// build builds the shipped files with changes: a file's new text, or "" to leave
// it out. Steps alone bound evaluations unless a test brings a clock.
func build(t testing.TB, opts policy.Options, changes map[string]string) (*policy.Policy, policy.Problems) {
	t.Helper()
	if opts.Now == nil {
		opts.Deadline = -1
	}
	return policy.Build(files(changes), catalog(t), opts)
}

func files(changes map[string]string) policy.Files {
	f := policy.Files(policies.Files())
	maps.Copy(f, changes)
	maps.DeleteFunc(f, func(_, text string) bool { return text == "" })
	return f
}

// edited is a shipped file with one text replaced by another.
func edited(t testing.TB, file, old, new string) map[string]string {
	t.Helper()
	text := policies.Files()[file]
	if !strings.Contains(text, old) {
		t.Fatalf("%s has no %q", file, old)
	}
	return map[string]string{file: strings.Replace(text, old, new, 1)}
}

// shipped is the policy as shipped.
func shipped(t testing.TB, opts policy.Options) *policy.Policy {
	t.Helper()
	p, ps := build(t, opts, nil)
	if ps.Failed() {
		t.Fatal(ps)
	}
	return p
}
