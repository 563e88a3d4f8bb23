package policy_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/limit"
	"github.com/spillway-llm/spillway/core/policy"
)

const limitsData = "config/limits/data.json"

// Every refusal names the file, the row and the column.
func TestRefusalsNameTheirPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		changes map[string]string
		want    string // the problem's beginning
		says    string
	}{
		{"syntax", edited(t, "tiers.rego", "tier := object", "tier := := object"), "tiers.rego:12:", "rego_parse_error"},
		{"no package", map[string]string{"tiers.rego": ""}, "tiers.rego:1:1: no_entry_point", "no package spillway.tiers"},
		{"no entry point", edited(t, "tiers.rego", "tier := ", "teer := "), "tiers.rego:4:1: no_entry_point", `no rule "tier"`},
		{"empty file", map[string]string{"x.rego": " "}, "x.rego:1:1: ", "empty"},
		{"other file", map[string]string{"readme.md": "x"}, "readme.md:1:1: file", "neither a module"},
		{"path", map[string]string{"../x.rego": "package spillway.x"}, "../x.rego:1:1: file", "relative path"},
		{"data elsewhere", map[string]string{"config/x/figures.json": "{}"}, "config/x/figures.json:1:1: file", "data.json"},
		{"not JSON", map[string]string{"config/tiers/data.json": "{\n \"a\": 1,\n}"}, "config/tiers/data.json:3:", "not JSON"},
		{"half JSON", map[string]string{"config/tiers/data.json": "{\n \"a\": 1"}, "config/tiers/data.json:2:", "not JSON"},
		{"two documents", map[string]string{"config/tiers/data.json": "{}\n{}"}, "config/tiers/data.json:2:", "not JSON"},
		{"no object", map[string]string{"config/tiers/data.json": "[1]"}, "config/tiers/data.json:1:1: file", "must be a JSON object"},
		{"given twice", edited(t, "config/data.json", "{", "{\n\"tiers\": 7,"), "config/", "already"},
		{"no use cases", edited(t, "config/data.json", "use_cases", "cases"), "config/data.json:1:1: data", "use_cases"},
		{"use case twice", edited(t, "config/data.json", `"batch"`, `"assistant"`), "config/data.json:3:", "listed twice"},
		{"use case name", edited(t, "config/data.json", `"batch"`, `"Ba tch"`), "config/data.json:4:", "lower-case"},
		{"use case target", edited(t, "config/data.json", `"batch", "targets": []`, `"batch", "targets": ["gpt-9"]`), "config/data.json:4:", `"gpt-9" is not configured`},
		{"use case field", edited(t, "config/data.json", `"batch", `, `"batch", "target": [], `), "config/data.json:4:", "unknown field"},
		{"circuit range", edited(t, "config/circuits/data.json", `"failure_threshold": 5`, `"failure_threshold": 5000`), "circuits.rego:12:1: contract", "failure_threshold is 5000"},
		{"circuit field", edited(t, "config/circuits/data.json", `"window_ms": 60000,`, ``), "circuits.rego:12:1: contract", `no field "window_ms"`},
		{"budget", edited(t, "config/circuits/data.json", `"refund": 0.25`, `"refund": -1`), "circuits.rego:12:1: contract", "refund is -1"},
		{"reaction word", edited(t, "config/reactions/data.json", `"other_vendor_first"`, `"other_vendor"`), "reactions.rego:", `next is "other_vendor"`},
		{"reaction after content", edited(t, "reactions.rego", "not input.after_content", "true"), "reactions.rego:", "after first content"},
		{"tier word", edited(t, "config/tiers/data.json", `"graceful"`, `"gracious"`), "tiers.rego:12:1: contract", `outage is "gracious"`},
		{"undefined cell", edited(t, "tiers.rego", "tier := ", "tier := data.config.tiers.use_cases[input.use_case]\n\nother := "), "tiers.rego:12:1: undefined", "tier of admin when healthy"},
		{"admin detail leaks", edited(t, "config/disclosure/data.json", `"paid": "target"`, `"paid": "admin"`), "disclosure.rego:", "admin audience alone"},
		{"placeholder", edited(t, "config/disclosure/data.json", "{preferred})", "{prefered})"), "disclosure.rego:", `unknown placeholder "{prefered}"`},
		{"text with a line end", edited(t, "config/disclosure/data.json", "now on {target}", `now on\n{target}`), "disclosure.rego:", "one line"},
		{"limit range", edited(t, limitsData, `"limit": 20`, `"limit": -1`), "limits.rego:12:1: contract", "limits of target opus: concurrency: limit is -1, not in 0..100000"},
		{"limit field", edited(t, limitsData, `"queue": 100, `, ``), "limits.rego:12:1: contract", `limits of target opus: concurrency has no field "queue"`},
		{"limit in words", edited(t, limitsData, `"limit": 40, `, `"limit": "many", `), "limits.rego:12:1: contract", "limit is string, not a number"},
		{"rate range", edited(t, limitsData, `"output_tokens_per_minute": 800000`, `"output_tokens_per_minute": 90000000`), "limits.rego:12:1: contract", "limits of quota_group anthropic: rate: output_tokens_per_minute is 90000000, not in 0..50000000"},
		{"cap range", edited(t, limitsData, `"usd_per_day": 0`, `"usd_per_day": -0.5`), "limits.rego:12:1: contract", "limits of use_case assistant: spend: usd_per_day is -0.5, not in 0..4e+06"},
		{"caps against each other", edited(t, limitsData, `"usd_per_day": 0, "usd_per_month": 0`, `"usd_per_day": 20, "usd_per_month": 10`), "limits.rego:12:1: contract", "usd_per_day is 20, above usd_per_month 10"},
		{"cap of a plan", edited(t, limitsData, `"plans": {}`, `"plans": {"free": {"spend": {"usd_per_month": 5000000}}}`), "limits.rego:12:1: contract", "limits of plan free: spend: usd_per_month is 5e+06"},
		{"output cap", edited(t, limitsData, `"max_output_tokens": 0`, `"max_output_tokens": 99000000`), "limits.rego:12:1: contract", "max_output_tokens is 99000000, not in 0..10000000"},
		{"limits of no target", edited(t, limitsData, `"targets": {}`, `"targets": {"opus-9": {}}`), "config/limits/data.json:14:17: data", `"opus-9" is none of the targets`},
		{"limits of no quota group", edited(t, limitsData, `"quota_groups": {}`, `"quota_groups": {"azure": {}}`), "config/limits/data.json:20:", `"azure" is none of the quota_groups`},
		{"limits of no use case", edited(t, limitsData, `"use_cases": {}`, `"use_cases": {"cooking": {}}`), "config/limits/data.json:28:", `"cooking" is none of the use_cases`},
		{"limits of no plan", edited(t, limitsData, `"plans": {}`, `"plans": {"gold": {}}`), "config/limits/data.json:29:", `"gold" is none of the plans`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			changes := maps.Clone(c.changes)
			p, ps := build(t, policy.Options{}, changes)
			if p != nil || !ps.Failed() {
				t.Fatal("it was let in")
			}
			if !strings.HasPrefix(ps[0].String(), c.want) || !strings.Contains(ps.Error(), c.says) || ps[0].Row < 1 || ps[0].Col < 1 {
				t.Errorf("%v\nwant %s…%s", ps, c.want, c.says)
			}
		})
	}
}

