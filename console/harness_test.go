package console_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/console/storybook"
)

// bench is a console over the storybook's data, and a browser that is signed in.
type bench struct {
	t    *testing.T
	book *storybook.Book
	con  *console.Console
	sid  string
	lang string
}

func newBench(t *testing.T, change ...func(*console.Config)) *bench {
	t.Helper()
	book := storybook.New()
	cfg := book.Config()
	for _, f := range change {
		f(&cfg)
	}
	con, err := console.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(con.Close)
	return &bench{t: t, book: book, con: con, sid: book.SignedIn(false)}
}

// answer is what the browser got.
type answer struct {
	t *testing.T
	*http.Response
	body string
}

func (b *bench) do(r *http.Request) answer {
	b.t.Helper()
	if b.sid != "" {
		r.AddCookie(&http.Cookie{Name: "sid", Value: b.sid})
	}
	if b.lang != "" {
		r.Header.Set("Accept-Language", b.lang)
	}
	w := httptest.NewRecorder()
	b.con.ServeHTTP(w, r)
	resp := w.Result()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{b.t, resp, string(body)}
}

func request(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, "http://127.0.0.1:8080"+path, strings.NewReader(body))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	return r
}

func (b *bench) get(path string) answer {
	b.t.Helper()
	return b.do(request(http.MethodGet, path, ""))
}

func (b *bench) post(path string, form ...string) answer {
	b.t.Helper()
	return b.do(request(http.MethodPost, path, values(form...).Encode()))
}

// htmx posts as the library does.
func (b *bench) htmx(path string, form ...string) answer {
	b.t.Helper()
	r := request(http.MethodPost, path, values(form...).Encode())
	r.Header.Set("HX-Request", "true")
	return b.do(r)
}

func values(form ...string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(form); i += 2 {
		v.Add(form[i], form[i+1])
	}
	return v
}

func (a answer) status(want int) answer {
	a.t.Helper()
	if a.StatusCode != want {
		a.t.Fatalf("status %d, want %d: %s", a.StatusCode, want, text(a.body))
	}
	return a
}

func (a answer) has(parts ...string) answer {
	a.t.Helper()
	for _, p := range parts {
		if !strings.Contains(a.body, p) {
			a.t.Errorf("the answer lacks %q", p)
		}
	}
	return a
}

func (a answer) lacks(parts ...string) answer {
	a.t.Helper()
	for _, p := range parts {
		if strings.Contains(a.body, p) {
			a.t.Errorf("the answer has %q", p)
		}
	}
	return a
}

// leadsTo checks a redirect and returns where it goes.
func (a answer) leadsTo(prefix string) string {
	a.t.Helper()
	to := a.Header.Get("Location")
	if !strings.HasPrefix(to, prefix) {
		a.t.Fatalf("status %d leads to %q, want %q…", a.StatusCode, to, prefix)
	}
	return to
}

// wholePage checks that an answer is a document, and fragment that it is none.
func (a answer) wholePage() answer {
	a.t.Helper()
	return a.has("<!doctype html>", "</html>", `<main id="main"`)
}

func (a answer) fragment() answer {
	a.t.Helper()
	return a.lacks("<!doctype", "<html", "<main")
}

// text drops the tags of HTML and the space between them.
func text(html string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(html, "<") {
		if _, after, ok := strings.Cut(part, ">"); ok {
			b.WriteString(after + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// newDraft starts a draft of routing.rego and returns its path.
func (b *bench) newDraft() string {
	b.t.Helper()
	to := b.post("/console/policies/drafts", "file", "routing.rego").status(http.StatusSeeOther).leadsTo("/console/policies/drafts/")
	path, _, _ := strings.Cut(to, "?")
	return path
}
