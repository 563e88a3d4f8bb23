package test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// operator is a signed-in session without a browser.
type operator struct {
	t      *testing.T
	base   string
	client *http.Client
}

func signedIn(t *testing.T, s *server) *operator {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	o := &operator{t, s.Console, &http.Client{Jar: jar, Timeout: 30 * time.Second}}
	o.post("/console/sign-in", "name", "admin", "password", s.Password)
	_, page := o.post("/console/password", "password", "correct horse battery", "again", "correct horse battery")
	if !strings.Contains(page, "Overview") {
		t.Fatalf("not signed in: %s", page)
	}
	return o
}

// post sends a form and returns the last page's address and body.
func (o *operator) post(path string, fields ...string) (where, page string) {
	o.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	req, err := http.NewRequest("POST", o.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		o.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", o.base)
	res, err := o.client.Do(req)
	if err != nil {
		o.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	return res.Request.URL.Path, string(b)
}

// problems are what the console says of a draft whose routing is the text.
func (o *operator) problems(routing string) string {
	o.t.Helper()
	draft, page := o.post("/console/policies/drafts", "file", "routing.rego")
	m := regexp.MustCompile(`name="version" value="(\d+)"`).FindStringSubmatch(page)
	if m == nil {
		o.t.Fatalf("no draft: %s", page)
	}
	_, page = o.post(draft+"/check", "file", "routing.rego", "version", m[1], "text", routing)
	list := regexp.MustCompile(`(?s)<ol id="problems".*?</ol>`).FindString(page)
	return regexp.MustCompile(`<[^>]*>`).ReplaceAllString(list, " ")
}

// hostile are drafts that must not act, and where each goes wrong.
func hostile(t *testing.T) map[string]struct{ routing, says string } {
	t.Helper()
	b, err := os.ReadFile("../policies/routing.rego")
	if err != nil {
		t.Fatal(err)
	}
	shipped := string(b)
	bomb := "\ns0 := [1, 1]\n"
	for i := range 34 {
		bomb += fmt.Sprintf("s%d := [s%d, s%d]\n", i+1, i, i)
	}
	digits := "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
	return map[string]struct{ routing, says string }{
		"syntax_error":  {shipped + "\nbroken := (\n", "routing.rego"},
		"missing_entry": {strings.Replace(shipped, "\nplan := {", "\nplann := {", 1), "plan"},
		"http_send":     {shipped + "\nx := http.send({\"method\": \"get\", \"url\": \"http://127.0.0.1\"})\n", "http.send"},
		"endless": {shipped + "\ndigits := " + digits + "\n\nunable[\"gpt-6-luna\"] contains \"never\" if {\n" +
			"\tsome a in digits\n\tsome b in digits\n\tsome c in digits\n\tsome d in digits\n\tsome e in digits\n\tsome f in digits\n\tsome g in digits\n" +
			"\ta + b + c + d + e + f + g == input.request.priority + 1000\n}\n", "routing.rego"},
		"compile_bomb": {shipped + bomb, "routing.rego"},
	}
}

// While requests run, every hostile draft is refused at its place, and nothing of
// the traffic suffers.
func TestHostileDraftsWhileTrafficGoesOn(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	o := signedIn(t, s)
	var stop atomic.Bool
	var failed, answered atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !stop.Load() {
				if status, ok := s.try(openaiBody); ok && status == 200 {
					answered.Add(1)
				} else {
					failed.Add(1)
				}
			}
		})
	}
	for name, c := range hostile(t) {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			got := o.problems(c.routing)
			if !strings.Contains(got, c.says) || !regexp.MustCompile(`routing\.rego:\d+`).MatchString(got) {
				t.Errorf("the place is not named: %q", got)
			}
			if d := time.Since(began); d > 20*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
	stop.Store(true)
	wg.Wait()
	if failed.Load() != 0 || answered.Load() == 0 {
		t.Errorf("%d requests failed beside %d that were answered", failed.Load(), answered.Load())
	}
	if n := s.query("select count(*) from v_decisions where source <> 'evaluated' and source <> 'memo'"); n != "0" {
		t.Errorf("%s decisions were not the acting policy's own", n)
	}
}
