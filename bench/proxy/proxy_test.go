package proxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/bench/mock"
	"github.com/spillway-llm/spillway/bench/proxy"
)

func TestProxyPassesOnUntouched(t *testing.T) {
	t.Parallel()
	vendor := httptest.NewServer(mock.New())
	defer vendor.Close()
	u, err := url.Parse(vendor.URL)
	if err != nil {
		t.Fatal(err)
	}
	settings, err := http.NewRequest(http.MethodPut, vendor.URL+"/settings", strings.NewReader(`{"chunks":5,"interval":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := http.DefaultClient.Do(settings); err != nil || resp.Body.Close() != nil {
		t.Fatal(err)
	}
	for _, pooled := range []bool{false, true} {
		front := httptest.NewServer(proxy.New(u, pooled))
		for _, body := range []string{`{"model":"m"}`, `{"model":"m","stream":true}`} {
			want, got := ask(t, vendor.URL, body), ask(t, front.URL, body)
			if got != want || got == "" {
				t.Errorf("pooled %v: %d bytes came through, want the vendor's %d", pooled, len(got), len(want))
			}
		}
		front.Close()
	}
}

func ask(t *testing.T, base, body string) string {
	t.Helper()
	resp, err := http.Post(base+"/v1/messages", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
