package upstream_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/upstream"
)

// probed returns a provider with one node and one key.
func probed(w core.Wire, base, key string) *core.Provider {
	return &core.Provider{
		ID: "p", Wire: w, Keys: []core.Key{{ID: "k", Secret: core.NewSecret(key)}}, Nodes: []core.Node{{ID: "n", BaseURL: base}},
	}
}

func probe(t *testing.T, c *upstream.Client, p *core.Provider) (int, error) {
	t.Helper()
	return c.Probe(t.Context(), p, &p.Nodes[0], &p.Keys[0])
}

// A probe reads the list of models with the vendor's own header for keys, and
// sends nothing that could cost anything.
func TestProbe_AsksForTheModels(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		wire   core.Wire
		suffix string
		path   string
		header map[string]string
	}{
		{"anthropic", core.WireAnthropic, "", "/v1/models", map[string]string{
			"X-Api-Key": "secret", "Anthropic-Version": upstream.DefaultVersion, "Authorization": "",
		}},
		{"openai", core.WireOpenAI, "", "/v1/models", map[string]string{
			"Authorization": "Bearer secret", "X-Api-Key": "", "Anthropic-Version": "",
		}},
		{"below a path with /v1", core.WireOpenAI, "/team/v1", "/team/v1/models", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := make(chan seen, 1)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				got <- seen{path: r.Method + " " + r.URL.RequestURI(), body: string(b), header: r.Header}
				_, _ = io.WriteString(w, `{"data":[]}`)
			}))
			t.Cleanup(srv.Close)
			status, err := probe(t, upstream.New(upstream.Config{}), probed(tt.wire, srv.URL+tt.suffix, "secret"))
			s := <-got
			if status != 200 || err != nil || s.path != "GET "+tt.path || s.body != "" {
				t.Errorf("got %d, %v; the vendor got %s %q", status, err, s.path, s.body)
			}
			for name, want := range tt.header {
				if s.header.Get(name) != want {
					t.Errorf("%s: %q, want %q", name, s.header.Get(name), want)
				}
			}
			if s.header.Get("Content-Type") != "" || s.header.Get("User-Agent") != "spillway" {
				t.Errorf("header %v", s.header)
			}
		})
	}
}

func TestProbe_SaysTheStatus(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 307, 400, 401, 403, 404, 429, 500, 503, 529} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://elsewhere.invalid/")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, strings.Repeat("x", 3<<20)) // more than anybody reads
		}))
		t.Cleanup(srv.Close)
		if got, err := probe(t, upstream.New(upstream.Config{}), probed(core.WireOpenAI, srv.URL, "secret")); got != status || err != nil {
			t.Errorf("got %d, %v, want %d", got, err, status)
		}
	}
}

func TestProbe_WithoutAnAnswer(t *testing.T) {
	t.Parallel()
	c := upstream.New(upstream.Config{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	})})
	status, err := probe(t, c, probed(core.WireOpenAI, "http://vendor.example", "secret"))
	if status != 0 || core.KindOf(err) != core.KindConnect {
		t.Errorf("a dead node: %d, %v", status, err)
	}
	status, err = probe(t, c, probed(core.WireOpenAI, "http://vendor.example", ""))
	if status != 0 || core.KindOf(err) != core.KindAuthProvider {
		t.Errorf("without a credential: %d, %v", status, err)
	}
	simulated := probed(core.WireOpenAI, "http://vendor.example", "")
	simulated.Simulated = true
	if _, err := probe(t, c, simulated); core.KindOf(err) != core.KindConnect {
		t.Errorf("a simulated vendor needs no credential: %v", err)
	}
	if status, err = probe(t, c, probed(core.WireOpenAI, "ftp://vendor.example", "secret")); status != 0 || err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("an address that is none: %d, %v", status, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := probed(core.WireOpenAI, "http://vendor.example", "secret")
	if status, err = c.Probe(ctx, p, &p.Nodes[0], &p.Keys[0]); status != 0 || err == nil {
		t.Errorf("after its end: %d, %v", status, err)
	}
}
