package config_test

import (
	"testing"

	"github.com/spillway-llm/spillway/cmd/server/config"
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
)

func only(set map[string]string) config.LookupFunc {
	return func(name string) (string, bool) {
		value, ok := set[name]
		return value, ok
	}
}

func TestFromEnvironment(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		env                map[string]string
		providers, targets int
	}{
		"none":           {nil, 0, 0},
		"empty_is_none":  {map[string]string{config.AnthropicKeyVariable: ""}, 0, 0},
		"anthropic_only": {map[string]string{config.AnthropicKeyVariable: "a"}, 1, 3},
		"openai_only":    {map[string]string{config.OpenAIKeyVariable: "o"}, 1, 2},
		"both":           {map[string]string{config.AnthropicKeyVariable: "a", config.OpenAIKeyVariable: "o"}, 2, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			providers, targets := config.FromEnvironment(only(tt.env))
			if len(providers) != tt.providers || len(targets) != tt.targets {
				t.Fatalf("got %d providers and %d targets, want %d and %d", len(providers), len(targets), tt.providers, tt.targets)
			}
			for _, p := range providers {
				if p.Simulated {
					t.Errorf("%s is labelled simulated", p.ID)
				}
			}
		})
	}
}

func TestSimulated_IsLabelledAndServesTheSameTargets(t *testing.T) {
	t.Parallel()
	providers, targets := config.Simulated("http://127.0.0.1:1", "http://127.0.0.1:2")
	for _, p := range providers {
		if !p.Simulated {
			t.Errorf("%s is not labelled simulated", p.ID)
		}
	}
	c, err := core.NewCatalog(providers, targets)
	if err != nil {
		t.Fatalf("NewCatalog: %v", err)
	}
	for _, model := range []string{"claude-opus-5-5", "claude-sonnet-5", "claude-haiku-5-5", "gpt-6-sol", "gpt-6-luna"} {
		if _, ok := c.ByModel(model); !ok {
			t.Errorf("no target serves %s", model)
		}
	}
}

// The long-prompt price counts for the whole request (wire.md 5).
func TestBuiltinPrices_LongPrompts(t *testing.T) {
	t.Parallel()
	c, err := core.NewCatalog(config.Simulated("http://127.0.0.1:1", "http://127.0.0.1:2"))
	if err != nil {
		t.Fatalf("NewCatalog: %v", err)
	}
	for name, tt := range map[string]struct {
		model         string
		input, output int64
		usd           float64
	}{
		"haiku_short": {"claude-haiku-5-5", 100_000, 1000, 0.0105},
		"haiku_long":  {"claude-haiku-5-5", 200_000, 1000, 0.1025},
		"sol_short":   {"gpt-6-sol", 272_000, 1000, 0.554},
		"sol_long":    {"gpt-6-sol", 300_000, 1000, 1.215},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i, _ := c.ByModel(tt.model)
			cost, known := c.Targets[i].Price.Cost(price.Usage{Input: tt.input, Output: tt.output, Known: true})
			if !known || price.USD(cost) != tt.usd {
				t.Errorf("cost = %v (known %v), want %v", price.USD(cost), known, tt.usd)
			}
		})
	}
}
