package openai_test

import (
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/core/wire/openai"
)

// withUsage is a whole answer with the given usage object.
func withUsage(usage string) string {
	return `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-6-sol","error":null,"choices":[{"index":0,` +
		`"message":{"role":"assistant","content":"hi","refusal":null},"finish_reason":"stop"}],"usage":` + usage + `}`
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	for usage, want := range map[string]price.Usage{
		`{"prompt_tokens":10,"completion_tokens":7,"total_tokens":17}`: {Input: 10, Output: 7, Known: true},
		`{"prompt_tokens":10010,"completion_tokens":100,"prompt_tokens_details":{"cached_tokens":8000}}`: {
			Input: 2010, CacheRead: 8000, Output: 100, Known: true},
		`{"prompt_tokens_details":{"cached_tokens":5,"cache_write_tokens":3,"audio_tokens":0},"prompt_tokens":10,"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":4}}`: {
			Input: 2, CacheRead: 5, CacheWrite: 3, Output: 9, Reasoning: 4, Known: true},
		`{"prompt_tokens":3,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":5}}`: {
			CacheRead: 5, Output: 1, Known: true}, // more cached than sent: no negative rest
		`{"prompt_tokens":3,"prompt_tokens_details":null,"completion_tokens":0}`: {Input: 3, Known: true},
		`{}`:   {},
		`null`: {},
	} {
		u, model, id, err := openai.New().Answer([]byte(withUsage(usage)))
		if err != nil || model != "gpt-6-sol" || id != "chatcmpl-1" || u != want {
			t.Errorf("%s: %+v %q %q %v, want %+v", usage, u, model, id, err, want)
		}
	}
}

// TestAnswer_CostOfCachedTokens is field case R21: cached tokens are paid once.
func TestAnswer_CostOfCachedTokens(t *testing.T) {
	t.Parallel()
	table := price.Table{Input: price.PerMillion(3), Output: price.PerMillion(15), CacheRead: price.PerMillion(0.3), AsOf: "2026-11-29"}
	u, _, _, err := openai.New().Answer([]byte(withUsage(`{"prompt_tokens":10010,"completion_tokens":100,"prompt_tokens_details":{"cached_tokens":8000}}`)))
	if err != nil {
		t.Fatal(err)
	}
	if cost, known := table.Cost(u); !known || cost != 9_930_000_000 {
		t.Errorf("cost %v (known %v), want 0.00993 USD", price.USD(cost), known)
	}
}

func TestAnswer_IsNone(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]core.Kind{
		"":                          core.KindBadResponse,
		"<html>OK</html>":           core.KindBadResponse,
		`{"id":"1","choices":[`:     core.KindBadResponse,
		`{"status":"ok"}`:           core.KindBadResponse,
		`{"choices":null}`:          core.KindBadResponse,
		withUsage("{}") + "x":       core.KindBadResponse,
		`{"error":{"message":"m"}}`: core.KindServerError,
		`{"error":"out of memory"}`: core.KindServerError,
		`{"error":{"message":"m","code":429},"choices":[]}`:                             core.KindRateLimited,
		`{"error":{"message":"m","type":"insufficient_quota"}}`:                         core.KindQuotaExhausted,
		`{"error":{"message":"m","type":"server_error","code":"server_is_overloaded"}}`: core.KindOverloaded,
	} {
		_, _, _, err := openai.New().Answer([]byte(body))
		if err == nil || err.Kind != want {
			t.Errorf("%.50s: %v, want %v", body, err, want)
		}
	}
}
