package gateway_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
)

// carriers are the headers in which callers send keys.
func carriers() map[string][]string {
	return map[string][]string{
		"authorization":  {"X-Api-Key", "", "Authorization", "Bearer " + paidKey},
		"x-api-key":      {"X-Api-Key", paidKey},
		"api-key":        {"X-Api-Key", "", "Api-Key", paidKey},
		"x-goog-api-key": {"X-Api-Key", "", "X-Goog-Api-Key", paidKey},
	}
}

// private is what a caller's surroundings add and no vendor must see.
func private() []string {
	return []string{
		"Cookie", "session=hush", "X-Forwarded-For", "10.1.2.3", "X-Forwarded-Host", "inner.example", "Forwarded", "for=10.1.2.3",
		"X-Real-Ip", "10.1.2.3", "Openai-Organization", "org-1", "X-Custom", "hush", "Idempotency-Key", "i-1", "Spillway-Tags", "hush",
	}
}

// checkOutbound holds that a vendor saw only headers of the list, and of
// credentials its own key alone.
func checkOutbound(t *testing.T, h hit, own string) {
	t.Helper()
	allowed := []string{
		"Accept", "Content-Length", "Content-Type", "User-Agent", "Anthropic-Version", "Anthropic-Beta", "X-Api-Key", "Authorization",
	}
	for name, values := range h.header {
		if !slices.Contains(allowed, name) {
			t.Errorf("%s: %q went to the vendor", name, values)
		}
		for _, v := range values {
			if strings.Contains(v, paidKey) || strings.Contains(v, "hush") || strings.Contains(v, "10.1.2.3") {
				t.Errorf("%s: %q went to the vendor", name, v)
			}
		}
	}
	if got := strings.TrimPrefix(h.header.Get("Authorization"), "Bearer ") + h.header.Get("X-Api-Key"); got != own {
		t.Errorf("the vendor's credential is %q, want %q", got, own)
	}
	if strings.Contains(string(h.body), paidKey) {
		t.Error("the key is in the body")
	}
}

// TestCredentials_StayInside is field failure R47 (a): no inbound credential
// ever reaches a vendor, wherever the caller put it.
func TestCredentials_StayInside(t *testing.T) {
	t.Parallel()
	for _, w := range []core.Wire{core.WireAnthropic, core.WireOpenAI} {
		for name, header := range carriers() {
			t.Run(string(w)+"/"+name, func(t *testing.T) {
				t.Parallel()
				path, ask, answer, id := "/v1/messages", askMessages, messageAnswer, "claude"
				if w == core.WireOpenAI {
					path, ask, answer, id = "/v1/chat/completions", askChat, chatAnswer, "gpt"
				}
				v := newVendor(t, says(200, answer))
				r := rigOf(t, w, v)
				if got := r.ask(t, path, ask, append(header, private()...)...); got.status != 200 {
					t.Fatalf("status %d: %s", got.status, got.body)
				}
				checkOutbound(t, v.last(t), "key of "+id)
			})
		}
	}
}

// TestCredentials_NoneConfigured is R47 (b): a target whose key is empty is not
// called, with the caller's key or without.
func TestCredentials_NoneConfigured(t *testing.T) {
	t.Parallel()
	for name, header := range carriers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVendor(t, says(200, messageAnswer))
			r := newRig(t, []target{{id: "claude", model: "claude-1", wire: core.WireAnthropic, vendor: v, key: "-"}})
			got := r.ask(t, "/v1/messages", askMessages, header...)
			checkError(t, core.WireAnthropic, got, 503)
			if v.count() != 0 {
				t.Errorf("%d calls without a credential", v.count())
			}
		})
	}
}

// TestCredentials_EachVendorItsOwn is R47 (c): after a fallback every vendor has
// seen only its own key.
func TestCredentials_EachVendorItsOwn(t *testing.T) {
	t.Parallel()
	a := newVendor(t, says(529, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`))
	o := newVendor(t, says(200, chatAnswer))
	r := newRig(t, []target{
		{id: "claude", model: "claude-1", wire: core.WireAnthropic, vendor: a},
		{id: "gpt", model: "gpt-1", wire: core.WireOpenAI, vendor: o},
	}, setup{tables: noRetries})
	got := r.ask(t, "/v1/messages", askMessages, append(private(), "Anthropic-Beta", "b-1", "Anthropic-Version", "2026-10-21")...)
	if got.status != 200 {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	checkOutbound(t, a.last(t), "key of claude")
	checkOutbound(t, o.last(t), "key of gpt")
	if h := o.last(t).header; h.Get("Anthropic-Beta") != "" || h.Get("Anthropic-Version") != "" {
		t.Errorf("the other vendor saw Anthropic's headers: %v", h)
	}
}

// TestCredentials_NotRedirected is R47 (d): a redirect takes them nowhere.
func TestCredentials_NotRedirected(t *testing.T) {
	t.Parallel()
	other := newVendor(t, says(200, messageAnswer))
	v := newVendor(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/v1/messages", http.StatusTemporaryRedirect)
	})
	r := anthropicRig(t, v, setup{tables: noRetries})
	checkError(t, core.WireAnthropic, r.ask(t, "/v1/messages", askMessages), 502)
	if other.count() != 0 {
		t.Error("the redirect was followed")
	}
}
