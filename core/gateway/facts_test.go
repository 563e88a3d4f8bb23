package gateway_test

import (
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
)

// factsOf returns the facts that a request's decision was made with.
func factsOf(t *testing.T, body string, header ...string) core.Decision {
	t.Helper()
	r := twoRig(t, newVendor(t, says(200, messageAnswer)), newVendor(t, says(200, messageAnswer)))
	if got := r.ask(t, "/v1/messages", body, header...); got.status != 200 {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	return r.tape.decision(t, 1)
}

// TestFacts holds the defaults of requirements.md and how headers, model and key
// change them.
func TestFacts(t *testing.T) {
	t.Parallel()
	base := core.Facts{
		UseCase: "assistant", Task: core.TaskSimple, Priority: 5, Audience: core.AudiencePaid, Quality: core.QualityBalanced,
		LatencyBudgetMS: 5000, MaxTokens: 64, Model: "claude", Target: "claude", Language: "en",
	}
	tests := []struct {
		name, model string
		header      []string
		want        func(*core.Facts)
	}{
		{"defaults", "claude", nil, func(*core.Facts) {}},
		{"a vendor's model name", "claude-2", nil, func(f *core.Facts) { f.Model, f.Target = "claude-2", "claude-b" }},
		{"no model in particular", "auto", nil, func(f *core.Facts) { f.Model, f.Target = "", "" }},
		{"a use case as model", "batch", nil, func(f *core.Facts) { f.Model, f.Target, f.UseCase = "", "", "batch" }},
		{
			"the header's use case wins over the model's", "batch", []string{"Spillway-Use-Case", "assistant"},
			func(f *core.Facts) { f.Model, f.Target = "", "" },
		},
		{
			"everything asked", "claude",
			[]string{
				"Spillway-Use-Case", "batch", "Spillway-Task", "code", "Spillway-Priority", "7", "Spillway-Latency-Budget", "1234",
				"Spillway-Quality", "cost", "Accept-Language", "ja-JP, en;q=0.5", "Spillway-Cache", "off",
			},
			func(f *core.Facts) {
				f.UseCase, f.Task, f.Priority, f.LatencyBudgetMS = "batch", core.TaskCode, 7, 1300
				f.Quality, f.Language = core.QualityCost, "ja"
			},
		},
		{"the key caps the priority", "claude", []string{"Spillway-Priority", "10"}, func(f *core.Facts) { f.Priority = 8 }},
		{"the audience is the key's", "claude", []string{"X-Api-Key", freeKey}, func(f *core.Facts) { f.Audience = core.AudienceFree }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := base
			tt.want(&want)
			got := factsOf(t, strings.Replace(askMessages, `"claude"`, `"`+tt.model+`"`, 1), tt.header...).Facts
			want.InputTokens = got.InputTokens
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if got.InputTokens == 0 || got.InputTokens != core.RoundUp2(got.InputTokens) {
				t.Errorf("input tokens %d", got.InputTokens)
			}
		})
	}
}

func TestFacts_ForcedFallbackAndTags(t *testing.T) {
	t.Parallel()
	d := factsOf(t, askMessages, "Spillway-Force-Fallback", "true", "Spillway-Tags", "team=a, run 7")
	if !d.Facts.ForceFallback || d.Target != "claude-b" {
		t.Errorf("forced fallback: %v, answered by %s", d.Facts.ForceFallback, d.Target)
	}
	if d.Tags != "team=a, run 7" || d.KeyID != "paid" || d.Tenant != "tenant-paid" || d.Path != "/v1/messages" || d.Wire != core.WireAnthropic {
		t.Errorf("recorded tags %q, key %q, tenant %q, path %q, wire %q", d.Tags, d.KeyID, d.Tenant, d.Path, d.Wire)
	}
}

func TestFacts_Language(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]string{
		"": "en", "ja": "ja", "en-GB,ja;q=0.9": "en", "fr, ja;q=0.4, en;q=0.3": "ja", "fr": "en", "ja;q=nonsense": "en",
		"*": "en", "JA-jp": "ja", "ja;q=0": "en",
	} {
		if got := factsOf(t, askMessages, "Accept-Language", accept).Facts.Language; got != want {
			t.Errorf("Accept-Language %q: %s, want %s", accept, got, want)
		}
	}
}

// TestFacts_Affinity holds R2.4's order: the header, the vendor's user id, the
// start of the prompt; and that a conversation follows its first target.
func TestFacts_Affinity(t *testing.T) {
	t.Parallel()
	ask := func(user, first, second string) string {
		return `{"model":"auto","max_tokens":9,` + user + `"messages":[{"role":"user","content":"` + first +
			`"},{"role":"assistant","content":"a"},{"role":"user","content":"` + second + `"}]}`
	}
	v := newVendor(t, says(200, messageAnswer))
	r := twoRig(t, v, v)
	n := 0
	affine := func(body string, header ...string) bool {
		r.ask(t, "/v1/messages", body, header...)
		n++
		return r.tape.decision(t, n).Facts.AffinityTarget != ""
	}
	for _, step := range []struct {
		name, body string
		header     []string
		want       bool
	}{
		{"a first turn", ask("", "one", "x"), nil, false},
		{"the same start", ask("", "one", "y"), nil, true},
		{"another start", ask("", "two", "y"), nil, false},
		{"another tenant", ask("", "one", "x"), []string{"X-Api-Key", freeKey}, false},
		{"a user id", ask(`"metadata":{"user_id":"u1"},`, "one", "x"), nil, false},
		{"the same user id", ask(`"metadata":{"user_id":"u1"},`, "three", "x"), nil, true},
		{"a header", ask(`"metadata":{"user_id":"u1"},`, "one", "x"), []string{"Spillway-Affinity", "c1"}, false},
		{"the same header", ask("", "four", "x"), []string{"Spillway-Affinity", "c1"}, true},
	} {
		if got := affine(step.body, step.header...); got != step.want {
			t.Errorf("%s: follows an earlier request %v, want %v", step.name, got, step.want)
		}
	}
}
