package store

import (
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
)

// decision writes a decision without its closing brace: the writer appends the
// digests of plan and snapshot, which nobody should compute while a caller
// waits. Names that filters search for (see filter.go) occur nowhere else in
// the body, and outcome and situation come first because an index reads them.
func (e *encoder) decision(d *core.Decision) {
	e.b = append(e.b, '{')
	e.text("outcome", d.Outcome.String())
	e.text("situation", d.Situation.String())
	e.textIf("caller_key", d.KeyID)
	e.textIf("tenant", d.Tenant)
	e.text("wire", string(d.Wire))
	e.textIf("path", d.Path)
	e.textIf("tags", d.Tags)
	e.facts(&d.Facts)
	if d.Plan != nil {
		e.text("source", string(source(d)))
	}
	e.text("revision", d.Revision)
	e.text("catalog", d.Catalog)
	e.text("level", d.Level.String())
	e.textIf("tier", d.Tier)
	e.attempts(d.Attempts)
	e.skips(d.Skips)
	e.textIf("limit", d.Limit)
	e.textIf("answered_by", d.Target)
	e.textIf("answer_model", d.Model)
	e.numberIf("status", int64(d.Status))
	e.disclosed(&d.Disclosed)
	e.warnings(d.Warnings)
	e.numberIf("first_content_ms", ceilMS(d.FirstContent))
	e.number("duration_ms", ceilMS(d.Duration))
	e.usage(&d.Usage)
	e.cost(d.Cost, d.CostKnown)
}

// source names a remembered plan as such; the plan itself is shared with the
// request for which it was evaluated.
func source(d *core.Decision) core.Source {
	if d.Memo && d.Plan.Source == core.SourceEvaluated {
		return core.SourceMemo
	}
	return d.Plan.Source
}

// facts leaves out what is false, 0 or "": most of it is, and a row costs by
// its length. Reading it back into core.Facts gives the same facts, and so the
// same canonical document.
func (e *encoder) facts(f *core.Facts) {
	e.name("facts")
	e.b = append(e.b, '{')
	e.textIf("use_case", f.UseCase)
	e.textIf("task", string(f.Task))
	e.numberIf("priority", int64(f.Priority))
	e.textIf("audience", string(f.Audience))
	e.textIf("quality", string(f.Quality))
	e.numberIf("latency_budget_ms", int64(f.LatencyBudgetMS))
	e.numberIf("input_tokens", int64(f.InputTokens))
	e.numberIf("max_tokens", int64(f.MaxTokens))
	e.flagIf("stream", f.Stream)
	e.textIf("model", f.Model)
	e.textIf("target", f.Target)
	e.textIf("tenant_class", f.TenantClass)
	if f.Needs != (core.Needs{}) {
		e.needs(&f.Needs)
	}
	e.flagIf("drill", f.Drill)
	e.flagIf("force_fallback", f.ForceFallback)
	e.textIf("language", f.Language)
	e.textIf("affinity_target", f.AffinityTarget)
	e.b = append(e.b, '}')
}

func (e *encoder) needs(n *core.Needs) {
	e.name("needs")
	e.b = append(e.b, '{')
	e.flagIf("tools", n.Tools)
	e.flagIf("images", n.Images)
	e.flagIf("documents", n.Documents)
	e.flagIf("json_schema", n.JSONSchema)
	e.flagIf("thinking", n.Thinking)
	e.flagIf("prefill", n.Prefill)
	e.b = append(e.b, '}')
}

func (e *encoder) attempts(list []core.AttemptRecord) {
	e.name("attempts")
	e.b = append(e.b, '[')
	for i := range list {
		e.item()
		e.attempt(&list[i])
	}
	e.b = append(e.b, ']')
}

func (e *encoder) attempt(a *core.AttemptRecord) {
	e.b = append(e.b, '{')
	e.number("number", int64(a.Number))
	e.number("step", int64(a.Step))
	e.text("target", a.Target)
	e.textIf("node", a.Node)
	e.textIf("key", a.Key)
	e.number("start_ms", ceilMS(a.Start))
	e.numberIf("first_content_ms", ceilMS(a.FirstContent))
	e.number("duration_ms", ceilMS(a.Duration))
	e.numberIf("wait_ms", ceilMS(a.Wait))
	e.text("kind", a.Kind.String())
	e.numberIf("status", int64(a.Status))
	e.textIf("type", a.Type)
	e.textIf("code", a.Code)
	e.numberIf("retry_after_ms", ceilMS(a.RetryAfter))
	e.flagIf("probe", a.Probe)
	e.textIf("upstream_id", a.UpstreamID)
	if a.Usage.Known {
		e.number("input_tokens", a.Usage.Input)
		e.numberIf("cache_read_tokens", a.Usage.CacheRead)
		e.numberIf("cache_write_tokens", a.Usage.CacheWrite)
		e.numberIf("cache_write_1h_tokens", a.Usage.CacheWrite1h)
		e.number("output_tokens", a.Usage.Output)
		e.numberIf("reasoning_tokens", a.Usage.Reasoning)
		e.flagIf("estimated", a.Usage.Estimated)
	}
	e.cost(a.Cost, a.CostKnown)
	e.textIf("price_as_of", a.PriceAsOf)
	e.b = append(e.b, '}')
}

// cost leaves an unknown cost out: readers then see NULL, never a 0 that could
// be added up (R13.2).
func (e *encoder) cost(pico int64, known bool) {
	if known {
		e.number("cost_picousd", pico)
		e.flag("cost_known", true)
	}
}

func (e *encoder) skips(list []core.Skip) {
	if len(list) == 0 {
		return
	}
	e.name("skips")
	e.b = append(e.b, '[')
	for i := range list {
		s := &list[i]
		e.item()
		e.b = append(e.b, '{')
		e.number("step", int64(s.Step))
		e.text("target", s.Target)
		e.text("kind", s.Kind.String())
		e.textIf("detail", s.Detail)
		e.numberIf("wait_ms", ceilMS(s.Wait))
		e.b = append(e.b, '}')
	}
	e.b = append(e.b, ']')
}

func (e *encoder) disclosed(d *core.Disclosed) {
	e.name("disclosed")
	e.b = append(e.b, '{')
	detail := d.Detail
	if detail == "" {
		detail = core.DetailNone
	}
	e.text("detail", string(detail))
	e.textIf("text", d.Text)
	e.b = append(e.b, '}')
}

func (e *encoder) warnings(list []string) {
	if len(list) == 0 {
		return
	}
	e.name("warnings")
	e.b = append(e.b, '[')
	for _, w := range list {
		e.item()
		e.b = appendText(e.b, w)
	}
	e.b = append(e.b, ']')
}

func (e *encoder) usage(u *price.Usage) {
	if !u.Known {
		return
	}
	e.name("usage")
	e.b = append(e.b, '{')
	e.number("input", u.Input)
	e.numberIf("cache_read", u.CacheRead)
	e.numberIf("cache_write", u.CacheWrite)
	e.numberIf("cache_write_1h", u.CacheWrite1h)
	e.number("output", u.Output)
	e.numberIf("reasoning", u.Reasoning)
	e.flagIf("estimated", u.Estimated)
	e.b = append(e.b, '}')
}
