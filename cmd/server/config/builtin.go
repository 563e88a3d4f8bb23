package config

import (
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/core/wire/preset"
)

// The environment variables whose presence turns the built-in vendors on.
const (
	AnthropicKeyVariable = "ANTHROPIC_API_KEY"
	OpenAIKeyVariable    = "OPENAI_API_KEY"
)

// pricesAsOf dates the built-in prices. They are a snapshot: the file replaces them.
const pricesAsOf = "2026-11-30"

// FromEnvironment returns the real vendors for which the environment holds a
// key, with the built-in targets and prices; nothing without any key.
func FromEnvironment(env LookupFunc) ([]core.Provider, []core.Target) {
	var providers []core.Provider
	var targets []core.Target
	if key, set := env(AnthropicKeyVariable); set && key != "" {
		providers = append(providers, provider("anthropic", core.WireAnthropic, "https://api.anthropic.com", key))
		targets = append(targets, anthropicTargets()...)
	}
	if key, set := env(OpenAIKeyVariable); set && key != "" {
		providers = append(providers, provider("openai", core.WireOpenAI, "https://api.openai.com", key))
		targets = append(targets, openAITargets()...)
	}
	return providers, targets
}

// Simulated returns the same targets at simulated vendors at the two base URLs.
func Simulated(anthropicURL, openAIURL string) ([]core.Provider, []core.Target) {
	providers := []core.Provider{
		provider("anthropic", core.WireAnthropic, anthropicURL, "simulated"),
		provider("openai", core.WireOpenAI, openAIURL, "simulated"),
	}
	for i := range providers {
		providers[i].Simulated = true
		providers[i].Nodes[0].ID = "simulated" // the port is another at every start
	}
	return providers, append(anthropicTargets(), openAITargets()...)
}

func provider(id string, wire core.Wire, base, key string) core.Provider {
	return core.Provider{
		ID: id, Wire: wire, Vendor: id,
		Keys:  []core.Key{{ID: "default", Secret: core.NewSecret(key)}},
		Nodes: []core.Node{{ID: nodeID(base), BaseURL: base, Weight: 1}},
	}
}

func anthropicTargets() []core.Target {
	haiku := perMillion(0.10, 0.50, 0.01, 0.125, 0.20)
	haikuLong := perMillion(0.50, 2.50, 0.05, 0.625, 1.00)
	haikuLong.AsOf = ""
	haiku.LongAbove, haiku.Long = 100_000, &haikuLong
	return known([]core.Target{
		target("claude-opus-5-5", "anthropic", "opus", perMillion(4, 20, 0.20, 5, 8)),
		target("claude-sonnet-5", "anthropic", "sonnet", perMillion(2, 10, 0.20, 2.5, 4)),
		target("claude-haiku-5-5", "anthropic", "haiku", haiku),
	}, "")
}

func openAITargets() []core.Target {
	return known([]core.Target{
		target("gpt-6-sol", "openai", "sol", longDouble(perMillion(2, 10, 0.20, 2.5, 0))),
		target("gpt-6-luna", "openai", "luna", longDouble(perMillion(0.10, 0.50, 0.01, 0.125, 0))),
	}, "openai")
}

func target(id, provider, family string, p price.Table) core.Target {
	return core.Target{ID: id, Model: id, Provider: provider, Family: family, Price: p}
}

// known fills in what the shipped presets know of the targets' models and of the
// server they are at. A test holds that they know all of them.
func known(targets []core.Target, server string) []core.Target {
	presets, err := preset.Shipped()
	if err != nil {
		return targets
	}
	for i := range targets {
		t := &targets[i]
		m, _ := presets.Model(t.Model)
		t.ContextTokens, t.MaxOutput, t.Capabilities, t.Traits = m.ContextTokens, m.MaxOutput, m.Can(), m.Traits
		t.Profile, _ = presets.Profile(server)
	}
	return targets
}

func perMillion(input, output, cacheRead, cacheWrite, cacheWrite1h float64) price.Table {
	return price.Table{
		Input: price.PerMillion(input), Output: price.PerMillion(output), CacheRead: price.PerMillion(cacheRead),
		CacheWrite: price.PerMillion(cacheWrite), CacheWrite1h: price.PerMillion(cacheWrite1h), AsOf: pricesAsOf,
	}
}

// longDouble adds the price of the GPT-6 family's long prompts: twice for what
// goes in and half as much again for what comes out, for the whole request.
func longDouble(t price.Table) price.Table {
	t.LongAbove = 272_000
	t.Long = &price.Table{
		Input: 2 * t.Input, Output: t.Output * 3 / 2, CacheRead: 2 * t.CacheRead,
		CacheWrite: 2 * t.CacheWrite, CacheWrite1h: 2 * t.CacheWrite1h,
	}
	return t
}
