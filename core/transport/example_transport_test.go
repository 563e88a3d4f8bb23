package transport_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/demovendor"
	"github.com/spillway-llm/spillway/core/transport"
	"github.com/spillway-llm/spillway/core/upstream"
)

// newExampleClient is what goes below an SDK: an HTTP client over two vendors,
// here simulated ones in memory.
func newExampleClient() (client *http.Client, anthropic *demovendor.Vendor, err error) {
	anthropic = demovendor.New(demovendor.Config{Wire: demovendor.WireAnthropic, Models: []demovendor.Model{{Name: "claude-opus-5-5"}}})
	openai := demovendor.New(demovendor.Config{Wire: demovendor.WireOpenAI, Models: []demovendor.Model{{Name: "gpt-6-sol"}}})
	provider := func(w core.Wire) core.Provider {
		return core.Provider{
			ID: string(w), Wire: w, Vendor: string(w), Nodes: []core.Node{{ID: string(w), BaseURL: "http://" + string(w)}},
			Keys: []core.Key{{ID: "main", Secret: core.NewSecret("the vendor's own key")}},
		}
	}
	catalog, err := core.NewCatalog(
		[]core.Provider{provider(core.WireAnthropic), provider(core.WireOpenAI)},
		[]core.Target{
			{ID: "opus", Provider: "anthropic", Model: "claude-opus-5-5", ContextTokens: 1_000_000},
			{ID: "sol", Provider: "openai", Model: "gpt-6-sol", ContextTokens: 400_000},
		})
	if err != nil {
		return nil, nil, err
	}
	engine, err := core.New(core.Config{Revision: core.DefaultRevision(catalog)})
	if err != nil {
		return nil, nil, err
	}
	up := upstream.New(upstream.Config{Transport: hosts{"anthropic": anthropic, "openai": openai}}) // real vendors need no Config
	if err := up.Replace(catalog); err != nil {
		return nil, nil, err
	}
	t, err := transport.New(transport.Config{Engine: engine, Upstream: up})
	if err != nil {
		return nil, nil, err
	}
	return &http.Client{Transport: t}, anthropic, nil
}

// hosts are vendors by host.
type hosts map[string]http.RoundTripper

func (h hosts) RoundTrip(r *http.Request) (*http.Response, error) { return h[r.URL.Host].RoundTrip(r) }

// An SDK sends what it always sends. While its vendor is down the other one
// answers, in the SDK's own format.
//
//	anthropic.NewClient(option.WithHTTPClient(client), option.WithMaxRetries(0))
func ExampleTransport() {
	client, anthropic, err := newExampleClient()
	if err != nil {
		fmt.Println(err)
		return
	}
	ask := func() {
		res, err := client.Post("https://api.anthropic.com/v1/messages", "application/json",
			strings.NewReader(`{"model":"claude-opus-5-5","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		defer res.Body.Close()
		fmt.Println(res.StatusCode, res.Header.Get("Spillway-Target"), res.Header.Get("Spillway-Attempts"))
	}
	ask()
	if err := anthropic.Break(demovendor.Fault{Kind: demovendor.Overloaded}); err != nil {
		fmt.Println(err)
	}
	ask()
	// Output:
	// 200 opus 1; opus
	// 200 sol 2; opus=overloaded; sol
}

// A stream that breaks after its first content ends with an error, as an event
// and as the body's end: it can't be taken for a whole answer.
func ExampleTransport_cut() {
	client, anthropic, err := newExampleClient()
	if err != nil {
		fmt.Println(err)
		return
	}
	anthropic.Script(demovendor.Step{Chunks: []string{"Hel", "lo"}, End: demovendor.EndCut, After: 1})
	res, err := client.Post("https://api.anthropic.com/v1/messages", "application/json",
		strings.NewReader(`{"model":"claude-opus-5-5","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hello"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			fmt.Println(name)
		}
	}
	fmt.Println(core.KindOf(lines.Err()))
	// Output:
	// message_start
	// content_block_start
	// content_block_delta
	// error
	// stream_cut
}
