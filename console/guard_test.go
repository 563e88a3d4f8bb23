package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/console"
)

func TestGuard_Host(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *console.Config) { c.Hosts = []string{"console.example", "exact.example:9000"} })
	for _, tc := range []struct {
		host string
		ok   bool
	}{
		{"127.0.0.1:8080", true}, {"127.9.9.9", true}, {"localhost", true}, {"localhost:1", true}, {"LOCALHOST.:80", true},
		{"[::1]:8080", true}, {"[::1]", true}, {"console.example", true}, {"console.example:8443", true},
		{"exact.example:9000", true}, {"exact.example:9001", false}, {"exact.example", false},
		{"evil.example", false}, {"evil.example:8080", false}, {"127.0.0.1.evil.example", false},
		{"localhost.evil.example", false}, {"192.168.1.2", false}, {"0.0.0.0", false}, {"", false},
	} {
		r := request(http.MethodGet, "/console/", "")
		r.Host = tc.host
		got := b.do(r).StatusCode
		if want := map[bool]int{true: http.StatusOK, false: http.StatusMisdirectedRequest}[tc.ok]; got != want {
			t.Errorf("host %q: status %d, want %d", tc.host, got, want)
		}
	}
}

func TestGuard_CrossOrigin(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, tc := range []struct {
		name, header, value string
		want                int
	}{
		{"same_origin", "Sec-Fetch-Site", "same-origin", http.StatusSeeOther},
		{"typed_by_the_user", "Sec-Fetch-Site", "none", http.StatusSeeOther},
		{"cross_site", "Sec-Fetch-Site", "cross-site", http.StatusForbidden},
		{"same_site", "Sec-Fetch-Site", "same-site", http.StatusForbidden},
		{"own_origin", "Origin", "http://127.0.0.1:8080", http.StatusSeeOther},
		{"foreign_origin", "Origin", "https://evil.example", http.StatusForbidden},
	} {
		r := request(http.MethodPost, "/console/settings/reload", "")
		r.Header.Del("Sec-Fetch-Site")
		r.Header.Set(tc.header, tc.value)
		before := b.book.Reloads
		if got := b.do(r).StatusCode; got != tc.want {
			t.Errorf("%s: status %d, want %d", tc.name, got, tc.want)
		}
		if did := b.book.Reloads > before; did != (tc.want == http.StatusSeeOther) {
			t.Errorf("%s: reloaded %t", tc.name, did)
		}
	}
}

func TestGuard_Headers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, path := range []string{"/console/", "/console/static/console.css", "/console/nothing", "/console/sign-in"} {
		h := b.get(path).Header
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
				"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options": "nosniff",
			"Referrer-Policy":        "no-referrer",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
	if got := b.get("/console/").Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("a page may be cached: %q", got)
	}
}

// pages are all addresses with something to show.
func pages(b *bench) []string {
	b.t.Helper()
	draft := b.newDraft()
	b.post(draft, "file", "routing.rego", "version", "1", "text", "!error\n!warn\n")
	return []string{
		"/console/", "/console/targets/claude-opus-5-5", "/console/targets/gpt-6-sol", "/console/?state=blocked", "/console/?state=nodata", "/console/decisions", "/console/decisions?outcome=failed&q=x",
		"/console/decisions/01jdwq7f3a9060", "/console/decisions/01jdwq7f3a9055", "/console/policies",
		"/console/policies/files/routing.rego", "/console/policies/files/config/routing/data.json", draft, draft + "/review",
		"/console/policies/revisions/1", "/console/policies/revisions/3", "/console/settings", "/console/help", "/console/password",
	}
}

// TestPages_NoInline holds what the content policy demands: a page with an
// inline script, handler or style would silently not work.
func TestPages_NoInline(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	inline := regexp.MustCompile(`(?i)<style|<script(?:\s[^>]*)?>[^<]|\sstyle=|\son[a-z]+=|hx-on|javascript:|\sjs:`)
	for _, path := range pages(b) {
		a := b.get(path).status(http.StatusOK).wholePage()
		if m := inline.FindString(a.body); m != "" {
			t.Errorf("%s has %q", path, m)
		}
	}
}

// TestPages_Structure holds what assistive technology needs of every page.
func TestPages_Structure(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := regexp.MustCompile(`\sid="([^"]*)"`)
	target := regexp.MustCompile(`\s(?:for|aria-labelledby|form)="([^"]+)"`)
	for _, path := range pages(b) {
		a := b.get(path).has(`lang="en"`, `class="skip"`, `role="status"`, `name="viewport"`)
		if n := strings.Count(a.body, "<h1"); n != 1 {
			t.Errorf("%s has %d main headings", path, n)
		}
		ids := map[string]bool{}
		for _, m := range id.FindAllStringSubmatch(a.body, -1) {
			if ids[m[1]] {
				t.Errorf("%s has the id %q twice", path, m[1])
			}
			ids[m[1]] = true
		}
		for _, m := range target.FindAllStringSubmatch(a.body, -1) {
			if !ids[m[1]] {
				t.Errorf("%s refers to %q, which it does not have", path, m[1])
			}
		}
	}
}

func TestGuard_BodyLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	draft := b.newDraft()
	big := strings.Repeat("x", 1<<20)
	b.htmx(draft, "file", "routing.rego", "text", big).status(http.StatusRequestEntityTooLarge).fragment().
		has("1024 KiB", "Nothing was changed", "Request").lacks("xxxx")
	b.post(draft, "file", "routing.rego", "text", big).status(http.StatusRequestEntityTooLarge).wholePage().has("Nothing was changed")
}

func TestGuard_RequestID(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.get("/console/nothing").status(http.StatusNotFound).wholePage()
	id := a.Header.Get("X-Request-Id")
	if id == "" {
		t.Fatal("no request id")
	}
	a.has("<code>"+id+"</code>", "There is nothing at this address")
}

func TestGuard_PanicIsContained(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.book.Show(nil)
	b.get("/console/").status(http.StatusInternalServerError).wholePage().has("Request").lacks("goroutine", "nil pointer")
}
