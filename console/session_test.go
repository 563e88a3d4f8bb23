package console_test

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/console/storybook"
)

func sidOf(t *testing.T, a answer) *http.Cookie {
	t.Helper()
	for _, c := range a.Cookies() {
		if strings.HasSuffix(c.Name, "sid") {
			return c
		}
	}
	t.Fatal("the answer sets no session cookie")
	return nil
}

func TestSignIn_OneTimePassword(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.sid = ""
	b.get("/console/decisions?outcome=failed").status(http.StatusSeeOther).
		leadsTo("/console/sign-in?next=%2Fconsole%2Fdecisions%3Foutcome%3Dfailed")
	b.get("/console/sign-in?next=/console/policies").wholePage().has("Sign in", `value="/console/policies"`)

	a := b.post("/console/sign-in", "name", storybook.Operator, "password", storybook.OneTime, "next", "/console/policies").
		status(http.StatusSeeOther)
	a.leadsTo("/console/password?next=%2Fconsole%2Fpolicies")
	first := sidOf(t, a)
	b.sid = first.Value
	b.get("/console/").status(http.StatusSeeOther).leadsTo("/console/password")
	b.post("/console/settings/reload").status(http.StatusUnauthorized)
	b.get("/console/password").wholePage().has("one-time password has done its work")

	a = b.post("/console/password", "password", "correct horse battery", "again", "correct horse battery", "next", "/console/policies").
		status(http.StatusSeeOther)
	a.leadsTo("/console/policies")
	b.get("/console/").status(http.StatusSeeOther).leadsTo("/console/sign-in")
	b.sid = sidOf(t, a).Value
	b.get("/console/policies").status(http.StatusOK)

	b.sid = ""
	b.post("/console/sign-in", "name", storybook.Operator, "password", storybook.OneTime).status(http.StatusUnauthorized).
		has("Name or password is wrong")
	b.post("/console/sign-in", "name", storybook.Operator, "password", "correct horse battery").leadsTo("/console/")
}

func TestSignIn_Cookie(t *testing.T) {
	t.Parallel()
	signIn := func(b *bench, https bool) *http.Cookie {
		b.sid = ""
		r := request(http.MethodPost, "/console/sign-in", values("name", storybook.Operator, "password", storybook.OneTime).Encode())
		if https {
			r.TLS = &tls.ConnectionState{}
		}
		return sidOf(b.t, b.do(r))
	}
	plain := newBench(t)
	behindProxy := newBench(t, func(c *console.Config) { c.Secure = true })
	for _, tc := range []struct {
		name   string
		cookie *http.Cookie
		want   string
		secure bool
	}{
		{"http", signIn(plain, false), "sid", false},
		{"https", signIn(plain, true), "__Host-sid", true},
		{"proxy", signIn(behindProxy, false), "__Host-sid", true},
	} {
		c := tc.cookie
		if c.Name != tc.want || c.Secure != tc.secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
			t.Errorf("%s: got %v", tc.name, c)
		}
		if len(c.Value) < 26 {
			t.Errorf("%s: the token %q is short", tc.name, c.Value)
		}
	}
}

func TestSignIn_SlowsGuessingDown(t *testing.T) {
	t.Parallel()
	now := storybook.Now()
	b := newBench(t, func(c *console.Config) { c.Now = func() time.Time { return now } })
	b.sid = ""
	for range 5 {
		b.post("/console/sign-in", "name", storybook.Operator, "password", "guess").status(http.StatusUnauthorized)
	}
	a := b.post("/console/sign-in", "name", storybook.Operator, "password", storybook.OneTime).status(http.StatusTooManyRequests)
	if a.Header.Get("Retry-After") != "11" {
		t.Errorf("Retry-After is %q, want 11", a.Header.Get("Retry-After"))
	}
	b.post("/console/sign-in", "name", "somebody else", "password", "guess").status(http.StatusUnauthorized)
	now = now.Add(11 * time.Second)
	b.post("/console/sign-in", "name", storybook.Operator, "password", storybook.OneTime).status(http.StatusSeeOther)
}

