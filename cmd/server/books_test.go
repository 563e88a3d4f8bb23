package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core/demovendor"
)

// bothVendors is field failure R21's configuration: the same prices at a vendor
// of each wire format.
const bothVendors = `
providers:
  - {id: a, wire: anthropic, nodes: [{url: %q}], keys: [{id: k, value: "${KEY}"}]}
  - {id: o, wire: openai, nodes: [{url: %q}], keys: [{id: k, value: "${KEY}"}]}
targets:
  - id: claude
    provider: a
    context_tokens: 200000
    max_output_tokens: 64000
    price: {input: 3, output: 15, cache_read: 0.30, cache_write: 3.75, cache_write_1h: 6, as_of: 2026-11-30}
  - id: gpt
    provider: o
    context_tokens: 200000
    max_output_tokens: 64000
    price: {input: 3, output: 15, cache_read: 0.30, cache_write: 0, as_of: 2026-11-30}
`

// billed is what an answer tells its caller about tokens, in either format.
type billed struct {
	Input      int `json:"input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	Output     int `json:"output_tokens"`
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// usageIn finds the usage of an answer or, in a stream, the last word on each
// figure.
func usageIn(t *testing.T, body string) billed {
	t.Helper()
	var b billed
	var doc struct {
		Usage   *json.RawMessage
		Message struct{ Usage *json.RawMessage }
	}
	for line := range strings.Lines(body) {
		data := strings.TrimSpace(strings.TrimPrefix(line, "data: "))
		if !strings.HasPrefix(data, "{") {
			continue
		}
		doc.Usage, doc.Message.Usage = nil, nil
		if err := json.Unmarshal([]byte(data), &doc); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		for _, u := range []*json.RawMessage{doc.Message.Usage, doc.Usage} {
			if u == nil {
				continue
			}
			if err := json.Unmarshal(*u, &b); err != nil {
				t.Fatalf("%v in %s", err, *u)
			}
		}
	}
	return b
}

// TestBooks_CachedTokensArePaidOnce is field failure R21: one vendor counts
// cached tokens beside the input, the other within it, and neither is paid twice.
func TestBooks_CachedTokensArePaidOnce(t *testing.T) {
	t.Parallel()
	a, urlA := vendorAt(t, demovendor.WireAnthropic, "claude")
	o, urlO := vendorAt(t, demovendor.WireOpenAI, "gpt")
	a.Always(demovendor.Step{Usage: &demovendor.Usage{Input: 10, CacheWrite: 2000, CacheRead: 8000, Output: 100}})
	o.Always(demovendor.Step{Usage: &demovendor.Usage{Input: 2010, CacheRead: 8000, Output: 100}})
	s := startWith(t, bothVendors, urlA, urlO)
	chat := billed{Prompt: 10010, Completion: 100}
	chat.Details.Cached = 8000
	asked := 0
	for _, tt := range []struct {
		path, model string
		cost        int64 // picodollars
		usd         string
		want        billed
	}{
		{"/v1/messages", "claude", 11_430_000_000, "0.01143", billed{Input: 10, CacheWrite: 2000, CacheRead: 8000, Output: 100}},
		{"/v1/messages", "gpt", 9_930_000_000, "0.00993", billed{Input: 2010, CacheRead: 8000, Output: 100}},
		{"/v1/chat/completions", "claude", 11_430_000_000, "0.01143", chat},
		{"/v1/chat/completions", "gpt", 9_930_000_000, "0.00993", chat},
	} {
		for _, stream := range []bool{false, true} {
			body := fmt.Sprintf(`{"model":%q,"max_tokens":200,"stream":%v,"messages":[{"role":"user","content":"hi"}]}`, tt.model, stream)
			if stream && tt.path != "/v1/messages" {
				body = strings.TrimSuffix(body, "}") + `,"stream_options":{"include_usage":true}}`
			}
			got := s.post(tt.path, body)
			asked++
			if u := usageIn(t, got.body); got.status != 200 || u != tt.want {
				t.Errorf("%s of %s, stream %v: %d, told %+v, want %+v", tt.path, tt.model, stream, got.status, u, tt.want)
			}
			d := s.decisions(asked)[asked-1]
			if d.Target != tt.model || !d.CostKnown || d.Cost != tt.cost || d.Attempts[0].Cost != tt.cost || d.Attempts[0].PriceAsOf != "2026-11-30" {
				t.Errorf("%s of %s, stream %v: %s recorded at %d, known %v, attempts %+v",
					tt.path, tt.model, stream, d.Target, d.Cost, d.CostKnown, d.Attempts)
			}
			if in := s.column("SELECT cost_usd FROM v_decisions LIMIT 1"); in[0] != tt.usd {
				t.Errorf("%s of %s, stream %v: the database says %v, want %s", tt.path, tt.model, stream, in, tt.usd)
			}
		}
	}
	page := s.signIn()("decisions")
	if x, y := strings.Count(page, "$0.0114"), strings.Count(page, "$0.009930"); x != 4 || y != 4 {
		t.Errorf("the console shows one cost %d times and the other %d times, want 4 each", x, y)
	}
}
