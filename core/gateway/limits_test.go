package gateway_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/access"
	"github.com/spillway-llm/spillway/core/gateway"
	"github.com/spillway-llm/spillway/core/limit"
	"github.com/spillway-llm/spillway/core/price"
)

// limitedKey is the key that tests limit.
const limitedKey = "sw_limited"

// limitedTo gives a rig the limited key beside the paid one.
func limitedTo(l core.CallerLimits) setup {
	return setup{config: func(c *gateway.Config) {
		e := entry(limitedKey, core.AudiencePaid)
		e.Grants.Limits = l
		table, err := access.NewTable(e, access.Entry{
			Hash: sha256.Sum256([]byte(paidKey)), Caller: access.Caller{KeyID: "other", Grants: entry(paidKey, core.AudiencePaid).Grants},
		})
		if err == nil {
			c.Access = table // else every request is refused, and the test fails
		}
	}}
}

// holding answers once it is released: 300 tokens, 100 of them the prompt.
func holding(release <-chan struct{}) http.HandlerFunc {
	answer := says(200, strings.NewReplacer(`"prompt_tokens":12`, `"prompt_tokens":100`, `"completion_tokens":5`, `"completion_tokens":200`,
		`"total_tokens":17`, `"total_tokens":300`).Replace(chatAnswer))
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
			answer(w, r)
		case <-r.Context().Done():
		}
	}
}

// askSized is a request whose estimate is 100 tokens of prompt and 200 of answer.
func askSized(model string) string {
	return fmt.Sprintf(`{"model":%q,"max_tokens":200,"messages":[{"role":"user","content":%q}]}`, model, strings.Repeat("word", 92))
}

// burst sends requests at once and returns their answers as they come.
func (r *rig) burst(t *testing.T, n int, body string) <-chan reply {
	t.Helper()
	replies := make(chan reply, n)
	for range n {
		go func() {
			res, err := r.send(t.Context(), http.MethodPost, "/v1/chat/completions", strings.NewReader(body), "X-Api-Key", limitedKey)
			if err != nil {
				replies <- reply{body: err.Error()}
				return
			}
			defer func() { _ = res.Body.Close() }()
			b, err := io.ReadAll(res.Body)
			if err != nil {
				b = []byte(err.Error())
			}
			replies <- reply{res.StatusCode, res.Header, string(b)}
		}()
	}
	return replies
}

func next(t *testing.T, replies <-chan reply) reply {
	t.Helper()
	select {
	case got := <-replies:
		return got
	case <-time.After(20 * time.Second):
		t.Fatal("an answer is missing: more were admitted than may be")
		return reply{}
	}
}

// checkLimit holds that a refusal names the limit and, where waiting helps, when.
func checkLimit(t *testing.T, got reply, code string, waits bool, words ...string) {
	t.Helper()
	var e struct {
		Error struct{ Code, Message string } `json:"error"`
	}
	if err := json.Unmarshal([]byte(got.body), &e); err != nil || got.status != 429 || e.Error.Code != code {
		t.Errorf("%d %s, %v: want 429 with code %s", got.status, got.body, err, code)
	}
	contains(t, e.Error.Message, words...)
	after, _ := strconv.Atoi(got.header.Get("Retry-After"))
	if waits != (after > 0) {
		t.Errorf("Retry-After %q, want one: %v", got.header.Get("Retry-After"), waits)
	}
	if never := got.header.Get("X-Should-Retry") == "false"; never != (after == 0 || after > 60) {
		t.Errorf("Retry-After %d and x-should-retry %q", after, got.header.Get("X-Should-Retry"))
	}
}

