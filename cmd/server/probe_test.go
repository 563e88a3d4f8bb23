package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// modelsFor lists models for one key only.
func modelsFor(t *testing.T, key string) *httptest.Server {
	t.Helper()
	v := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet || r.URL.Path != "/v1/models":
			w.WriteHeader(http.StatusTeapot)
		case r.Header.Get("X-Api-Key") != key && r.Header.Get("Authorization") != "Bearer "+key:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(v.Close)
	return v
}

// closedPort is an address that refuses connections.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return "http://" + l.Addr().String()
}

func TestProbe_NamesEachNodeAndKey(t *testing.T) {
	t.Parallel()
	good := modelsFor(t, "good-secret")
	none := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(none.Close)
	ill := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }))
	t.Cleanup(ill.Close)
	text := strings.NewReplacer("<good>", good.URL, "<none>", none.URL, "<ill>", ill.URL, "<closed>", closedPort(t)).Replace(`
providers:
  - id: main
    wire: anthropic
    nodes: [{id: n1, url: "<good>"}]
    keys: [{id: k1, value: "${GOOD_KEY}"}, {id: k2, value: "${BAD_KEY}"}, {id: k3, value: "${EMPTY_KEY}"}]
  - {id: spare, wire: openai, nodes: [{id: n2, url: "<good>"}, {id: n3, url: "<closed>"}, {id: n4, url: "<none>"}, {id: n5, url: "<ill>"}], keys: [{id: k, value: "${GOOD_KEY}"}]}
targets:
  - {id: t, provider: main, context_tokens: 8000}
`)
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"GOOD_KEY": "good-secret", "BAD_KEY": "bad-secret", "EMPTY_KEY": ""}[name]
		return v, ok
	}
	var out, problems logBuffer
	code := run(t.Context(), program{env: env, out: &out, err: &problems}, []string{"probe", "--config", write(t, "c.yaml", text)})
	if code != 1 || !strings.Contains(problems.String(), "4 of 7 probes were not accepted") {
		t.Errorf("exit code %d, %q", code, problems.String())
	}
	rows := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range [][]string{
		{"PROVIDER", "NODE", "KEY", "RESULT", "TOOK"},
		{"main", "n1", "k1", "accepted"},
		{"main", "n1", "k2", "refused", "(401)"},
		{"main", "n1", "k3", "no", "credential"},
		{"spare", "n2", "k", "accepted"},
		{"spare", "n3", "k", "no", "answer:", "connect"},
		{"spare", "n4", "k", "unclear", "(404)"},
		{"spare", "n5", "k", "server", "error", "(503)"},
	} {
		if i >= len(rows) || !strings.HasPrefix(strings.Join(strings.Fields(rows[i]), " "), strings.Join(want, " ")) {
			t.Fatalf("row %d: want %v in\n%s", i, want, out.String())
		}
	}
	if strings.Contains(out.String()+problems.String(), "secret") {
		t.Errorf("a credential is shown:\n%s%s", out.String(), problems.String())
	}
}

func TestProbe_AllGood(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(oneVendor, "URL", modelsFor(t, "the-vendors-key").URL)
	var out, problems logBuffer
	p := program{env: vendorEnvironment, out: &out, err: &problems}
	if code := run(t.Context(), p, []string{"probe", "--config", write(t, "c.yaml", text)}); code != 0 || problems.String() != "" {
		t.Errorf("exit code %d, %q", code, problems.String())
	}
	if code, out, _ := cli("probe", "--config", write(t, "c.yaml", "")); code != 0 || !strings.Contains(out, "simulated") {
		t.Errorf("without providers: %d, %q", code, out)
	}
	if code, _, problems := cli("probe", "--config", write(t, "c.yaml", "provders: []\n")); code != 1 || !strings.Contains(problems, "did you mean") {
		t.Errorf("with a mistake in the file: %d, %q", code, problems)
	}
}