func TestTablesReachTheEngine(t *testing.T) {
	t.Parallel()
	changes := edited(t, "config/data.json", `"batch", "targets": []`, `"batch", "targets": ["haiku", "luna"]`)
	p, ps := build(t, policy.Options{}, changes)
	if ps.Failed() {
		t.Fatal(ps)
	}
	tables := p.Revision.Tables
	u, ok := tables.UseCaseIndex("batch")
	if !ok || !slices.Equal(tables.Served[u], []bool{false, false, true, false, true, false, false, false}) {
		t.Errorf("batch serves %v, want haiku and luna alone", tables.Served[u])
	}
	if d := tables.Disclosure(u, core.AudiencePaid, core.SituationFallback, "ja"); !strings.Contains(d.Text, "通常は {preferred}") {
		t.Errorf("text %q, want the Japanese one", d.Text)
	}
	if d := tables.Disclosure(u, core.AudienceFree, core.SituationFallback, "en"); d != (core.Disclosure{Detail: core.DetailNone}) {
		t.Errorf("a free caller is told %+v, want nothing", d)
	}
	f := ask()
	f.UseCase = "batch"
	plan, _ := p.Decider().Decide(snapshot(p.Revision.Catalog, tables.UseCases), &f)
	if len(plan.Steps) != 2 || len(plan.Excluded) != 6 || plan.Excluded[0].Reasons[0] != "not_served" {
		t.Errorf("steps %+v, excluded %+v, want two and six", plan.Steps, plan.Excluded)
	}
}

