package config

import (
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
)

// maxTokens bounds the token figures of a target, to catch a slip of the zero key.
const maxTokens = 100_000_000

func readTargets(v value) []core.Target {
	var out []core.Target
	ids := unique{}
	v.list(func(v value) {
		t := readTarget(v)
		ids.check(v, "id", t.ID)
		out = append(out, t)
	})
	return out
}

func readTarget(v value) core.Target {
	var t core.Target
	seen := v.object(fields{
		"id":                func(v value) { t.ID = v.id() },
		"provider":          func(v value) { t.Provider = v.id() },
		"model":             func(v value) { t.Model = v.id() },
		"family":            func(v value) { t.Family = v.id() },
		"context_tokens":    func(v value) { t.ContextTokens = v.whole(1, maxTokens) },
		"max_output_tokens": func(v value) { t.MaxOutput = v.whole(1, maxTokens) },
		"capabilities":      func(v value) { t.Capabilities = readCapabilities(v) },
		"quota_group":       func(v value) { t.QuotaGroup = v.id() },
		"labels":            func(v value) { t.Labels = readLabels(v) },
		"price":             func(v value) { t.Price = readPrice(v) },
		"profile":           func(v value) { t.Profile = v.profile() },
		"traits":            func(value) {}, // read once the model is known
	})
	if t.Model == "" {
		t.Model = t.ID
	}
	if known := v.knownModel(&t, seen); known {
		v.require(seen, "id", "provider")
	} else {
		v.require(seen, "id", "provider", "context_tokens")
	}
	if traits, ok := seen["traits"]; ok {
		traits.traits(&t.Traits)
	}
	if v.node.Kind == yaml.MappingNode && seen["price"].node == nil {
		v.warn("add its price, or 0 for each part if it is free", "no price: the cost of %q stays unknown", t.ID)
	}
	return t
}

// knownModel fills in what is known of the target's model and the file does not
// say, and reports whether that includes its context.
func (v value) knownModel(t *core.Target, seen map[string]value) bool {
	m, ok := v.in.presets.Model(t.Model)
	if !ok {
		return false
	}
	t.Traits = m.Traits
	if t.ContextTokens == 0 {
		t.ContextTokens = m.ContextTokens
	}
	if t.MaxOutput == 0 {
		t.MaxOutput = m.MaxOutput
	}
	if _, given := seen["capabilities"]; !given {
		t.Capabilities = m.Can()
	}
	return t.ContextTokens > 0
}

func readCapabilities(v value) core.Capabilities {
	var c core.Capabilities
	set := map[string]*bool{
		"tools": &c.Tools, "images": &c.Images, "documents": &c.Documents,
		"json_schema": &c.JSONSchema, "thinking": &c.Thinking, "prefill": &c.Prefill,
	}
	if v.node.Kind == yaml.SequenceNode && len(v.node.Content) == 0 {
		return c
	}
	v.list(func(v value) {
		word := v.oneOf("tools", "images", "documents", "json_schema", "thinking", "prefill")
		if word != "" {
			*set[word] = true
		}
	})
	return c
}

func readLabels(v value) map[string]string {
	if v.node.Kind != yaml.MappingNode {
		v.refuse("write name: value lines below it", "must be a mapping, and is %s", v.kind())
		return nil
	}
	out := map[string]string{}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		name := v.node.Content[i].Value
		out[name] = v.child(v.node.Content[i+1], name).text()
	}
	return out
}

func readPrice(v value) price.Table {
	t := price.Table{}
	known := priceParts(&t)
	known["as_of"] = func(v value) { t.AsOf = v.date() }
	known["long_above"] = func(v value) { t.LongAbove = int64(v.whole(1, maxTokens)) }
	known["long"] = func(v value) {
		t.Long = &price.Table{}
		v.require(v.object(priceParts(t.Long)), requiredParts()...)
	}
	seen := v.object(known)
	v.require(seen, append(requiredParts(), "as_of")...)
	_, above := seen["long_above"]
	_, long := seen["long"]
	if above != long {
		v.refuse("give both, or neither", "long_above and long belong together")
	}
	return t
}

// requiredParts must all be said, because a part left out would count as free.
func requiredParts() []string { return []string{"input", "output", "cache_read", "cache_write"} }

func priceParts(t *price.Table) fields {
	return fields{
		"input":          func(v value) { t.Input = v.dollars() },
		"output":         func(v value) { t.Output = v.dollars() },
		"cache_read":     func(v value) { t.CacheRead = v.dollars() },
		"cache_write":    func(v value) { t.CacheWrite = v.dollars() },
		"cache_write_1h": func(v value) { t.CacheWrite1h = v.dollars() },
	}
}

// checkHourPrice requires the price of the one-hour cache where the wire format
// can ask for it.
func checkHourPrice(v value) {
	for _, at := range []value{v, orSelf(v, "long")} {
		if _, ok := at.field("cache_write_1h"); !ok && at.node.Kind == yaml.MappingNode {
			at.refuse("add it; 0 if the vendor does not charge for it", "cache_write_1h is missing")
		}
	}
}

// orSelf is a field of v, or an empty value without one.
func orSelf(v value, name string) value {
	if f, ok := v.field(name); ok {
		return f
	}
	return value{node: &yaml.Node{}, in: v.in}
}

// dollars reads USD per million tokens.
func (v value) dollars() price.Pico {
	s := v.text()
	if s == "" {
		return 0
	}
	usd, err := strconv.ParseFloat(s, 64)
	if err != nil || !(usd >= 0 && usd <= 1e6) {
		v.refuse("write dollars per million tokens, for example 2.50", "%s is no price", v.show())
		return 0
	}
	return price.PerMillion(usd)
}

// date reads the day a price was looked up.
func (v value) date() string {
	s := v.text()
	if s == "" {
		return ""
	}
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		v.refuse("write the day the price was looked up, for example 2026-11-30", "%s is no date", v.show())
		return ""
	}
	return s
}
