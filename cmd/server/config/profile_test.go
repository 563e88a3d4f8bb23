package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/cmd/server/config"
	"github.com/spillway-llm/spillway/core"
)

// served is a file with one OpenAI-speaking provider and what stands at it and at
// its one target.
func served(atProvider, atTarget string) string {
	return `providers: [{id: a, wire: openai, nodes: [{url: "https://a.example"}], keys: [{id: k, value: "${KEY_A}"}]` + atProvider + `}]` + "\n" +
		`targets: [{id: t, provider: a, context_tokens: 8000` + atTarget + `}]` + "\n"
}

func TestParse_Profile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		src  string
		want func(p core.Profile) bool
	}{
		"none": {served("", ""), func(p core.Profile) bool { return p.Name == "" && p.MaxTokensField == "" }},
		"the provider's": {served(", profile: mistral", ""), func(p core.Profile) bool {
			return p.Name == "mistral" && p.ToolID.Least == 9 && slices.Contains(p.Refuses, "stream_options")
		}},
		"the target's own": {served(", profile: mistral", ", profile: ollama"), func(p core.Profile) bool { return p.Name == "ollama" && p.NoImageURLs }},
		"a mapping": {served("", ", profile: {base: vllm, system_role: developer, refuses: [], takes: [top_k], no_files: false, tool_id: {most: 40}, no_image_urls: true}"),
			func(p core.Profile) bool {
				return p.Name == "vllm" && p.MaxTokensField == "max_tokens" && p.SystemRole == "developer" && len(p.Refuses) == 0 &&
					!p.NoFiles && p.NoLateSystem && p.NoImageURLs && p.ToolID.Most == 40
			}},
		"a mapping alone": {served(", profile: {max_tokens_field: max_tokens, no_content_parts: true, no_late_system: true, echo_reasoning: reasoning, as_of: 2026-12-01}", ""),
			func(p core.Profile) bool {
				return p.Name == "" && p.NoContentParts && p.EchoReasoning == "reasoning" && p.AsOf == "2026-12-01"
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if p := parse(t, tt.src).Targets[0].Profile; !tt.want(p) {
				t.Errorf("profile %+v", p)
			}
		})
	}
}

// TestParse_KnownModel holds that what is known of a model need not be said, and
// that what is said counts.
func TestParse_KnownModel(t *testing.T) {
	t.Parallel()
	c := parse(t, `
providers: [{id: a, wire: anthropic, nodes: [{url: "https://a.example"}], keys: [{id: k, value: "${KEY_A}"}]}]
targets:
  - {id: claude-opus-4-5-20251101, provider: a}
  - {id: other, model: claude-opus-5-5, provider: a, context_tokens: 5000, capabilities: [], traits: {sampling: both, efforts: [low], no_forced_tools: false}}
`)
	old, other := c.Targets[0], c.Targets[1]
	if old.ContextTokens != 200_000 || old.MaxOutput != 64_000 || !old.Capabilities.Prefill || old.Traits.Sampling != core.SamplingOne || old.Traits.AsOf == "" {
		t.Errorf("a known model: %+v", old)
	}
	tr := other.Traits
	if other.ContextTokens != 5000 || other.Capabilities != (core.Capabilities{}) || tr.Sampling != core.SamplingBoth || tr.NoForcedTools ||
		!slices.Equal(tr.Efforts, []string{"low"}) || !slices.Equal(tr.Thinking, []string{"adaptive"}) {
		t.Errorf("what the file says: %+v", other)
	}
}

func TestParse_Presets(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "presets.json")
	doc := `{"as_of":"2026-12-01","profiles":{"ours":{"system_role":"developer"}},"models":[{"match":["t"],"context_tokens":77,"traits":{"sampling":"one"}}]}`
	if err := os.WriteFile(file, []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	src := strings.Replace(served(", profile: ours", ""), ", context_tokens: 8000", "", 1) + "presets: " + file + "\n"
	got := parse(t, src).Targets[0]
	if got.Profile.Name != "ours" || got.Profile.SystemRole != "developer" || got.ContextTokens != 77 || got.Traits.Sampling != core.SamplingOne {
		t.Errorf("target %+v", got)
	}
}

func TestParse_ProfileProblems(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte(`{"as_of":"2026-12-01","models":[{}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ src, want string }{
		"unknown":          {served("", ", profile: mistrall"), `did you mean "mistral"?`},
		"unknown base":     {served("", ", profile: {base: lama}"), `profile.base: "lama" is not known`},
		"unknown field":    {served("", ", profile: {max_tokens: 5}"), `profile.max_tokens: unknown field`},
		"unknown refusal":  {served("", ", profile: {refuses: [stream]}"), `refuses[0]: "stream" is not known`},
		"no yes":           {served("", ", profile: {no_files: perhaps}"), `no_files: "perhaps" is not known`},
		"ids":              {served("", ", profile: {tool_id: {least: 20, most: 10}}"), "least is more than most"},
		"trait":            {served("", ", traits: {sampling: hot}"), `traits.sampling: "hot" is not known`},
		"effort":           {served("", ", traits: {efforts: [hard]}"), `traits.efforts[0]: "hard" is not known`},
		"at Anthropic":     {strings.Replace(served(", profile: openai", ""), "wire: openai", "wire: anthropic", 1), "profiles are for servers that speak openai"},
		"target Anthropic": {strings.Replace(served("", ", profile: openai"), "wire: openai", "wire: anthropic", 1), "profiles are for targets at providers that speak openai"},
		"no file":          {served("", "") + "presets: /does/not/exist.json\n", "presets: the file can't be opened"},
		"a folder":         {served("", "") + "presets: /\n", "presets: no regular file"},
		"bad file":         {served("", "") + "presets: " + bad + "\n", "no match"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Parse("c.yaml", []byte(tt.src), environment)
			var found config.Problems
			if !errors.As(err, &found) || len(found) != 1 || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestParse_ProfileWarning(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]bool{
		served("", ""):                true,
		served(", profile: vllm", ""): false,
		strings.Replace(served("", ""), "a.example", "api.openai.com", 1):                false,
		strings.Replace(served("", ""), "a.example", "us.openai.azure.com/openai/v1", 1): false,
	} {
		if text := parse(t, src).Warnings.Error(); strings.Contains(text, "no profile") != want {
			t.Errorf("%s: warnings %q", src, text)
		}
	}
}

// TestBuiltin_ModelsAreKnown holds that the shipped presets know the built-in
// targets.
func TestBuiltin_ModelsAreKnown(t *testing.T) {
	t.Parallel()
	_, targets := config.Simulated("http://127.0.0.1:1", "http://127.0.0.1:2")
	for _, target := range targets {
		if target.ContextTokens < 1_000_000 || target.MaxOutput != 128_000 || !target.Capabilities.Tools || target.Capabilities.Prefill || target.Traits.AsOf == "" {
			t.Errorf("%+v", target)
		}
		if target.Provider == "openai" && target.Profile.Name != "openai" {
			t.Errorf("%s has the profile %+v", target.ID, target.Profile)
		}
	}
}
