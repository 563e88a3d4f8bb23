package preset_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/preset"
)

func shipped(t *testing.T) *preset.Library {
	t.Helper()
	l, err := preset.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestShipped_Profiles(t *testing.T) {
	t.Parallel()
	l := shipped(t)
	want := []string{"azure", "deepseek", "gemini", "groq", "mistral", "ollama", "openai", "openai-compatible", "vllm"}
	if got := l.Profiles(); !slices.Equal(got, want) {
		t.Errorf("profiles %q, want %q", got, want)
	}
	for _, name := range want {
		if p, ok := l.Profile(name); !ok || p.Name != name || p.AsOf != "2026-11-29" {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if p, _ := l.Profile("mistral"); p.ToolID != (core.ToolIDRule{Least: 9, Most: 9, Alphanumeric: true}) || !slices.Contains(p.Refuses, "stream_options") {
		t.Errorf("mistral: %+v", p)
	}
}

// TestShipped_Models has rows of wire.md 1.7 and 2.4: the longer name decides
// where two match.
func TestShipped_Models(t *testing.T) {
	t.Parallel()
	l := shipped(t)
	for name, want := range map[string]struct {
		sampling core.Sampling
		forced   bool // tools can be forced
		adaptive bool
		prefill  bool
		context  int
	}{
		"claude-opus-5-5":          {core.SamplingNone, false, true, false, 1_000_000},
		"claude-opus-5-5-20261021": {core.SamplingNone, false, true, false, 1_000_000},
		"claude-opus-5":            {core.SamplingNone, true, true, false, 1_000_000},
		"claude-sonnet-5-5":        {core.SamplingNone, false, true, false, 1_000_000},
		"claude-haiku-5-5":         {core.SamplingNone, true, true, false, 1_000_000},
		"claude-fable-5":           {core.SamplingNone, true, true, false, 1_000_000},
		"claude-fable-5-2":         {core.SamplingNone, false, true, false, 1_000_000},
		"claude-opus-4-6":          {core.SamplingOne, true, true, false, 1_000_000},
		"claude-opus-4-5-20251101": {core.SamplingOne, true, false, true, 200_000},
		"claude-haiku-4-5":         {core.SamplingOne, true, false, true, 200_000},
		"gpt-6-sol":                {core.SamplingUnlessReasoning, true, false, false, 1_050_000},
		"gpt-6.1-sol":              {core.SamplingNone, true, false, false, 1_050_000},
		"gpt-5.6-terra":            {core.SamplingUnlessReasoning, true, false, false, 0},
		"o4-mini":                  {core.SamplingNone, true, false, false, 0},
	} {
		m, ok := l.Model(name)
		if !ok {
			t.Errorf("%s is not known", name)
			continue
		}
		got := m.Traits
		if got.Sampling != want.sampling || got.NoForcedTools == want.forced || slices.Contains(got.Thinking, "adaptive") != want.adaptive ||
			m.Can().Prefill != want.prefill || m.ContextTokens != want.context || got.AsOf != "2026-11-29" {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if m, ok := l.Model("llama-4"); ok {
		t.Errorf("a model that nobody looked at is known: %+v", m)
	}
	if sol, _ := l.Model("gpt-6-sol"); !sol.Traits.NoReasoningWithTools || sol.Traits.Efforts[0] != "none" {
		t.Errorf("gpt-6-sol: %+v", sol.Traits)
	}
}

func TestExtend(t *testing.T) {
	t.Parallel()
	l := shipped(t)
	more, err := l.Extend([]byte(`{"as_of":"2026-12-01",
		"profiles":{"vllm":{"max_tokens_field":"max_completion_tokens","as_of":"2026-12-02"},"ours":{"takes":["top_k"]}},
		"models":[{"match":["claude-opus-5-5"],"capabilities":["tools","prefill"],"traits":{"sampling":"both"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if p, _ := more.Profile("vllm"); p.MaxTokensField != "max_completion_tokens" || p.NoFiles || p.AsOf != "2026-12-02" {
		t.Errorf("the profile was mixed, not replaced: %+v", p)
	}
	if p, ok := more.Profile("ours"); !ok || p.AsOf != "2026-12-01" || !slices.Equal(p.Takes, []string{"top_k"}) {
		t.Errorf("ours: %+v", p)
	}
	if m, _ := more.Model("claude-opus-5-5"); m.Traits.Sampling != core.SamplingBoth || m.Can() != (core.Capabilities{Tools: true, Prefill: true}) {
		t.Errorf("the added model does not come first: %+v", m)
	}
	if m, _ := more.Model("claude-opus-5-5-20261021"); m.Traits.Sampling != core.SamplingNone {
		t.Errorf("a shipped model is gone: %+v", m)
	}
	if p, _ := l.Profile("vllm"); p.MaxTokensField != "max_tokens" {
		t.Error("the library that was extended has changed")
	}
}

func TestExtend_Refuses(t *testing.T) {
	t.Parallel()
	profile := func(p string) string { return `{"as_of":"2026-12-01","profiles":{"p":` + p + `}}` }
	model := func(m string) string { return `{"as_of":"2026-12-01","models":[` + m + `]}` }
	for doc, want := range map[string]string{
		``:                                                        "EOF",
		`[]`:                                                      "read presets",
		`{"as_of":"2026-12-01"} {}`:                               "more than one document",
		`{"profiles":{}}`:                                         `as_of ""`,
		`{"as_of":"today"}`:                                       `as_of "today"`,
		`{"as_of":"2026-12-01","profils":{}}`:                     `unknown field "profils"`,
		profile(`{"max_tokens":1}`):                               `unknown field "max_tokens"`,
		profile(`{"max_tokens_field":"tokens"}`):                  `profile "p": max_tokens_field "tokens"`,
		profile(`{"system_role":"root"}`):                         `system_role "root"`,
		profile(`{"echo_reasoning":"thoughts"}`):                  `echo_reasoning "thoughts"`,
		profile(`{"refuses":["messages"]}`):                       `refuses: "messages"`,
		profile(`{"takes":["cache_control"]}`):                    `takes: "cache_control"`,
		profile(`{"tool_id":{"most":3}}`):                         "tool_id from 0 to 3",
		profile(`{"tool_id":{"least":9,"most":8}}`):               "tool_id from 9 to 8",
		model(`{}`):                                               "no match",
		model(`{"match":["["]}`):                                  `match "["`,
		model(`{"match":["a"],"context_tokens":-1}`):              "below 0",
		model(`{"match":["a"],"capabilities":["vision"]}`):        `capabilities: "vision"`,
		model(`{"match":["a"],"traits":{"sampling":"hot"}}`):      `sampling "hot"`,
		model(`{"match":["a"],"traits":{"thinking":["deep"]}}`):   `thinking: "deep"`,
		model(`{"match":["a"],"traits":{"efforts":["extreme"]}}`): `efforts: "extreme"`,
	} {
		l, err := (&preset.Library{}).Extend([]byte(doc))
		if l != nil || !errors.Is(err, preset.ErrData) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", doc, err, want)
		}
	}
}

// FuzzExtend holds that whatever a file says it is refused or usable.
func FuzzExtend(f *testing.F) {
	f.Add(`{"as_of":"2026-12-01","profiles":{"p":{"tool_id":{"most":9}}},"models":[{"match":["a*"],"traits":{}}]}`)
	f.Fuzz(func(t *testing.T, doc string) {
		l, err := (&preset.Library{}).Extend([]byte(doc))
		if (l == nil) == (err == nil) {
			t.Fatalf("%v, %v", l, err)
		}
		if err == nil {
			l.Model("claude-opus-5-5")
		}
	})
}
