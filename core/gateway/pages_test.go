package gateway_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/gateway"
)

// decode reads a JSON document.
func decode[T any](t testing.TB, r reply) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		t.Fatalf("%v in %q", err, r.body)
	}
	return v
}

func TestModels(t *testing.T) {
	t.Parallel()
	v := newVendor(t, says(200, messageAnswer))
	r := newRig(t, []target{
		{id: "claude", model: "claude-1", wire: core.WireAnthropic, vendor: v},
		{id: "claude-1", model: "claude-1", wire: core.WireAnthropic, vendor: v},
		{id: "gpt", model: "gpt-1", wire: core.WireOpenAI, vendor: v},
	}, setup{config: func(c *gateway.Config) { c.Simulated = true }})
	type entry struct {
		ID, Type, Object, DisplayName string
		Simulated                     bool
		Created                       string `json:"created_at"`
		OwnedBy                       string `json:"owned_by"`
	}
	type list struct {
		Object  string
		Data    []entry
		HasMore *bool  `json:"has_more"`
		FirstID string `json:"first_id"`
		LastID  string `json:"last_id"`
	}
	a := decode[list](t, r.do(t, "GET", "/v1/models", nil, "Anthropic-Version", "2023-06-01"))
	if len(a.Data) != 4 || a.Data[0].Type != "model" || a.HasMore == nil || a.FirstID != "claude" || a.LastID != "gpt-1" || a.Data[0].Created == "" {
		t.Errorf("for an Anthropic client %+v", a)
	}
	o := decode[list](t, r.do(t, "GET", "/v1/models", nil))
	if len(o.Data) != 4 || o.Object != "list" || o.Data[0].Object != "model" || o.Data[3].OwnedBy != "openai" || !o.Data[0].Simulated {
		t.Errorf("for an OpenAI client %+v", o)
	}
	one := decode[entry](t, r.do(t, "GET", "/v1/models/gpt-1", nil))
	if one.ID != "gpt-1" || one.Object != "model" {
		t.Errorf("one model %+v", one)
	}
}

func TestPlan_SaysAndDoesNot(t *testing.T) {
	t.Parallel()
	v := newVendor(t, says(200, messageAnswer))
	r := twoRig(t, v, v)
	type plan struct {
		Possible  bool
		Facts     core.Facts
		Steps     []core.Step
		Preferred string
		Plan      map[string]any
	}
	got := map[string]plan{}
	for _, key := range []string{freeKey, paidKey, adminKey} {
		got[key] = decode[plan](t, r.ask(t, "/v1/plan", askMessages, "X-Api-Key", key))
	}
	free, paid, admin := got[freeKey], got[paidKey], got[adminKey]
	if !free.Possible || free.Steps != nil || free.Plan != nil || free.Facts.Target != "claude" {
		t.Errorf("free: %+v", free)
	}
	if len(paid.Steps) != 2 || paid.Preferred != "claude" || paid.Plan != nil {
		t.Errorf("paid: %+v", paid)
	}
	if admin.Plan["preferred"] != "claude" {
		t.Errorf("admin: %+v", admin)
	}
	if v.count() != 0 || len(r.tape.decisions) != 0 {
		t.Error("a plan was carried out, or recorded as a decision")
	}
}

func TestPlan_EitherFormat(t *testing.T) {
	t.Parallel()
	v := newVendor(t, says(200, messageAnswer))
	r := twoRig(t, v, v)
	tests := []struct {
		name, body string
		header     []string
		max        int
	}{
		{"Anthropic by header", askMessages, []string{"Anthropic-Version", "2026-10-21"}, 64},
		{"Anthropic by shape", `{"model":"claude","max_tokens":64,"system":"s","messages":[{"role":"user","content":"hi"}]}`, nil, 64},
		{"OpenAI by shape", `{"model":"claude","max_completion_tokens":641,"messages":[{"role":"user","content":"hi"}]}`, nil, 650},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := decode[struct{ Facts core.Facts }](t, r.ask(t, "/v1/plan", tt.body, tt.header...))
			if p.Facts.MaxTokens != tt.max {
				t.Errorf("max tokens %d, want %d", p.Facts.MaxTokens, tt.max)
			}
		})
	}
	checkError(t, core.WireAnthropic, r.ask(t, "/v1/plan", `{"model":"claude"}`, "Anthropic-Version", "2023-06-01"), 400)
}

func TestHealth(t *testing.T) {
	t.Parallel()
	busy := says(529, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`)
	r := anthropicRig(t, newVendor(t, busy), setup{tables: func(tb *core.Tables) {
		noRetries(tb)
		for u := range tb.Circuits {
			tb.Circuits[u][0].FailureThreshold = 1
		}
	}})
	type page struct {
		Overall  string
		Models   map[string]struct{ Circuits map[string]string }
		UseCases map[string]string `json:"use_cases"`
		Fallback struct {
			HitRate *float64 `json:"cacheHitRate"`
			Size    *int     `json:"cacheSize"`
		}
		Timestamp string
	}
	got := r.do(t, "GET", "/health", nil, "X-Api-Key", "")
	p := decode[page](t, got)
	if got.status != 200 || p.Overall != "healthy" || p.UseCases["assistant"] != "healthy" || p.Models["claude"].Circuits["assistant"] != "closed" {
		t.Errorf("%d: %+v", got.status, p)
	}
	if p.Fallback.HitRate == nil || p.Fallback.Size == nil || p.Timestamp == "" {
		t.Errorf("fields are missing: %s", got.body)
	}
	r.ask(t, "/v1/messages", askMessages)
	got = r.do(t, "GET", "/health", nil, "X-Api-Key", "")
	if p = decode[page](t, got); p.Models["claude"].Circuits["assistant"] != "open" || p.UseCases["assistant"] == "healthy" || p.Overall == "healthy" {
		t.Errorf("with an open circuit %d: %s", got.status, got.body)
	}
}

func TestLiveAndReady(t *testing.T) {
	t.Parallel()
	r := anthropicRig(t, newVendor(t, says(200, messageAnswer)))
	for _, path := range []string{"/livez", "/readyz"} {
		if got := r.do(t, http.MethodGet, path, nil, "X-Api-Key", ""); got.status != 200 {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	r.gateway.Drain()
	if got := r.do(t, http.MethodGet, "/readyz", nil); got.status != 503 {
		t.Errorf("while draining /readyz is %d", got.status)
	}
	if got := r.do(t, http.MethodGet, "/livez", nil); got.status != 200 {
		t.Errorf("while draining /livez is %d", got.status)
	}
	if got := r.ask(t, "/v1/messages", askMessages); got.status != 200 {
		t.Errorf("while draining a request gets %d", got.status)
	}
}
