package demovendor_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/spillway-llm/spillway/core/demovendor"
)

func ExampleVendor_Break() {
	cfg := demovendor.Preset(demovendor.WireOpenAI)
	cfg.Models[1].FirstContent, cfg.Models[1].PerChunk = 0, 0
	v := demovendor.New(cfg)
	server := httptest.NewServer(v)
	defer server.Close()
	ask := func() {
		resp, err := http.Post(server.URL+"/v1/chat/completions", "application/json",
			strings.NewReader(`{"model":"gpt-6-luna","messages":[{"role":"user","content":"hello"}]}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		defer resp.Body.Close()
		fmt.Println(resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	if err := v.Break(demovendor.Fault{Kind: demovendor.RateLimited, RetryAfterS: 7}); err != nil {
		fmt.Println(err)
	}
	ask()
	v.Heal()
	ask()
	// Output:
	// 429 7
	// 200
}

func ExampleVendor_Script() {
	v := demovendor.New(demovendor.Config{Wire: demovendor.WireAnthropic, Models: []demovendor.Model{{Name: "m"}}})
	v.Script(
		demovendor.Step{Status: 529},
		demovendor.Step{Chunks: []string{"Hello", " again."}, End: demovendor.EndSilent, After: 1},
	)
	for range 2 {
		r, _ := http.NewRequest(http.MethodPost, "http://vendor/v1/messages",
			strings.NewReader(`{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}`))
		r.Header.Set("Anthropic-Version", "2023-06-01")
		resp, err := v.RoundTrip(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		b, _ := io.ReadAll(resp.Body)
		fmt.Println(resp.StatusCode, strings.Count(string(b), "text_delta"))
	}
	// Output:
	// 529 0
	// 200 1
}
