package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core/demovendor"
)

// priceless is field failure R51's configuration: m-1 has a price, m-2 and the
// names that look like m-1 have none, and one model is free.
const priceless = `
providers:
  - {id: o, wire: openai, nodes: [{url: %q}], keys: [{id: k, value: "${KEY}"}]}
targets:
  - {id: m-1, provider: o, context_tokens: 8000, price: {input: %d, output: 15, cache_read: 0, cache_write: 0, as_of: %s}}
  - {id: vendor/m-1, provider: o, context_tokens: 8000}
  - {id: m-1-2026-09-01, provider: o, context_tokens: 8000}
  - {id: m-2, provider: o, context_tokens: 8000}
  - {id: free, provider: o, context_tokens: 8000, price: {input: 0, output: 0, cache_read: 0, cache_write: 0, as_of: 2026-11-30}}
`

// newPriceless starts a server over it. The vendor answers under a dated name,
// as vendors do, which must not decide what an answer costs.
func newPriceless(t *testing.T) (s *started, o *demovendor.Vendor, url string) {
	models := []string{"m-1", "vendor/m-1", "m-1-2026-09-01", "m-2", "free"}
	o, url = vendorAt(t, demovendor.WireOpenAI, models...)
	o.Always(demovendor.Step{Model: "m-1-2026-09-01", Usage: &demovendor.Usage{Input: 1000, Output: 100}})
	return startWith(t, priceless, url, 3, "2026-11-01"), o, url
}

func (s *started) chat(model string) answer {
	return s.post("/v1/chat/completions", fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hi"}]}`, model))
}

// TestUnpriced_IsNotFree is field failure R51: a cost that nobody knows is
// recorded as unknown, and a price of 0 as 0.
func TestUnpriced_IsNotFree(t *testing.T) {
	t.Parallel()
	s, _, _ := newPriceless(t)
	for i, tt := range []struct{ model, usd, asOf string }{
		{"m-1", "0.0045", "2026-11-01"},
		{"vendor/m-1", "NULL", "NULL"},
		{"m-1-2026-09-01", "NULL", "NULL"},
		{"m-2", "NULL", "NULL"},
		{"free", "0", "2026-11-30"},
	} {
		got := s.chat(tt.model)
		d := s.decisions(i + 1)[i]
		if got.status != 200 || d.Target != tt.model || d.CostKnown != (tt.usd != "NULL") {
			t.Fatalf("%s: %d by %q, cost known %v", tt.model, got.status, d.Target, d.CostKnown)
		}
		row := append(s.column("SELECT cost_usd FROM v_decisions LIMIT 1"),
			append(s.column("SELECT cost_usd FROM v_attempts LIMIT 1"), s.column("SELECT price_as_of FROM v_attempts LIMIT 1")...)...)
		if !slices.Equal(row, []string{tt.usd, tt.usd, tt.asOf}) {
			t.Errorf("%s: the database says %v, want %s by the price of %s", tt.model, row, tt.usd, tt.asOf)
		}
	}
	if sum := s.column("SELECT sum(cost_usd) FROM v_decisions"); sum[0] != "0.0045" {
		t.Errorf("the sum of what is known is %v", sum)
	}
}

// TestUnpriced_Shows holds that targets without a price are listed where people
// and machines look, and are warned of at the start.
func TestUnpriced_Shows(t *testing.T) {
	t.Parallel()
	s, _, _ := newPriceless(t)
	var page struct {
		Models map[string]struct{ Priced *bool }
	}
	if err := json.Unmarshal([]byte(s.get("/health").body), &page); err != nil {
		t.Fatal(err)
	}
	overview := s.signIn()("")
	for model, priced := range map[string]bool{"m-1": true, "vendor/m-1": false, "m-1-2026-09-01": false, "m-2": false, "free": true} {
		if p := page.Models[model].Priced; p == nil || *p != priced {
			t.Errorf("/health says of %s: priced %v, want %v", model, p, priced)
		}
		_, card, _ := strings.Cut(overview, `>`+model+`</a></h3>`)
		card, _, _ = strings.Cut(card, "</article>")
		if shown := strings.Contains(card, "no price"); card == "" || shown == priced {
			t.Errorf("the console's card of %s says that there is no price: %v", model, shown)
		}
		if warned := strings.Contains(s.cfg.Warnings.Error(), fmt.Sprintf("the cost of %q stays unknown", model)); warned == priced {
			t.Errorf("the configuration of %s was warned of: %v", model, warned)
		}
	}
}

// TestUnpriced_NoGuessByName holds that a name which only looks like a model of
// the list is not served under that one's price.
func TestUnpriced_NoGuessByName(t *testing.T) {
	t.Parallel()
	o, url := vendorAt(t, demovendor.WireOpenAI, "m-1")
	s := startWith(t, priceless[:strings.Index(priceless, "  - {id: vendor/m-1")], url, 3, "2026-11-01")
	for _, model := range []string{"vendor/m-1", "m-1-2026-09-01", "m-2", "M-1"} {
		if got := s.chat(model); got.status != 404 || !strings.Contains(got.body, "model_not_found") {
			t.Errorf("%s: %d %s", model, got.status, got.body)
		}
	}
	if n := o.Stats().Hits(demovendor.Count{}); n != 0 {
		t.Errorf("%d requests reached the vendor", n)
	}
}

// TestUnpriced_LaterPricesRewriteNothing holds that a row keeps the price that it
// was recorded with.
func TestUnpriced_LaterPricesRewriteNothing(t *testing.T) {
	t.Parallel()
	s, _, url := newPriceless(t)
	s.chat("m-1")
	s.decisions(1)
	if err := os.WriteFile(s.o.Config, fmt.Appendf(nil, priceless, url, 6, "2026-11-30"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	s.chat("m-1")
	s.decisions(2)
	got := append(s.column("SELECT cost_usd FROM v_attempts"), s.column("SELECT price_as_of FROM v_attempts")...)
	if !slices.Equal(got, []string{"0.0075", "0.0045", "2026-11-30", "2026-11-01"}) {
		t.Errorf("newest first, the rows say %v", got)
	}
}
