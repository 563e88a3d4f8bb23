package core_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spillway-llm/spillway/core"
)

// models is a prober that asks over HTTP; core/upstream has a whole one.
type models struct{ transport http.RoundTripper }

func (m models) Probe(ctx context.Context, _ *core.Provider, n *core.Node, k *core.Key) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.BaseURL+"/v1/models", nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+k.Secret.Reveal())
	res, err := m.transport.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

// memory answers from memory.
type memory func(*http.Request) int

func (f memory) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: f(r), Body: http.NoBody}, nil
}

// An engine that nobody started probes when it is told to tick. A key that the
// vendor refuses is seen before it is needed, and stays in service until a
// request says the same.
func ExampleProber() {
	catalog, err := core.NewCatalog([]core.Provider{{
		ID: "openai", Wire: core.WireOpenAI, Vendor: "openai",
		Keys:  []core.Key{{ID: "old", Secret: core.NewSecret("expired")}},
		Nodes: []core.Node{{ID: "eu", BaseURL: "https://eu.example.com", Region: "eu"}},
	}}, []core.Target{{ID: "gpt", Provider: "openai", Model: "gpt"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	vendor := memory(func(*http.Request) int { return http.StatusUnauthorized })
	engine, err := core.New(core.Config{Revision: core.DefaultRevision(catalog), Prober: models{vendor}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	engine.Tick()
	p := engine.Providers()[0]
	fmt.Println(p.Nodes[0].ID, p.Nodes[0].State, p.Nodes[0].Probes.Invalid)
	fmt.Println(p.KeyList[0].ID, p.KeyList[0].Usable, p.KeyList[0].ProbeStatus, p.RefusedKeys())
	// Output:
	// eu up 1
	// old true 401 1
}
