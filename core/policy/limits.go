package policy

import (
	"fmt"
	"math"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/limit"
	"github.com/spillway-llm/spillway/core/price"
)

// The scopes that the limits policy is asked for.
const (
	scopeTarget  = "target"
	scopeGroup   = "quota_group"
	scopeUseCase = "use_case"
	scopeKey     = "key"
)

// limitsData is where the shipped limits have their figures.
const limitsData = "config/limits/data.json"

// The ranges of money in policies, in dollars; the largest that a cap can count.
const (
	maxCapUSD   = 4_000_000
	maxPriceUSD = 1_000_000 // a million tokens
)

// limitTables fills the limits of targets, quota groups and use cases. The
// limits of the key plans that are listed are evaluated as well, so that a wrong
// figure is found at activation and not with the next key.
func (t *tabulator) limitTables(out *core.Tables) {
	out.GroupRates = map[string]limit.RateSettings{}
	for i := range t.catalog.Targets {
		target := &t.catalog.Targets[i]
		out.TargetLimits = append(out.TargetLimits, limitCell(t, scopeTarget, scopeTarget, target.ID, decodeTargetLimits))
		if _, known := out.GroupRates[target.QuotaGroup]; !known {
			out.GroupRates[target.QuotaGroup] = limitCell(t, scopeGroup, scopeGroup, target.QuotaGroup, decodeGroupRate)
		}
	}
	for _, u := range t.useCases {
		out.UseCaseLimits = append(out.UseCaseLimits, limitCell(t, scopeUseCase, scopeUseCase, u.ID, decodeCallerLimits))
	}
	plans := t.configured("access", "plans")
	for _, plan := range plans {
		limitCell(t, scopeKey, "plan", plan, decodeCallerLimits)
	}
	t.checkNames(plans)
}

// limitCell evaluates and decodes the limits of one thing.
func limitCell[T any](t *tabulator, scope, name, id string, decode func(*reader) (T, error)) (out T) {
	r := t.cell(entryLimits, "limits of "+name+" "+id, text("scope", scope), text(name, id))
	if r == nil {
		return out
	}
	out, err := decode(r)
	if err != nil {
		t.finish(entryLimits, r, err)
	}
	return out
}

// checkNames refuses figures for what does not exist: as limits of nothing they
// would be found out by what was not limited.
func (t *tabulator) checkNames(plans []string) {
	known := map[string]map[string]bool{"plans": {}, "use_cases": {}, "targets": {}, "quota_groups": t.catalog.QuotaGroups()}
	for _, id := range plans {
		known["plans"][id] = true
	}
	for _, u := range t.useCases {
		known["use_cases"][u.ID] = true
	}
	for i := range t.catalog.Targets {
		known["targets"][t.catalog.Targets[i].ID] = true
	}
	paths := [][2]string{{"target", "targets"}, {"quota_group", "quota_groups"}, {"caller", "use_cases"}}
	if len(plans) > 0 { // an access policy may know its plans from elsewhere
		paths = append(paths, [2]string{"caller", "plans"})
	}
	for _, path := range paths {
		for _, id := range t.configured("limits", path[0], path[1]) {
			if !known[path[1]][id] {
				loc := locate(limitsData, t.files[limitsData], `"`+id+`"`)
				t.note(loc, CodeData, "limits", "%q is none of the %s that there are: remove it, or correct it", id, path[1])
			}
		}
	}
}

// configured are the keys of an object in the data files, none if it isn't there.
func (t *tabulator) configured(path ...string) []string {
	ref := make(ast.Ref, 0, len(path))
	for _, p := range path {
		ref = append(ref, ast.StringTerm(p))
	}
	v, err := t.config.Value.Find(ref)
	o, ok := v.(ast.Object)
	if err != nil || !ok {
		return nil
	}
	var keys []string
	for _, k := range o.Keys() {
		if s, ok := k.Value.(ast.String); ok {
			keys = append(keys, string(s))
		}
	}
	return keys
}

func decodeTargetLimits(r *reader) (core.TargetLimits, error) {
	c, rate := r.inner("concurrency"), r.inner("rate")
	if err := r.done(); err != nil {
		return core.TargetLimits{}, err
	}
	l := core.TargetLimits{Concurrency: limit.ConcurrencySettings{
		Limit: c.count("limit"), Queue: c.count("queue"), MaxWaitMS: c.count("max_wait_ms"),
	}}
	if err := c.done(); err != nil {
		return l, err
	}
	var err error
	if l.Rate, err = decodeRate(rate); err != nil {
		return l, err
	}
	return l, checked(r, l.Check())
}

func decodeGroupRate(r *reader) (limit.RateSettings, error) {
	rate := r.inner("rate")
	if err := r.done(); err != nil {
		return limit.RateSettings{}, err
	}
	return decodeRate(rate)
}

func decodeRate(r *reader) (limit.RateSettings, error) {
	s := limit.RateSettings{
		RequestsPerMinute: int64(r.count("requests_per_minute")), InputTokensPerMinute: int64(r.count("input_tokens_per_minute")),
		OutputTokensPerMinute: int64(r.count("output_tokens_per_minute")), TokensPerMinute: int64(r.count("tokens_per_minute")),
		BurstSeconds: r.count("burst_s"),
	}
	if err := r.done(); err != nil {
		return s, err
	}
	return s, checked(r, s.Check())
}

func decodeCallerLimits(r *reader) (core.CallerLimits, error) {
	l := core.CallerLimits{MaxOutputTokens: r.count("max_output_tokens")}
	rate, spend := r.inner("rate"), r.inner("spend")
	if err := r.done(); err != nil {
		return l, err
	}
	var err error
	if l.Rate, err = decodeRate(rate); err != nil {
		return l, err
	}
	day, month := spend.usd("usd_per_day", maxCapUSD), spend.usd("usd_per_month", maxCapUSD)
	if month > 0 && day > month {
		spend.fail("%s: usd_per_day is %g, above usd_per_month %g", spend.what, day, month)
	}
	l.Spend = limit.SpendSettings{
		DayPico: pico(day), MonthPico: pico(month),
		FallbackInputPico:  price.PerMillion(spend.usd("fallback_usd_per_million_input", maxPriceUSD)),
		FallbackOutputPico: price.PerMillion(spend.usd("fallback_usd_per_million_output", maxPriceUSD)),
	}
	if err := spend.done(); err != nil {
		return l, err
	}
	return l, checked(r, l.Check())
}

func pico(usd float64) int64 { return int64(math.Round(usd * float64(price.PicoPerUSD))) }

// checked names the thing whose settings are unusable.
func checked(r *reader, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", r.what, err)
}

// inner reads an object in the object.
func (r *reader) inner(name string) *reader {
	t := r.field(name)
	if t == nil {
		return newReader(r.what+": "+name, object())
	}
	return newReader(r.what+": "+name, t)
}

// count reads a whole number whose range its settings know.
func (r *reader) count(name string) int { return r.number(name, math.MinInt, math.MaxInt) }

// usd reads an amount of dollars.
func (r *reader) usd(name string, most float64) float64 {
	v := r.decimal(name)
	if v < 0 || v > most {
		r.fail("%s: %s is %g, not in 0..%g", r.what, name, v, most)
	}
	return v
}
