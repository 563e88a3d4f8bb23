package anthropic_test

import (
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/core/wire/anthropic"
)

// withUsage is a whole answer with the given usage object.
func withUsage(usage string) string {
	return `{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"` +
		`usage\":{\"input_tokens\":99}"}],"stop_reason":"end_turn","stop_sequence":null,"usage":` + usage + `}`
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	for usage, want := range map[string]price.Usage{
		`{"input_tokens":10,"output_tokens":7}`: {Input: 10, Output: 7, Known: true},
		`{"input_tokens":10,"cache_creation_input_tokens":2000,"cache_read_input_tokens":8000,"output_tokens":100}`: {
			Input: 10, CacheWrite: 2000, CacheRead: 8000, Output: 100, Known: true},
		`{"input_tokens":1,"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20},"output_tokens":2}`: {
			Input: 1, CacheWrite: 10, CacheWrite1h: 20, Output: 2, Known: true},
		`{"cache_creation":{"ephemeral_1h_input_tokens":20},"output_tokens":2,"input_tokens":1}`: {
			Input: 1, CacheWrite1h: 20, Output: 2, Known: true},
		`{"input_tokens":1,"output_tokens":50,"output_tokens_details":{"thinking_tokens":40},"server_tool_use":null}`: {
			Input: 1, Output: 50, Reasoning: 40, Known: true},
		`{"input_tokens":-5,"output_tokens":"many"}`: {},
		`null`: {},
	} {
		u, model, id, err := anthropic.New().Answer([]byte(withUsage(usage)))
		if err != nil || model != "claude-opus-5-5" || id != "msg_1" || u != want {
			t.Errorf("%s: %+v %q %q %v, want %+v", usage, u, model, id, err, want)
		}
	}
}

// TestAnswer_CostOfCachedTokens is field case R21: cached tokens are paid once.
func TestAnswer_CostOfCachedTokens(t *testing.T) {
	t.Parallel()
	table := price.Table{Input: price.PerMillion(3), Output: price.PerMillion(15), CacheWrite: price.PerMillion(3.75), CacheRead: price.PerMillion(0.3), AsOf: "2026-11-29"}
	u, _, _, err := anthropic.New().Answer([]byte(withUsage(`{"input_tokens":10,"cache_creation_input_tokens":2000,"cache_read_input_tokens":8000,"output_tokens":100}`)))
	if err != nil {
		t.Fatal(err)
	}
	if cost, known := table.Cost(u); !known || cost != 11_430_000_000 {
		t.Errorf("cost %v (known %v), want 0.01143 USD", price.USD(cost), known)
	}
}

func TestAnswer_IsNone(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]core.Kind{
		"":                                       core.KindBadResponse,
		"<html>OK</html>":                        core.KindBadResponse,
		`{"id":"msg_1","content":[`:              core.KindBadResponse,
		`{"status":"ok"}`:                        core.KindBadResponse,
		`[]`:                                     core.KindBadResponse,
		`{"content":"text"}`:                     core.KindBadResponse,
		vendorError("api_error", "m", ""):        core.KindServerError,
		vendorError("brand_new", "m", ""):        core.KindServerError,
		vendorError("overloaded_error", "m", ""): core.KindOverloaded,
		vendorError("invalid_request_error", "m", ""): core.KindInvalidRequest,
		withUsage("{}") + "x":                         core.KindBadResponse,
	} {
		_, _, _, err := anthropic.New().Answer([]byte(body))
		if err == nil || err.Kind != want {
			t.Errorf("%.50s: %v, want %v", body, err, want)
		}
	}
}

func TestAnswer_AllocatesTheNamesOnly(t *testing.T) {
	doc := []byte(strings.Replace(withUsage(`{"input_tokens":10,"output_tokens":7}`), `"text":"`, `"text":"`+strings.Repeat("words ", 300), 1))
	f := anthropic.New()
	if allocs := testing.AllocsPerRun(100, func() { _, _, _, _ = f.Answer(doc) }); allocs > 2 {
		t.Errorf("%v allocations, want 2", allocs)
	}
}