func TestSignIn_LeadsNowhereElse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.sid = ""
	for _, next := range []string{"https://evil.example/console/", "//evil.example/console/", "/elsewhere", `/console/\evil.example`, "javascript:alert(1)", ""} {
		a := b.get("/console/sign-in?next=" + strings.ReplaceAll(next, `\`, "%5C"))
		a.status(http.StatusOK).has(`name="next" value="/console/"`)
	}
}

func TestSetPassword_Rules(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, tc := range []struct{ name, password, again, want string }{
		{"short", "short", "short", "at least 12 characters"},
		{"differ", "long enough one", "long enough two", "The two passwords differ"},
		{"name", "the admin password", "the admin password", "must not contain your name"},
		{"long", strings.Repeat("long", 300), strings.Repeat("long", 300), "at most 1024 bytes"},
	} {
		a := b.post("/console/password", "password", tc.password, "again", tc.again).status(http.StatusUnprocessableEntity)
		a.wholePage().has(tc.want, `role="alert"`).lacks(`value="` + tc.password)
	}
	b.get("/console/").status(http.StatusOK)
}

func TestSession_Ends(t *testing.T) {
	t.Parallel()
	now := storybook.Now()
	b := newBench(t, func(c *console.Config) { c.Now = func() time.Time { return now } })
	now = now.Add(29 * time.Minute)
	b.get("/console/").status(http.StatusOK)
	now = now.Add(29 * time.Minute)
	b.get("/console/").status(http.StatusOK)
	now = now.Add(31 * time.Minute)
	b.get("/console/").status(http.StatusSeeOther).leadsTo("/console/sign-in")

	b = newBench(t, func(c *console.Config) { c.Now = func() time.Time { return now } })
	now = storybook.Now()
	for range 24 {
		b.get("/console/").status(http.StatusOK)
		now = now.Add(29 * time.Minute)
	}
	now = storybook.Now().Add(12*time.Hour + time.Second)
	b.get("/console/").status(http.StatusSeeOther).leadsTo("/console/sign-in")
}

func TestSession_SignOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.post("/console/sign-out").status(http.StatusSeeOther)
	a.leadsTo("/console/sign-in")
	if c := sidOf(t, a); c.MaxAge >= 0 || c.Value != "" {
		t.Errorf("the cookie stays: %v", c)
	}
	b.get("/console/").status(http.StatusSeeOther).leadsTo("/console/sign-in")
}

// TestSession_EndedWhileWriting is field-failures R43 (b): the text that was
// written survives the new sign-in.
func TestSession_EndedWhileWriting(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	draft := b.newDraft()
	b.sid = ""
	b.htmx(draft, "file", "routing.rego", "text", "package kept").status(http.StatusUnauthorized).fragment().
		has("Your session has ended", "Nothing was changed", "another tab")

	a := b.post(draft, "file", "routing.rego", "version", "1", "text", "package kept").status(http.StatusUnauthorized)
	a.wholePage().has("what you wrote is kept", `name="text" value="package kept"`, `name="next" value="`+draft+`"`)
	signIn := []string{"name", storybook.Operator, "password", "own password 1234", "next", draft, "file", "routing.rego", "version", "1", "text", "package kept"}
	if err := b.book.SetPassword(t.Context(), storybook.Operator, "own password 1234"); err != nil {
		t.Fatal(err)
	}
	a = b.post("/console/sign-in", signIn...).status(http.StatusTemporaryRedirect)
	b.sid = sidOf(t, a).Value
	b.post(a.leadsTo(draft), signIn...).status(http.StatusSeeOther)
	b.get(draft + "?file=routing.rego").has("package kept")
}

func TestPreferences(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.post("/console/preferences", "lang", "ja", "theme", "dark", "next", "/console/settings").status(http.StatusSeeOther)
	a.leadsTo("/console/settings")
	r := request(http.MethodGet, "/console/settings", "")
	for _, c := range a.Cookies() {
		r.AddCookie(c)
	}
	b.do(r).has(`<html lang="ja" data-theme="dark">`, "設定ファイル")
	b.lang = "ja,en;q=0.5"
	b.get("/console/settings").has(`<html lang="ja">`)
	b.lang = "fr, en;q=0.8, ja;q=0.3"
	b.get("/console/settings").has(`<html lang="en">`)
	a = b.post("/console/preferences", "keys", "off", "next", "/console/settings")
	r = request(http.MethodGet, "/console/settings", "")
	for _, c := range a.Cookies() {
		r.AddCookie(c)
	}
	b.do(r).has(`data-keys="off"`, `name="keys" value="on"`)
	b.get("/console/settings").has(`data-keys="on"`, `name="keys" value="off"`)
	b.post("/console/preferences", "lang", "xx", "theme", "pink", "next", "https://evil.example").leadsTo("/console/")
}
