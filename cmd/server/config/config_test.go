package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/cmd/server/config"
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/health"
	"github.com/spillway-llm/spillway/core/price"
)

// environment is the environment of these tests.
func environment(name string) (string, bool) {
	value, set := map[string]string{
		"KEY_A": "sk-ant-secret", "KEY_O": "sk-oai-secret", "EMPTY": "", "REGION": "eu", "TOKENS": "200000",
		"SPACED": "two words",
	}[name]
	return value, set
}

const whole = `# everything a file can say
listen: 127.0.0.1:9090
data: /var/lib/spillway
console:
  listen: 127.0.0.1:9091
  hosts: [Spillway.Example.com]
timeouts: {connect: 1500ms, write: 45s}
providers:
  - id: anthropic
    wire: anthropic
    balance: latency
    nodes:
      - {url: "https://api.anthropic.com", region: "${REGION}", weight: 5}
      - {id: backup, url: "http://127.0.0.1:9999/a", weight: 2}
    keys:
      - {id: main, value: "${KEY_A}"}
      - {id: odd, value: "cost$$5${KEY_O}$$"}
  - id: local
    wire: openai
    vendor: ourselves
    profile: vllm
    probes: off
    nodes: [{url: "http://10.0.0.7:8000"}]
    keys: [{id: k, value: "${EMPTY}"}]
targets:
  - id: opus
    provider: anthropic
    model: claude-opus-5-5
    family: opus
    context_tokens: ${TOKENS}
    max_output_tokens: 64000
    capabilities: [tools, images, documents, json_schema, thinking, prefill]
    quota_group: tier-4
    labels: {team: core}
    price:
      {input: 4, output: 20, cache_read: 0.2, cache_write: 5, cache_write_1h: 8, as_of: 2026-11-30,
       long_above: 100000, long: {input: 8, output: 30, cache_read: 0.4, cache_write: 10, cache_write_1h: 16}}
  - id: llama
    provider: local
    context_tokens: 8192
    price: {input: 0, output: 0, cache_read: 0, cache_write: 0, as_of: 2026-11-30}
`

func parse(t *testing.T, src string) *config.Config {
	t.Helper()
	c, err := config.Parse("spillway.yaml", []byte(src), environment)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return c
}

func TestParse_Whole(t *testing.T) {
	t.Parallel()
	c := parse(t, whole)
	if c.Listen != "127.0.0.1:9090" || c.Data != "/var/lib/spillway" || c.Console.Listen != "127.0.0.1:9091" {
		t.Errorf("addresses = %q, %q, %q", c.Listen, c.Data, c.Console.Listen)
	}
	if !slices.Equal(c.Console.Hosts, []string{"spillway.example.com"}) {
		t.Errorf("hosts = %q, want the one name in lower case", c.Console.Hosts)
	}
	a := c.Providers[0]
	if a.Vendor != "anthropic" || a.Wire != core.WireAnthropic {
		t.Errorf("provider = %+v, want the id as vendor", a)
	}
	wantNodes := []core.Node{
		{ID: "api.anthropic.com", BaseURL: "https://api.anthropic.com", Region: "eu", Weight: 5},
		{ID: "backup", BaseURL: "http://127.0.0.1:9999/a", Weight: 2},
	}
	if !slices.Equal(a.Nodes, wantNodes) {
		t.Errorf("nodes = %+v, want %+v", a.Nodes, wantNodes)
	}
	if c.Timeouts != (config.Timeouts{Connect: 1500 * time.Millisecond, Write: 45 * time.Second}) {
		t.Errorf("timeouts = %+v", c.Timeouts)
	}
	if b := c.Providers[1]; a.Balance != health.BalanceLatency || a.NoProbes || b.Balance != health.BalanceWeight || !b.NoProbes {
		t.Errorf("balances %v and %v, probes off %v and %v", a.Balance, b.Balance, a.NoProbes, b.NoProbes)
	}
	if got := a.Keys[1].Secret.Reveal(); got != "cost$5sk-oai-secret$" {
		t.Errorf("key with dollars = %q", got)
	}
	if _, err := core.NewCatalog(c.Providers, c.Targets); err != nil {
		t.Errorf("NewCatalog: %v", err)
	}
}