// R23 of the field failures: ten requests at once meet a limit that has room for
// a few, while none of them has been recorded yet.
func TestR23_BurstStaysWithinTheLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limits   core.CallerLimits
		admitted int
		code     string
		words    []string
	}{
		"1000 tokens a minute": {
			core.CallerLimits{Rate: limit.RateSettings{TokensPerMinute: 1000}}, 3, "tokens_per_minute",
			[]string{"The limit tokens_per_minute of this key is reached", "300 asked", "of 1000 left", "Try again in"},
		},
		"a cent a day": {
			core.CallerLimits{Spend: limit.SpendSettings{DayPico: price.PicoPerUSD / 100}}, 2, "spend_per_day",
			[]string{"The limit spend_per_day of this key is reached", "$0.004 asked, $0.002 of $0.01 left", "Try again in"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			v := newVendor(t, holding(release))
			cat := pricedCatalog(t, v, map[string]price.Table{"gpt": tokenPrice()})
			r := rigOver(t, cat, nil, limitedTo(c.limits))
			replies := r.burst(t, 10, askSized("gpt"))
			for range 10 - c.admitted {
				checkLimit(t, next(t, replies), c.code, true, c.words...)
			}
			close(release)
			for range c.admitted {
				if got := next(t, replies); got.status != 200 {
					t.Errorf("an admitted request got %d: %s", got.status, got.body)
				}
			}
			r.tape.decision(t, 10) // all have ended
			checkLimit(t, r.ask(t, "/v1/chat/completions", askSized("gpt"), "X-Api-Key", limitedKey), c.code, true, c.words[0])
			if v.count() != c.admitted || r.tape.opened != 0 {
				t.Errorf("the vendor saw %d requests, want %d; %d circuits moved", v.count(), c.admitted, r.tape.opened)
			}
			refused := r.tape.decision(t, 1)
			if refused.Outcome != core.KindLimitLocal || refused.Status != 429 || refused.Limit != "key "+c.code || len(refused.Attempts) != 0 {
				t.Errorf("decision %+v", refused)
			}
		})
	}
}

// A reservation comes back when nothing was used: after errors, and after callers
// left.
func TestR23_ReservationComesBack(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	arrived := make(chan struct{}, 10)
	v := newVendor(t, func(w http.ResponseWriter, r *http.Request) {
		switch i := n.Add(1); {
		case i <= 5:
			says(400, `{"error":{"message":"no","type":"invalid_request_error"}}`)(w, r)
		case i <= 8:
			arrived <- struct{}{}
			<-r.Context().Done()
		default:
			says(200, chatAnswer)(w, r)
		}
	})
	cat := pricedCatalog(t, v, map[string]price.Table{"gpt": tokenPrice()})
	r := rigOver(t, cat, nil, limitedTo(core.CallerLimits{Spend: limit.SpendSettings{DayPico: price.PicoPerUSD / 200}})) // room for one
	ask := func() reply {
		return r.ask(t, "/v1/chat/completions", askSized("gpt"), "X-Api-Key", limitedKey)
	}
	for range 5 {
		if got := ask(); got.status != 400 {
			t.Fatalf("%d: %s", got.status, got.body)
		}
	}
	for i := range 3 {
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			<-arrived
			leave()
		}()
		res, err := r.send(ctx, http.MethodPost, "/v1/chat/completions", strings.NewReader(askSized("gpt")), "X-Api-Key", limitedKey)
		if err == nil {
			t.Fatalf("request %d was answered: %d", i, res.StatusCode)
		}
		if d := r.tape.decision(t, 6+i); d.Outcome != core.KindCallerGone {
			t.Fatalf("request %d: %+v", i, d)
		}
	}
	if got := ask(); got.status != 200 {
		t.Errorf("after five errors and three callers that left: %d %s", got.status, got.body)
	}
}

// R51 of the field failures: a model without a price is refused where a cap
// applies, and never sent; one that is free stays free, and ids are not guessed.
func TestR51_UnknownPriceMeetsTheCap(t *testing.T) {
	t.Parallel()
	v := newVendor(t, says(200, chatAnswer))
	prices := map[string]price.Table{
		"m-1": tokenPrice(), "m-1-2026-09-01": {}, "m-2": {}, "m-free": {AsOf: "2026-11-01"},
	}
	cat := pricedCatalog(t, v, prices)
	spend := limit.SpendSettings{DayPico: price.PicoPerUSD / 100}
	r := rigOver(t, cat, nil, limitedTo(core.CallerLimits{Spend: spend}))
	ask := func(r *rig, model string) reply {
		return r.ask(t, "/v1/chat/completions", askSized(model), "X-Api-Key", limitedKey)
	}
	for _, model := range []string{"m-1", "m-free"} {
		if got := ask(r, model); got.status != 200 {
			t.Errorf("%s: %d %s", model, got.status, got.body)
		}
	}
	for _, model := range []string{"m-2", "m-1-2026-09-01"} {
		checkLimit(t, ask(r, model), "price_unknown", false, "A spend cap applies to this key and the model has no price",
			"ask the operator to give the target a price or the cap a fallback price")
	}
	if got := ask(r, "vendor/m-1"); got.status != 404 {
		t.Errorf("a prefixed id: %d %s", got.status, got.body)
	}
	if v.count() != 2 {
		t.Errorf("the vendor saw %d requests, want 2", v.count())
	}
	if got := r.ask(t, "/v1/chat/completions", askSized("m-2")); got.status != 200 {
		t.Errorf("a key without a cap: %d %s", got.status, got.body)
	}
	if d := r.tape.decision(t, 5); d.CostKnown || d.Cost != 0 {
		t.Errorf("an unknown cost is recorded as %d, known: %v", d.Cost, d.CostKnown)
	}
	spend.FallbackOutputPico = 30_000_000 // 200 tokens are 0.6 cents
	stated := rigOver(t, cat, nil, limitedTo(core.CallerLimits{Spend: spend}))
	if got := ask(stated, "m-2"); got.status != 200 {
		t.Errorf("at a stated price: %d %s", got.status, got.body)
	}
	stated.tape.decision(t, 1)
	a := stated.engine.Accounts()
	if len(a) != 1 || a[0].Spend.DayPico != 5*spend.FallbackOutputPico {
		t.Errorf("accounts %+v, want five tokens at the stated price", a)
	}
}

