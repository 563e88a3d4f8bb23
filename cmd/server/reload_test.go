package main

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/core/demovendor"
)

// oneVendor serves one target at URL.
const oneVendor = `
providers:
  - {id: local, wire: anthropic, vendor: ourselves, nodes: [{id: n, url: "URL"}], keys: [{id: k, value: "${VENDOR_KEY}"}]}
targets:
  - {id: local-haiku, provider: local, model: claude-haiku-5-5, family: haiku, context_tokens: 200000,
     price: {input: 1, output: 5, cache_read: 0, cache_write: 0, cache_write_1h: 0, as_of: 2026-11-30}}
`

// vendorEnvironment holds the key that oneVendor asks for.
func vendorEnvironment(name string) (string, bool) { return "the-vendors-key", name == "VENDOR_KEY" }

// realVendor is a vendor that is not one of the server's own.
func realVendor(t *testing.T) *httptest.Server {
	t.Helper()
	cfg := demovendor.Preset(demovendor.WireAnthropic)
	cfg.RequireKey = "the-vendors-key"
	for i := range cfg.Models {
		cfg.Models[i].FirstContent, cfg.Models[i].PerChunk = 0, 0
	}
	v := httptest.NewServer(demovendor.New(cfg))
	t.Cleanup(v.Close)
	return v
}

func TestServer_RealVendors(t *testing.T) {
	t.Parallel()
	vendor := realVendor(t)
	var log logBuffer
	o := Options{
		Config: write(t, "spillway.yaml", strings.ReplaceAll(oneVendor, "URL", vendor.URL)), Env: vendorEnvironment,
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	s := start(t, o)
	if s.ready.Simulated || !strings.HasPrefix(s.ready.Key, "sw_") || s.ready.Key == simulatedAdminKey {
		t.Fatalf("ready = %+v, want a new key and real vendors", s.ready)
	}
	if a := s.post("/v1/messages", askAnthropic); a.status != http.StatusOK {
		t.Errorf("answer = %d %s", a.status, a.body)
	}
	if a := s.post("/v1/messages", askAnthropic, "X-Api-Key", simulatedAdminKey); a.status != http.StatusUnauthorized {
		t.Errorf("the simulated vendors' key is answered with %d", a.status)
	}
	if a := s.post("/sim/vendors/anthropic/fault", `{"fault":"overloaded"}`); a.status != http.StatusNotFound {
		t.Errorf("the fault switch answers %d with real vendors", a.status)
	}
	s.stop()
	again := start(t, Options{Config: o.Config, Env: o.Env, Data: s.cfg.Data})
	if again.ready.Key != "" {
		t.Error("the key is made, or shown, a second time")
	}
	if a := again.post("/v1/messages", askAnthropic, "X-Api-Key", s.ready.Key); a.status != http.StatusOK {
		t.Errorf("after a restart the key is answered with %d", a.status)
	}
	for _, secret := range []string{"the-vendors-key", s.ready.Key, s.ready.Password} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log holds a secret:\n%s", log.String())
		}
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	vendor := realVendor(t)
	good := strings.ReplaceAll(oneVendor, "URL", vendor.URL)
	file := write(t, "spillway.yaml", good)
	s := start(t, Options{Config: file, Env: vendorEnvironment})
	digest := s.rules.engine.Revision().Catalog.Digest
	put := func(text string) error {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return s.Reload(t.Context(), "ada")
	}
	for name, tt := range map[string]struct{ text, want string }{
		"unknown_field":  {good + "falbacks: []\n", "falbacks"},
		"unset_variable": {strings.ReplaceAll(good, "VENDOR_KEY", "OTHER_KEY"), "OTHER_KEY"},
		"no_provider":    {"", "restart"},
	} {
		err := put(tt.text)
		if !errors.Is(err, console.ErrRefused) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Reload = %v, want a refusal that names %s", name, err, tt.want)
		}
		if got := s.rules.engine.Revision().Catalog.Digest; got != digest {
			t.Errorf("%s: the refused configuration is in force", name)
		}
		if a := s.post("/v1/messages", askAnthropic); a.status != http.StatusOK {
			t.Errorf("%s: answer = %d", name, a.status)
		}
	}
	if err := put(strings.ReplaceAll(good, "local-haiku", "renamed-haiku")); err != nil {
		t.Fatalf("Reload: %v", err)
	}
	if a := s.post("/v1/messages", askAnthropic); a.header.Get("Spillway-Target") != "renamed-haiku" {
		t.Errorf("answered by %q after the reload: %d %s", a.header.Get("Spillway-Target"), a.status, a.body)
	}
	checkConfigEvents(t, s, 5) // the start, three refusals, one reload
}

// checkConfigEvents waits for the configuration's events in the history.
func checkConfigEvents(t *testing.T, s *started, want int) {
	t.Helper()
	eventually(t, "every reload is in the history", func() bool {
		list, err := s.db.Events(t.Context(), 0, 0, []string{"config"}, 50)
		return err == nil && len(list) == want
	})
}

// A configuration that the acting policies do not fit is refused with the place.
func TestReload_PoliciesDoNotFit(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(oneVendor, "URL", "http://127.0.0.1:1")
	file := write(t, "spillway.yaml", text)
	s := start(t, Options{Config: file, Env: vendorEnvironment})
	files := shipped(t, "config/data.json", func(s string) string {
		return strings.Replace(s, `"id": "batch", "targets": []`, `"id": "batch", "targets": ["local-haiku"]`, 1)
	})
	if _, err := s.rules.Activate(t.Context(), files, console.Change{By: "ada", Reason: "mine", Expected: 1}); err != nil {
		t.Fatalf("Activate: %v", err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "local-haiku", "other-haiku")), 0o600); err != nil {
		t.Fatal(err)
	}
	err := s.Reload(t.Context(), "ada")
	if !errors.Is(err, console.ErrRefused) || !strings.Contains(err.Error(), "config/data.json:4") || !strings.Contains(err.Error(), "local-haiku") {
		t.Errorf("Reload = %v, want a refusal with the place", err)
	}
	if _, ok := s.rules.engine.Revision().Catalog.TargetIndex("local-haiku"); !ok {
		t.Error("the refused configuration is in force")
	}
}

// A key that is exchanged in the environment's file reaches the vendor with the
// next attempt, although the catalog's digest, which holds no secret, is the same.
func TestReload_ExchangesAProviderKey(t *testing.T) {
	t.Parallel()
	vendor := realVendor(t)
	key := "the-vendors-key"
	env := func(name string) (string, bool) { return key, name == "VENDOR_KEY" }
	s := start(t, Options{Config: write(t, "spillway.yaml", strings.ReplaceAll(oneVendor, "URL", vendor.URL)), Env: env})
	if a := s.post("/v1/messages", askAnthropic); a.status != http.StatusOK {
		t.Fatalf("answer = %d %s", a.status, a.body)
	}
	key = "revoked"
	if err := s.Reload(t.Context(), "ada"); err != nil {
		t.Fatalf("Reload: %v", err)
	}
	if a := s.post("/v1/messages", askAnthropic); a.status == http.StatusOK {
		t.Error("the old key is still in use")
	}
}
