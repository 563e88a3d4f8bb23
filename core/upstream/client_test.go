package upstream_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/upstream"
)

// seen is what a vendor received.
type seen struct {
	path, query, body, host string
	length                  int64
	header                  http.Header
}

// vendor records its requests and answers {}.
func vendor(t *testing.T, got chan<- seen) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got <- seen{r.URL.Path, r.URL.RawQuery, string(b), r.Host, r.ContentLength, r.Header}
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(srv.Close)
	return srv
}

// call returns a call to a node with this base URL.
func call(c *upstream.Client, w core.Wire, base, key, body string) *upstream.Call {
	p := &core.Provider{ID: "p", Wire: w, Keys: []core.Key{{ID: "k", Secret: core.NewSecret(key)}}, Nodes: []core.Node{{ID: "n", BaseURL: base}}}
	payload := c.NewPayload()
	payload.Bytes = append(payload.Bytes, body...)
	return &upstream.Call{Provider: p, Node: &p.Nodes[0], Key: &p.Keys[0], Payload: payload}
}

func do(t *testing.T, c *upstream.Client, cl *upstream.Call) {
	t.Helper()
	res, err := c.Do(t.Context(), cl)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
}

func TestClient_Addresses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		wire   core.Wire
		suffix string
		beta   bool
		want   string
	}{
		{"anthropic", core.WireAnthropic, "", false, "/v1/messages"},
		{"anthropic beta", core.WireAnthropic, "", true, "/v1/messages?beta=true"},
		{"openai", core.WireOpenAI, "", false, "/v1/chat/completions"},
		{"beta means nothing to openai", core.WireOpenAI, "", true, "/v1/chat/completions"},
		{"with /v1", core.WireOpenAI, "/v1", false, "/v1/chat/completions"},
		{"with /v1/", core.WireAnthropic, "/v1/", false, "/v1/messages"},
		{"below a path", core.WireAnthropic, "/team/a", false, "/team/a/v1/messages"},
		{"below a path, with /v1", core.WireAnthropic, "/team/a/v1", false, "/team/a/v1/messages"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := make(chan seen, 1)
			srv := vendor(t, got)
			c := upstream.New(upstream.Config{})
			cl := call(c, tt.wire, srv.URL+tt.suffix, "secret", `{"a":1}`)
			cl.Beta = tt.beta
			do(t, c, cl)
			s := <-got
			path := s.path
			if s.query != "" {
				path += "?" + s.query
			}
			u, _ := url.Parse(srv.URL)
			if path != tt.want || s.body != `{"a":1}` || s.length != 7 || s.host != u.Host {
				t.Errorf("vendor got %s, host %s, body %q of %d; want %s", path, s.host, s.body, s.length, tt.want)
			}
		})
	}
}

func TestClient_HeadersAreAnAllowList(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		wire core.Wire
		key  string
		set  func(*upstream.Call)
		want map[string]string
	}{
		{"anthropic, translated", core.WireAnthropic, "s1", nil, map[string]string{
			"X-Api-Key": "s1", "Anthropic-Version": "2023-06-01", "Accept": "application/json",
		}},
		{
			"anthropic, native", core.WireAnthropic, "s1",
			func(c *upstream.Call) {
				c.Version, c.Betas, c.Stream = []string{"2026-10-21"}, []string{"a-1,b-2", "c-3"}, true
			},
			map[string]string{
				"X-Api-Key": "s1", "Anthropic-Version": "2026-10-21", "Anthropic-Beta": "a-1,b-2|c-3",
				"Accept": "text/event-stream",
			},
		},
		{
			"openai never sees anthropic's headers", core.WireOpenAI, "s2",
			func(c *upstream.Call) { c.Version, c.Betas = []string{"2026-10-21"}, []string{"a-1"} },
			map[string]string{"Authorization": "Bearer s2", "Accept": "application/json"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := make(chan seen, 1)
			srv := vendor(t, got)
			c := upstream.New(upstream.Config{UserAgent: "spillway/9"})
			cl := call(c, tt.wire, srv.URL, tt.key, "{}")
			if tt.set != nil {
				tt.set(cl)
			}
			do(t, c, cl)
			tt.want["Content-Type"], tt.want["User-Agent"], tt.want["Content-Length"] = "application/json", "spillway/9", "2"
			s := <-got
			for k, v := range s.header {
				if tt.want[k] != strings.Join(v, "|") {
					t.Errorf("%s: %q, want %q", k, v, tt.want[k])
				}
				delete(tt.want, k)
			}
			if len(tt.want) > 0 {
				t.Errorf("missing: %v", tt.want)
			}
		})
	}
}

