package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/web"
)

func assets(t *testing.T) *web.Assets {
	t.Helper()
	a, err := web.New("/console/static/")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func get(a *web.Assets, url, etag string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, url, nil)
	r.Header.Set("If-None-Match", etag)
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

func TestAssets_Serve(t *testing.T) {
	t.Parallel()
	a := assets(t)
	for name, contentType := range map[string]string{
		"console.css": "text/css", "live.js": "javascript", "vendor/htmx.min.js": "javascript", "icon-serving.svg": "image/svg+xml",
		"icon-degraded.svg": "image/svg+xml", "icon-blocked.svg": "image/svg+xml",
	} {
		w := get(a, a.URL(name), "")
		if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Content-Type"), contentType) {
			t.Errorf("%s: status %d, type %q", name, w.Code, w.Header().Get("Content-Type"))
		}
		if c := w.Header().Get("Cache-Control"); !strings.Contains(c, "immutable") {
			t.Errorf("%s: a file with its hash has %q", name, c)
		}
		if w.Body.String() != string(a.File(name)) {
			t.Errorf("%s: another content", name)
		}
		if again := get(a, a.URL(name), w.Header().Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s: a known file is sent again", name)
		}
	}
}

func TestAssets_StaleAddress(t *testing.T) {
	t.Parallel()
	a := assets(t)
	if c := get(a, "/console/static/live.js?v=000000000000", "").Header().Get("Cache-Control"); c != "no-cache" {
		t.Errorf("a file under an old hash has %q: it would be kept for ever under the wrong name", c)
	}
	for _, url := range []string{"/console/static/", "/console/static/nothing.js", "/console/static/../embed.go", "/console/static/vendor"} {
		if w := get(a, url, ""); w.Code != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", url, w.Code)
		}
	}
}

// TestVendored holds that vendored files say what they are and under which
// licence, and that no page can be made to evaluate text by our own script.
func TestVendored(t *testing.T) {
	t.Parallel()
	a := assets(t)
	htmx := string(a.File("vendor/htmx.min.js"))
	if !strings.HasPrefix(htmx, "/*! htmx 4.0.1 | Zero-Clause BSD") {
		t.Errorf("htmx begins with %.60q", htmx)
	}
	if !strings.Contains(string(a.File("vendor/htmx.LICENSE")), "Zero-Clause BSD") {
		t.Error("the licence of htmx is missing")
	}
	for _, bad := range []string{"eval(", "new Function", "innerHTML", "outerHTML", "document.write", "localStorage"} {
		if strings.Contains(string(a.File("live.js")), bad) {
			t.Errorf("live.js has %s", bad)
		}
	}
}