// A setting that nothing acts on yet is refused, not believed.
func TestAliasIsRefused(t *testing.T) {
	t.Parallel()
	_, ps := build(t, policy.Options{}, edited(t, "config/disclosure/data.json", `"free": false, "paid"`, `"free": true, "paid"`))
	if !ps.Failed() || !strings.Contains(ps.Error(), "alias_model is not supported yet") {
		t.Errorf("got %v", ps)
	}
}

// Slow calls count as failures only where a policy says so (R1.1).
func TestSlowCallsAreThePolicysChoice(t *testing.T) {
	t.Parallel()
	const data = "config/circuits/data.json"
	p, ps := build(t, policy.Options{}, edited(t, data, `"payments": {"budget"`, `"payments": {"slow_call_ms": 4000, "slow_rate_permille": 600, "budget"`))
	if ps.Failed() {
		t.Fatal(ps)
	}
	for useCase, want := range map[string][2]int{"payments": {4000, 600}, "batch": {}} {
		u, _ := p.Revision.Tables.UseCaseIndex(useCase)
		if c := p.Revision.Tables.Circuits[u][0]; c.SlowCallMS != want[0] || c.SlowRatePermille != want[1] {
			t.Errorf("%s: slow after %d ms at %d permille, want %v", useCase, c.SlowCallMS, c.SlowRatePermille, want)
		}
	}
	_, ps = build(t, policy.Options{}, edited(t, data, `"slow_rate_permille": 0`, `"slow_rate_permille": 300`))
	if !ps.Failed() || !strings.Contains(ps.Error(), "slow_rate_permille is 300 without slow_call_ms") {
		t.Errorf("a rate without a time was let in: %v", ps)
	}
}

func TestLimitsReachTablesAndGrants(t *testing.T) {
	t.Parallel()
	changes := edited(t, limitsData, `"targets": {}`, `"targets": {"haiku": {"concurrency": {"limit": 3}, "rate": {"requests_per_minute": 9}}}`)
	for old, new := range map[string]string{
		`"quota_groups": {}`: `"quota_groups": {"openai": {"rate": {"output_tokens_per_minute": 5000}}}`,
		`"use_cases": {}`:    `"use_cases": {"batch": {"spend": {"usd_per_day": 12.5}}}`,
		`"plans": {}`:        `"plans": {"paid": {"rate": {"tokens_per_minute": 1000}, "spend": {"usd_per_day": 0.01, "usd_per_month": 0.2, "fallback_usd_per_million_output": 75}, "max_output_tokens": 4096}}`,
	} {
		changes[limitsData] = strings.Replace(changes[limitsData], old, new, 1)
	}
	p, ps := build(t, policy.Options{}, changes)
	if ps.Failed() {
		t.Fatal(ps)
	}
	tables := p.Revision.Tables
	if l := tables.TargetLimits[2]; l.Concurrency.Limit != 3 || l.Concurrency.Queue != 100 || l.Rate.RequestsPerMinute != 9 {
		t.Errorf("haiku has %+v, want 3 at once, 9 a minute", l)
	}
	if g := tables.GroupRates; g["openai"].OutputTokensPerMinute != 5000 || g["anthropic"].OutputTokensPerMinute != 800_000 || len(g) != 2 {
		t.Errorf("quota groups have %+v", g)
	}
	u, _ := tables.UseCaseIndex("batch")
	if l := tables.UseCaseLimits[u]; l.Spend.DayPico != 12_500_000_000_000 || tables.UseCaseLimits[0].Counted() {
		t.Errorf("batch has %+v, want $12.50 a day; others nothing", l)
	}
	paid, err := p.Grants(policy.KeyAttributes{ID: "k", Plan: "paid"})
	want := core.CallerLimits{
		Rate:            limit.RateSettings{TokensPerMinute: 1000, BurstSeconds: 60},
		Spend:           limit.SpendSettings{DayPico: 10_000_000_000, MonthPico: 200_000_000_000, FallbackOutputPico: 75_000_000},
		MaxOutputTokens: 4096,
	}
	if err != nil || paid.Limits != want {
		t.Errorf("%+v, %v, want %+v", paid.Limits, err, want)
	}
	if free, err := p.Grants(policy.KeyAttributes{ID: "k", Plan: "free"}); err != nil || free.Limits.Counted() {
		t.Errorf("%+v, %v, want no limits", free.Limits, err)
	}
}