func TestClient_NoCredentialNoCall(t *testing.T) {
	t.Parallel()
	got := make(chan seen, 1)
	srv := vendor(t, got)
	c := upstream.New(upstream.Config{})
	cl := call(c, core.WireOpenAI, srv.URL, "", "{}")
	if _, err := c.Do(t.Context(), cl); core.KindOf(err) != core.KindAuthProvider {
		t.Errorf("err = %v, want auth_provider", err)
	}
	if len(got) != 0 {
		t.Fatal("the vendor was called without a credential")
	}
	cl.Provider.Simulated = true
	do(t, c, cl)
	if s := <-got; s.header.Get("Authorization") != "" {
		t.Errorf("a simulated vendor got %q", s.header.Get("Authorization"))
	}
}

func TestClient_RedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(other.Close)
	srv := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(srv.Close)
	c := upstream.New(upstream.Config{})
	_, err := c.Do(t.Context(), call(c, core.WireAnthropic, srv.URL, "secret", "{}"))
	if core.KindOf(err) != core.KindBadResponse {
		t.Errorf("err = %v, want bad_response", err)
	}
	if hits.Load() != 0 {
		t.Error("the credential went to a host that nobody configured")
	}
}

func TestClient_Replace(t *testing.T) {
	t.Parallel()
	c := upstream.New(upstream.Config{})
	for _, base := range []string{
		"", "vendor.example", "ftp://vendor.example", "http://", "http://user:pw@vendor.example",
		"http://vendor.example?x=1", "http://vendor.example#f", "http://vendor.example:port", "http://[::1",
	} {
		cat, err := core.NewCatalog(
			[]core.Provider{{ID: "acme", Wire: core.WireOpenAI, Nodes: []core.Node{{ID: "eu", BaseURL: base}}}},
			[]core.Target{{ID: "t", Provider: "acme", Model: "m"}})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Replace(cat)
		if err == nil {
			t.Errorf("base URL %q was accepted", base)
			continue
		}
		if s := err.Error(); !strings.Contains(s, `"acme"`) || !strings.Contains(s, `"eu"`) || strings.Contains(s, "pw") {
			t.Errorf("error %q must name provider and node, and no password", s)
		}
	}
}

func TestClient_NodeOfAnOlderCatalog(t *testing.T) {
	t.Parallel()
	got := make(chan seen, 1)
	srv := vendor(t, got)
	c := upstream.New(upstream.Config{})
	cat, err := core.NewCatalog(
		[]core.Provider{{ID: "new", Wire: core.WireOpenAI, Nodes: []core.Node{{ID: "n", BaseURL: "http://new.example"}}}},
		[]core.Target{{ID: "t", Provider: "new", Model: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Replace(cat); err != nil {
		t.Fatal(err)
	}
	do(t, c, call(c, core.WireOpenAI, srv.URL, "k", "{}"))
	if s := <-got; s.path != "/v1/chat/completions" {
		t.Errorf("path %q", s.path)
	}
}

func TestClient_CallerLeaves(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	entered := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(entered)
		<-r.Context().Done()
		close(gone)
	}))
	t.Cleanup(srv.Close)
	c := upstream.New(upstream.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	_, err := c.Do(ctx, call(c, core.WireAnthropic, srv.URL, "k", "{}"))
	if core.KindOf(err) != core.KindCallerGone {
		t.Errorf("err = %v, want caller_gone", err)
	}
	<-gone // the vendor's connection was closed, or this would never return
}

// FuzzClient_BaseURL holds that whatever base URL is accepted, the call goes to
// its host and ends in the vendor's path.
func FuzzClient_BaseURL(f *testing.F) {
	for _, s := range []string{"http://a", "https://a/v1", "http://a/x//", "http://a:1/%2f", "http://[::1]/v1/v1", "http://a/..", "//a", "http://a\\b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, base string) {
		var got *url.URL
		c := upstream.New(upstream.Config{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			got = r.URL
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		})})
		if _, err := c.Do(t.Context(), call(c, core.WireAnthropic, base, "k", "{}")); err != nil {
			return
		}
		want, err := url.Parse(base)
		if err != nil || got.Host != want.Host || !strings.HasSuffix(got.Path, "/v1/messages") || got.User != nil || got.RawQuery != "" {
			t.Errorf("base %q: called %v", base, got)
		}
	})
}