func TestParse_Target(t *testing.T) {
	t.Parallel()
	c := parse(t, whole)
	opus := c.Targets[0]
	if opus.ContextTokens != 200_000 || opus.MaxOutput != 64_000 || opus.QuotaGroup != "tier-4" || opus.Labels["team"] != "core" {
		t.Errorf("opus = %+v", opus)
	}
	all := core.Capabilities{Tools: true, Images: true, Documents: true, JSONSchema: true, Thinking: true, Prefill: true}
	if opus.Capabilities != all {
		t.Errorf("capabilities = %+v, want all", opus.Capabilities)
	}
	if opus.Price.CacheRead != price.PerMillion(0.2) || opus.Price.Long.CacheWrite1h != price.PerMillion(16) ||
		opus.Price.LongAbove != 100_000 || !opus.Price.Known() {
		t.Errorf("price = %+v", opus.Price)
	}
	if llama := c.Targets[1]; llama.Model != "llama" || !llama.Price.Known() || llama.Price.Input != 0 {
		t.Errorf("llama = %+v, want its id as model and a known price of 0", llama)
	}
}

func TestParse_EmptyKeyIsToldAndUnusable(t *testing.T) {
	t.Parallel()
	c := parse(t, whole)
	if !c.Providers[1].Keys[0].Secret.Empty() {
		t.Error("the key of an empty variable is not empty")
	}
	if len(c.Warnings) != 1 || c.Warnings[0].Path != "providers[1].keys[0].value" {
		t.Errorf("warnings = %v, want one about the empty key", c.Warnings)
	}
}

func TestParse_NothingGiven(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"", "# only a comment\n", "---\n", "listen: 127.0.0.1:1\n"} {
		if c := parse(t, src); len(c.Providers) != 0 || len(c.Targets) != 0 {
			t.Errorf("Parse(%q) = %+v, want neither providers nor targets", src, c)
		}
	}
}

func TestParse_AliasesAreFollowed(t *testing.T) {
	t.Parallel()
	c := parse(t, `
providers:
  - {id: a, wire: openai, nodes: &n [{url: "https://a.example"}], keys: &k [{id: k, value: "${KEY_O}"}]}
  - {id: b, wire: openai, nodes: *n, keys: *k}
targets:
  - {id: t, provider: b, context_tokens: 8000, price: {input: 1, output: 1, cache_read: 1, cache_write: 1, as_of: 2026-11-30}}
`)
	if got := c.Providers[1].Keys[0].Secret.Reveal(); got != "sk-oai-secret" {
		t.Errorf("key behind an alias = %q", got)
	}
}

func TestLoad_ExampleFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "..", "..", "spillway.example.yaml")
	env := func(string) (string, bool) { return "from-the-environment", true }
	c, err := config.Load(file, env)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	if len(c.Warnings) > 0 {
		t.Errorf("warnings in the example: %v", c.Warnings)
	}
	if _, err := core.NewCatalog(c.Providers, c.Targets); err != nil {
		t.Errorf("NewCatalog: %v", err)
	}
}

func TestLoad_NoFile(t *testing.T) {
	t.Parallel()
	_, err := config.Load(filepath.Join(t.TempDir(), "none.yaml"), environment)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Load of a missing file = %v, want ErrNotExist", err)
	}
}

// FuzzParse holds that no text panics the reader, and that no finding quotes
// what came from the environment.
func FuzzParse(f *testing.F) {
	f.Add(whole)
	f.Add("a: &a [*a]\n")
	f.Add("providers: [{id: ${KEY_A}, wire: ${KEY_A}, nodes: [{url: ${KEY_A}}]}]")
	f.Add("targets: {<<: {}}\nx: [1, {y: ${")
	f.Fuzz(func(t *testing.T, src string) {
		_, err := config.Parse("f.yaml", []byte(src), environment)
		if err != nil && strings.Contains(err.Error(), "sk-ant-secret") && !strings.Contains(src, "sk-ant-secret") {
			t.Errorf("a finding quotes a secret: %v", err)
		}
	})
}
