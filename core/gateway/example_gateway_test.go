package gateway_test

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/access"
	"github.com/spillway-llm/spillway/core/demovendor"
	"github.com/spillway-llm/spillway/core/gateway"
	"github.com/spillway-llm/spillway/core/upstream"
)

// A program's own server mounts the gateway beside its other pages. Callers have
// keys of the program's, and what they may ask for comes with the key.
func ExampleGateway() {
	vendor := demovendor.New(demovendor.Config{Wire: demovendor.WireAnthropic, Models: []demovendor.Model{{Name: "claude-opus-5-5"}}})
	catalog, err := core.NewCatalog(
		[]core.Provider{{
			ID: "anthropic", Wire: core.WireAnthropic, Nodes: []core.Node{{ID: "eu", BaseURL: "http://vendor"}},
			Keys: []core.Key{{ID: "main", Secret: core.NewSecret("the vendor's own key")}},
		}},
		[]core.Target{{ID: "opus", Provider: "anthropic", Model: "claude-opus-5-5", ContextTokens: 1_000_000}})
	if err != nil {
		fmt.Println(err)
		return
	}
	engine, err := core.New(core.Config{Revision: core.DefaultRevision(catalog)})
	if err != nil {
		fmt.Println(err)
		return
	}
	engine.Start()
	defer engine.Close()
	up := upstream.New(upstream.Config{Transport: vendor})
	key, hash, err := access.NewKey(rand.Reader)
	if err != nil {
		fmt.Println(err)
		return
	}
	keys, err := access.NewTable(access.Entry{Hash: hash, Caller: access.Caller{KeyID: "web", Grants: core.Grants{
		Tenant: "shop", Audience: core.AudiencePaid, UseCases: []string{"assistant"}, MaxPriority: 5,
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := gateway.New(gateway.Config{Engine: engine, Access: keys, Upstream: up})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/llm/", http.StripPrefix("/llm", g))
	server := httptest.NewServer(mux)
	defer server.Close()

	req, err := http.NewRequest(http.MethodPost, server.URL+"/llm/v1/messages",
		strings.NewReader(`{"model":"opus","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	req.Header.Set("X-Api-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	fmt.Println(res.StatusCode, res.Header.Get("Spillway-Target"))
	// Output:
	// 200 opus
}
