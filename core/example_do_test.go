package core_test

import (
	"context"
	"fmt"

	"github.com/spillway-llm/spillway/core"
)

// One vendor refuses, the other answers: the call is made once per attempt,
// with whatever SDK the program already uses.
func ExampleDo() {
	catalog, err := core.NewCatalog(
		[]core.Provider{
			{ID: "anthropic", Wire: core.WireAnthropic, Vendor: "anthropic", Keys: []core.Key{{ID: "main"}}, Nodes: []core.Node{{ID: "eu"}}},
			{ID: "openai", Wire: core.WireOpenAI, Vendor: "openai", Keys: []core.Key{{ID: "main"}}, Nodes: []core.Node{{ID: "eu"}}},
		},
		[]core.Target{
			{ID: "claude-opus-5-5", Provider: "anthropic", Model: "claude-opus-5-5", Family: "opus"},
			{ID: "gpt-6-sol", Provider: "openai", Model: "gpt-6-sol", Family: "sol"},
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	engine, err := core.New(core.Config{Revision: core.DefaultRevision(catalog)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()

	req := &core.Request{Facts: core.Facts{UseCase: "assistant", MaxTokens: 100}}
	answer, err := core.Do(context.Background(), engine, req, func(ctx context.Context, a *core.Attempt) (string, error) {
		if a.Target.Vendor == "anthropic" {
			return "", &core.Error{Op: "create message", Kind: core.KindOverloaded, Status: 529}
		}
		return "hello from " + a.Target.Model, nil
	})
	fmt.Println(answer, err)
	for _, a := range req.Decision.Attempts {
		fmt.Println(a.Number, a.Target, a.Kind)
	}
	// Output:
	// hello from gpt-6-sol <nil>
	// 1 claude-opus-5-5 overloaded
	// 2 gpt-6-sol none
}
