package policy

import (
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
)

// The documents below are built as syntax trees by hand, because converting Go
// maps costs more than the policy itself.

type pair = [2]*ast.Term

func field(name string, value *ast.Term) pair  { return pair{ast.StringTerm(name), value} }
func text(name, value string) pair             { return field(name, ast.StringTerm(value)) }
func number(name string, value int) pair       { return field(name, ast.IntNumberTerm(value)) }
func boolean(name string, value bool) pair     { return field(name, ast.InternedTerm(value)) }
func object(pairs ...pair) *ast.Term           { return ast.NewTerm(ast.NewObject(pairs...)) }
func entry(id string, pairs ...pair) pair      { return field(id, object(pairs...)) }
func nested(name string, pairs []pair) pair    { return field(name, object(pairs...)) }
func money(name string, value price.Pico) pair { return number(name, int(value)) }
func level(useCase string, l core.Level) pair  { return text(useCase, l.String()) }

// targetsDocument is data.targets: the static part of what routing reads.
func targetsDocument(c *core.Catalog) *ast.Term {
	targets := make([]pair, 0, len(c.Targets))
	for i := range c.Targets {
		t := &c.Targets[i]
		labels := make([]pair, 0, len(t.Labels))
		for k, v := range t.Labels {
			labels = append(labels, text(k, v))
		}
		targets = append(targets, entry(t.ID,
			number("order", i), text("provider", t.Provider), text("model", t.Model), text("vendor", t.Vendor),
			text("family", t.Family), text("quota_group", t.QuotaGroup), number("context_tokens", t.ContextTokens),
			number("max_output_tokens", t.MaxOutput), number("node_count", len(c.Provider(t).Nodes)),
			nested("capabilities", needsPairs(t.Capabilities)), nested("labels", labels),
			entry("price", money("input", t.Price.Input), money("output", t.Price.Output),
				money("cache_read", t.Price.CacheRead), money("cache_write", t.Price.CacheWrite),
				money("cache_write_1h", t.Price.CacheWrite1h), text("as_of", t.Price.AsOf)),
		))
	}
	return object(targets...)
}

func needsPairs(n core.Needs) []pair {
	return []pair{
		boolean("tools", n.Tools), boolean("images", n.Images), boolean("documents", n.Documents),
		boolean("json_schema", n.JSONSchema), boolean("thinking", n.Thinking), boolean("prefill", n.Prefill),
	}
}

// snapshotPairs are data.live, data.level and data.now.
func snapshotPairs(s *core.Snapshot) []pair {
	live := make([]pair, 0, len(s.Targets))
	for i := range s.Targets {
		l := &s.Targets[i]
		circuits := make([]pair, 0, len(s.UseCases))
		budgets := make([]pair, 0, len(s.UseCases))
		for u, id := range s.UseCases {
			circuits = append(circuits, text(id, l.Circuits[u].State.String()))
			budgets = append(budgets, number(id, l.Circuits[u].BudgetPermille))
		}
		live = append(live, entry(s.Catalog.Targets[i].ID,
			nested("circuit", circuits), nested("budget_permille", budgets),
			number("success_permille", l.SuccessPermille), number("p95_ms", l.P95MS),
			number("first_token_p95_ms", l.FirstContentP95MS), number("requests_per_minute", l.RequestsPerMinute),
			number("in_flight", l.InFlight), boolean("cooling_down", l.CoolingDown),
			boolean("healthy", l.Healthy), boolean("overridden", l.Overridden),
		))
	}
	levels := make([]pair, 0, len(s.UseCases))
	for u, id := range s.UseCases {
		levels = append(levels, level(id, s.Levels[u]))
	}
	return []pair{nested("live", live), nested("level", levels), nested("now", nowPairs(s.Time))}
}

// nowPairs are data.now, in UTC so that a replay elsewhere sees the same.
func nowPairs(t time.Time) []pair {
	t = t.UTC()
	return []pair{
		number("ms", int(t.UnixMilli())), number("hour", t.Hour()), number("minute", t.Minute()),
		text("weekday", strings.ToLower(t.Weekday().String())),
	}
}

// vocabulary holds the keys of a request's facts, made once: building them for
// every request would cost a quarter of its allocations.
type vocabulary struct {
	request, useCase, task, priority, audience, quality, budget, input, output, stream *ast.Term
	model, target, class, needs, drill, forced, language, affinity                     *ast.Term
	noNeeds                                                                            *ast.Term
}

func newVocabulary() *vocabulary {
	t := ast.StringTerm
	return &vocabulary{
		request: t("request"), useCase: t("use_case"), task: t("task"), priority: t("priority"),
		audience: t("audience"), quality: t("quality"), budget: t("latency_budget_ms"), input: t("input_tokens"),
		output: t("max_tokens"), stream: t("stream"), model: t("model"), target: t("target"),
		class: t("tenant_class"), needs: t("needs"), drill: t("drill"), forced: t("force_fallback"),
		language: t("language"), affinity: t("affinity_target"),
		noNeeds: object(needsPairs(core.Needs{})...),
	}
}

// facts is the input of routing.
func (v *vocabulary) facts(f *core.Facts) *ast.Term {
	needs := v.noNeeds
	if f.Needs != (core.Needs{}) {
		needs = object(needsPairs(f.Needs)...)
	}
	return object(pair{v.request, object(
		pair{v.useCase, ast.StringTerm(f.UseCase)},
		pair{v.task, ast.StringTerm(string(f.Task))},
		pair{v.priority, ast.IntNumberTerm(f.Priority)},
		pair{v.audience, ast.StringTerm(string(f.Audience))},
		pair{v.quality, ast.StringTerm(string(f.Quality))},
		pair{v.budget, ast.IntNumberTerm(f.LatencyBudgetMS)},
		pair{v.input, ast.IntNumberTerm(f.InputTokens)},
		pair{v.output, ast.IntNumberTerm(f.MaxTokens)},
		pair{v.stream, ast.InternedTerm(f.Stream)},
		pair{v.model, ast.StringTerm(f.Model)},
		pair{v.target, ast.StringTerm(f.Target)},
		pair{v.class, ast.StringTerm(f.TenantClass)},
		pair{v.needs, needs},
		pair{v.drill, ast.InternedTerm(f.Drill)},
		pair{v.forced, ast.InternedTerm(f.ForceFallback)},
		pair{v.language, ast.StringTerm(f.Language)},
		pair{v.affinity, ast.StringTerm(f.AffinityTarget)},
	)})
}