// A key's limits may depend on more than its plan, which an activation can't
// enumerate: what is wrong there keeps the key out.
func TestLimitsOfABrokenPolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, new, says string }{
		{"else := kind.plans[input.plan]", `else := {"max_output_tokens": -4} if input.tenant == "acme"`, "max_output_tokens is -4"},
		{"else := kind.plans[input.plan]", `else := {"extra": 1} if input.tenant == "acme"`, "unknown fields"},
		{"limits := object.union(", `limits := {} if input.tenant == "acme" else := 7 if input.tenant == "other" else := object.union(`, `no field "max_output_tokens"`},
		{"family), own)", `family), own) if not input.tenant == "acme"`, "undefined"},
	} {
		p, ps := build(t, policy.Options{}, edited(t, "limits.rego", c.old, c.new))
		if ps.Failed() {
			t.Errorf("%s: %v", c.new, ps)
			continue
		}
		_, err := p.Grants(policy.KeyAttributes{ID: "k", Plan: "paid", Tenant: "acme"})
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), `limits of key "k"`) {
			t.Errorf("%s: %v, want %q", c.new, err, c.says)
		}
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	one := policy.Files{"a": "bc", "d": ""}
	if policy.Digest(one) != policy.Digest(maps.Clone(one)) || len(policy.Digest(one)) != 64 {
		t.Error("equal files have different digests")
	}
	for _, other := range []policy.Files{{"ab": "c", "d": ""}, {"a": "bc"}, {"a": "bc", "d": " "}, {}} {
		if policy.Digest(other) == policy.Digest(one) {
			t.Errorf("%v has the digest of %v", other, one)
		}
	}
}

func TestGrants(t *testing.T) {
	t.Parallel()
	p := shipped(t, policy.Options{})
	got, err := p.Grants(policy.KeyAttributes{ID: "k", Tenant: "acme", Plan: "internal", UseCases: []string{"payments", "batch"}, Language: "ja"})
	want := core.Grants{
		Tenant: "acme", TenantClass: "internal", Audience: core.AudiencePaid, UseCases: []string{"payments", "batch"}, MaxPriority: 10, Language: "ja",
	}
	if err != nil || got.Tenant != want.Tenant || got.Audience != want.Audience || !slices.Equal(got.UseCases, want.UseCases) ||
		got.MaxPriority != want.MaxPriority || got.Language != want.Language || got.TenantClass != want.TenantClass {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, c := range []struct {
		key  policy.KeyAttributes
		says string
	}{
		{policy.KeyAttributes{ID: "k1", Plan: "gold"}, `grants nothing to plan "gold"`},
		{policy.KeyAttributes{ID: "k2", Plan: "free", UseCases: []string{"admin"}}, "grants nothing"},
		{policy.KeyAttributes{ID: "k3", Plan: "free", UseCases: []string{"cooking"}}, `use case "cooking" is not known`},
	} {
		if _, err := p.Grants(c.key); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.key.ID) {
			t.Errorf("%+v: %v, want %q", c.key, err, c.says)
		}
	}
}

func TestGrantsOfABrokenPolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, new, says string }{
		{`"audience": plan.audience`, `"audience": "root"`, `audience is "root"`},
		{`"use_cases": use_cases`, `"use_cases": ["cooking"]`, `"cooking" is not known`},
		{`"max_priority": plan.max_priority`, `"max_priority": 11`, "not in 0..10"},
		{`"tenant": input.tenant,`, ``, `no field "tenant"`},
	} {
		p, ps := build(t, policy.Options{}, edited(t, "access.rego", c.old, c.new))
		if ps.Failed() {
			t.Fatal(ps)
		}
		if _, err := p.Grants(policy.KeyAttributes{ID: "k", Plan: "paid"}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.new, err, c.says)
		}
	}
}

// Whatever the bytes, a draft is built or refused with a place.
func FuzzBuild(f *testing.F) {
	for _, seed := range []string{
		"package spillway.extra\n\np := 1\n", "package spillway.extra\n\np[x] := y if {\n\tsome x, y in data.live\n}\n",
		"package x", "", "# METADATA\n# title: [\npackage spillway.extra\n", "package spillway.extra\n\np := [x | some x in p]\n",
	} {
		f.Add(seed)
	}
	c := catalog(f)
	f.Fuzz(func(t *testing.T, text string) {
		p, ps := policy.Build(files(map[string]string{"extra.rego": text + "\n"}), c, policy.Options{})
		if (p == nil) != ps.Failed() {
			t.Fatalf("a policy beside errors, or none without: %v", ps)
		}
		for _, problem := range ps {
			if problem.File == "" || problem.Row < 1 || problem.Col < 1 || problem.Message == "" {
				t.Errorf("a problem without a place: %+v", problem)
			}
		}
	})
}
