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

// vocabulary holds the terms that inputs and answers are made of, so that they
// are made once and not for every request. It is immutable once filled.
type vocabulary struct {
	words   map[string]*ast.Term
	noNeeds *ast.Term
}

func newVocabulary(c *core.Catalog, more ...string) *vocabulary {
	v := &vocabulary{words: map[string]*ast.Term{}, noNeeds: object(needsPairs(core.Needs{})...)}
	v.learn("request", "use_case", "task", "priority", "audience", "quality", "latency_budget_ms", "input_tokens",
		"max_tokens", "stream", "model", "target", "tenant_class", "needs", "drill", "force_fallback", "language",
		"affinity_target", "")
	v.learn("ranked", "excluded", "scores", "preferred", "no_target", "limits", "pause_before_vendor_switch_ms",
		"allow_continuation", "allow_hedge", "max_hops", "max_attempts", "total_ms", "first_content_ms", "next_content_ms", "idle_ms")
	for _, t := range core.Tasks() {
		v.learn(string(t))
	}
	for _, a := range core.Audiences() {
		v.learn(string(a))
	}
	for _, q := range core.Qualities() {
		v.learn(string(q))
	}
	for i := range c.Targets {
		v.learn(c.Targets[i].ID, c.Targets[i].Model)
	}
	v.learn(core.Languages()...)
	v.learn(more...)
	return v
}

func (v *vocabulary) learn(words ...string) {
	for _, w := range words {
		v.words[w] = ast.StringTerm(w)
	}
}

// word is the term of a text: a shared one if it is known. A nil vocabulary
// knows none.
func (v *vocabulary) word(s string) *ast.Term {
	if v != nil {
		if t := v.words[s]; t != nil {
			return t
		}
	}
	return ast.StringTerm(s)
}

// facts is the input of routing.
func (v *vocabulary) facts(f *core.Facts) *ast.Term {
	needs := v.noNeeds
	if f.Needs != (core.Needs{}) {
		needs = object(needsPairs(f.Needs)...)
	}
	w := v.word
	return object(pair{w("request"), object(
		pair{w("use_case"), w(f.UseCase)},
		pair{w("task"), w(string(f.Task))},
		pair{w("priority"), ast.IntNumberTerm(f.Priority)},
		pair{w("audience"), w(string(f.Audience))},
		pair{w("quality"), w(string(f.Quality))},
		pair{w("latency_budget_ms"), ast.IntNumberTerm(f.LatencyBudgetMS)},
		pair{w("input_tokens"), ast.IntNumberTerm(f.InputTokens)},
		pair{w("max_tokens"), ast.IntNumberTerm(f.MaxTokens)},
		pair{w("stream"), ast.InternedTerm(f.Stream)},
		pair{w("model"), w(f.Model)},
		pair{w("target"), w(f.Target)},
		pair{w("tenant_class"), w(f.TenantClass)},
		pair{w("needs"), needs},
		pair{w("drill"), ast.InternedTerm(f.Drill)},
		pair{w("force_fallback"), ast.InternedTerm(f.ForceFallback)},
		pair{w("language"), w(f.Language)},
		pair{w("affinity_target"), w(f.AffinityTarget)},
	)})
}
