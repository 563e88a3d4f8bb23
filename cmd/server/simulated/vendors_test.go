package simulated_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/cmd/server/simulated"
	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/core"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// recorder keeps the fault changes.
type recorder struct {
	mu   sync.Mutex
	seen []core.FaultChange
}

func (r *recorder) Record(ev core.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, *ev.(*core.FaultChange))
}

func start(t *testing.T) (*simulated.Vendors, *recorder) {
	t.Helper()
	r := &recorder{}
	v, err := simulated.Start(r, func() time.Time { return noon })
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return v, r
}

// ask sends one small request to a vendor and returns the status.
func ask(t *testing.T, v *simulated.Vendors, w core.Wire) int {
	t.Helper()
	path, body := "/v1/messages", `{"model":"claude-haiku-5-5","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}`
	if w == core.WireOpenAI {
		path, body = "/v1/chat/completions", `{"model":"gpt-6-luna","max_completion_tokens":1,"messages":[{"role":"user","content":"hi"}]}`
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.URL(w)+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("ask %s: %v", w, err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

func TestVendors_BreakAndHeal(t *testing.T) {
	t.Parallel()
	v, r := start(t)
	if got := ask(t, v, core.WireAnthropic); got != 200 {
		t.Fatalf("a healthy vendor answers %d", got)
	}
	if err := v.Break(t.Context(), "anthropic", console.FaultOverloaded, "ada"); err != nil {
		t.Fatalf("Break: %v", err)
	}
	if got := ask(t, v, core.WireAnthropic); got != 529 {
		t.Errorf("the broken vendor answers %d, want 529", got)
	}
	if got := ask(t, v, core.WireOpenAI); got != 200 {
		t.Errorf("the other vendor answers %d, want 200", got)
	}
	list := v.Vendors()
	if list[0].Fault != console.FaultOverloaded || !list[0].Since.Equal(noon) || list[1].Fault != console.FaultNone {
		t.Errorf("vendors = %+v", list)
	}
	if err := v.Heal(t.Context(), "anthropic", "ada"); err != nil {
		t.Fatalf("Heal: %v", err)
	}
	if got := ask(t, v, core.WireAnthropic); got != 200 {
		t.Errorf("the healed vendor answers %d, want 200", got)
	}
	want := []core.FaultChange{
		{At: noon, Vendor: "anthropic", Fault: "overloaded", By: "ada"},
		{At: noon, Vendor: "anthropic", By: "ada"},
	}
	if len(r.seen) != 2 || r.seen[0] != want[0] || r.seen[1] != want[1] {
		t.Errorf("recorded %+v, want %+v", r.seen, want)
	}
}

func TestVendors_ConsoleFaultsAllExist(t *testing.T) {
	t.Parallel()
	v, _ := start(t)
	for _, f := range console.Faults() {
		if err := v.Break(t.Context(), "openai", f, "ada"); err != nil {
			t.Errorf("Break with %q: %v", f, err)
		}
	}
}

func TestVendors_Refuse(t *testing.T) {
	t.Parallel()
	v, r := start(t)
	if err := v.Break(t.Context(), "nobody", console.FaultSlow, "ada"); !errors.Is(err, console.ErrNotFound) {
		t.Errorf("Break of an unknown vendor = %v, want ErrNotFound", err)
	}
	if err := v.Break(t.Context(), "openai", "fire", "ada"); !errors.Is(err, console.ErrRefused) {
		t.Errorf("Break with an unknown fault = %v, want ErrRefused", err)
	}
	if len(r.seen) != 0 {
		t.Errorf("recorded %+v, want nothing", r.seen)
	}
}

func TestServeFault(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path, contentType, body string
		status                  int
		fault                   console.Fault
		says                    string
	}{
		"break":         {"anthropic", "application/json", `{"fault":"overloaded"}`, 204, "overloaded", ""},
		"break_figures": {"anthropic", "application/json; charset=utf-8", `{"fault":"rate_limited","retry_after_s":3}`, 204, "rate_limited", ""},
		"heal":          {"anthropic", "application/json", `{"fault":""}`, 204, "", ""},
		"unknown_name":  {"mistral", "application/json", `{"fault":""}`, 404, "", "anthropic"},
		"unknown_fault": {"anthropic", "application/json", `{"fault":"fire"}`, 400, "", "overloaded"},
		"unknown_field": {"anthropic", "application/json", `{"fualt":"overloaded"}`, 400, "", "heal"},
		"no_fault":      {"anthropic", "application/json", `{}`, 400, "", "heal"},
		"no_json":       {"anthropic", "application/json", `overloaded`, 400, "", "heal"},
		"form":          {"anthropic", "application/x-www-form-urlencoded", `fault=overloaded`, 415, "", "application/json"},
		"plain":         {"anthropic", "text/plain", `{"fault":"overloaded"}`, 415, "", "application/json"},
		"too_long":      {"anthropic", "application/json", `{"fault":"` + strings.Repeat("x", 5000) + `"}`, 400, "", "heal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, _ := start(t)
			mux := http.NewServeMux()
			mux.HandleFunc(simulated.FaultPattern, v.ServeFault)
			req := httptest.NewRequest(http.MethodPost, "/sim/vendors/"+tt.path+"/fault", strings.NewReader(tt.body))
			req.Header.Set("Content-Type", tt.contentType)
			rec := httptest.NewRecorder()
			mux.ServeHTTP(rec, req)
			if rec.Code != tt.status || !strings.Contains(rec.Body.String(), tt.says) {
				t.Errorf("answer = %d %q, want %d with %q", rec.Code, rec.Body, tt.status, tt.says)
			}
			if got := v.Vendors()[0].Fault; got != tt.fault {
				t.Errorf("fault = %q, want %q", got, tt.fault)
			}
		})
	}
}