// A full target is a 429 in the caller's format; /health shows what is full.
func TestLimits_FullTarget(t *testing.T) {
	t.Parallel()
	release, arrived := make(chan struct{}), make(chan struct{}, 10)
	v := newVendor(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-release:
			says(200, messageAnswer)(w, r)
		case <-r.Context().Done():
		}
	})
	r := anthropicRig(t, v, setup{tables: func(tb *core.Tables) {
		tb.TargetLimits[0].Concurrency = limit.ConcurrencySettings{Limit: 1}
	}})
	first := make(chan reply, 1)
	go func() { first <- r.ask(t, "/v1/messages", askMessages) }()
	<-arrived
	for _, key := range []string{freeKey, paidKey} {
		got := r.ask(t, "/v1/messages", askMessages, "X-Api-Key", key)
		checkError(t, core.WireAnthropic, got, 429, "The limit concurrency of the model is reached: 1 asked, 0 of 1 left", "Try again in")
		contains(t, got.body, `"type":"rate_limit_error"`, `"code":"concurrency"`)
		if got.header.Get("Retry-After") == "" || strings.Contains(got.body, "claude: limit_local") != (key == paidKey) {
			t.Errorf("Retry-After %q: %s", got.header.Get("Retry-After"), got.body)
		}
	}
	health := func() string { return r.do(t, "GET", "/health", nil, "X-Api-Key", "").body }
	contains(t, health(), `"in_flight":1`, `"waiting":0`, `"limit":1`)
	close(release)
	if got := <-first; got.status != 200 {
		t.Errorf("the one that ran: %d %s", got.status, got.body)
	}
	r.tape.decision(t, 3)
	contains(t, health(), `"in_flight":0`)
}

// An output cap is the caller's to keep: its request is never changed.
func TestLimits_OutputCap(t *testing.T) {
	t.Parallel()
	v := newVendor(t, says(200, chatAnswer))
	cat := pricedCatalog(t, v, map[string]price.Table{"gpt": tokenPrice()})
	r := rigOver(t, cat, nil, limitedTo(core.CallerLimits{MaxOutputTokens: 150}))
	for body, says := range map[string]string{
		askSized("gpt"): "this key allows at most 150 output tokens a request, and the request asks for about 200",
		askChat:         "and the request does not say how many it wants: set max_tokens",
	} {
		got := r.ask(t, "/v1/chat/completions", body, "X-Api-Key", limitedKey)
		checkError(t, core.WireOpenAI, got, 400, says)
		contains(t, got.body, `"code":"max_output_tokens"`)
	}
	if got := r.ask(t, "/v1/chat/completions", strings.Replace(askSized("gpt"), "200", "150", 1), "X-Api-Key", limitedKey); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if v.count() != 1 {
		t.Errorf("the vendor saw %d requests", v.count())
	}
}

// tokenPrice makes askSized's 100 and 200 tokens cost $0.004.
func tokenPrice() price.Table {
	return price.Table{Input: price.PerMillion(10), Output: price.PerMillion(15), AsOf: "2026-11-01"}
}

// pricedCatalog has a target for each price, all at one vendor.
func pricedCatalog(t *testing.T, v *vendor, prices map[string]price.Table) *core.Catalog {
	t.Helper()
	var targets []core.Target
	for _, id := range slices.Sorted(maps.Keys(prices)) {
		targets = append(targets, core.Target{ID: id, Provider: "o", Model: id, Price: prices[id], ContextTokens: 1_000_000})
	}
	cat, err := core.NewCatalog([]core.Provider{{
		ID: "o", Wire: core.WireOpenAI, Vendor: "openai", Keys: []core.Key{{ID: "k1", Secret: core.NewSecret("s")}},
		Nodes: []core.Node{{ID: "n", BaseURL: v.URL}},
	}}, targets)
	if err != nil {
		t.Fatal(err)
	}
	return cat
}
