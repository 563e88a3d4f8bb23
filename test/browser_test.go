package test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// tab is one page of a headless Chromium.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string
}

// openTab starts a browser; every message of the page's log, a breach of the
// content security policy among them, fails the test at its end.
func openTab(t *testing.T, base string) *tab {
	t.Helper()
	path := "/usr/bin/chromium"
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the console's tests need Chromium: %v; `make test` installs it", err)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	ctx, limit := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(limit)
	p := &tab{t: t, ctx: ctx, base: base}
	p.do(chromedp.EmulateViewport(1280, 900))
	entries := chromedp.Events(ctx, log.EntryAdded)
	go func() {
		for ev, err := range entries {
			if err != nil {
				return
			}
			// The tests stop the server and send bad input on purpose.
			if s := ev.Entry.Text; !strings.Contains(s, "Failed to load resource") && !strings.Contains(s, "WebSocket connection") {
				t.Errorf("the page's log: %s (%s)", s, ev.Entry.URL)
			}
		}
	}()
	return p
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatalf("%v\n%s", err, p.text())
	}
}

func (p *tab) open(path string) {
	p.t.Helper()
	p.do(chromedp.Navigate(p.base + path))
}

// js evaluates an expression.
func js[T any](p *tab, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// text is what the page shows.
func (p *tab) text() string {
	s, err := chromedp.Run(p.ctx, chromedp.Evaluate[string]("location.href + '\\n' + (document.body ? document.body.innerText : '')"))
	if err != nil {
		return err.Error()
	}
	return s
}

// await waits until an expression is true on the page, across navigations.
func (p *tab) await(what, expression string) {
	p.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		ok, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && ok {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("never: %s\n%s", what, p.text())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// keys types, as a person at the keyboard does.
func (p *tab) keys(keys string, opts ...chromedp.KeyOption) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(keys, opts...))
}

// reach presses Tab until the focus is on an element that matches.
func (p *tab) reach(selector string) {
	p.t.Helper()
	for range 150 {
		if js[bool](p, fmt.Sprintf("!!document.activeElement && document.activeElement.matches(%q)", selector)) {
			return
		}
		p.keys(kb.Tab)
	}
	p.t.Fatalf("Tab does not reach %s\n%s", selector, p.text())
}

// press reaches an element and presses Enter on it, and waits for the page that follows.
func (p *tab) press(selector, then string) {
	p.t.Helper()
	p.reach(selector)
	p.keys(kb.Enter)
	p.await(selector+" leads to "+then, then)
}

// signIn signs in with the one-time password and sets an own one.
func (p *tab) signIn(s *server) {
	p.t.Helper()
	p.open("/console/")
	p.await("the sign-in form", "document.querySelector('#password')")
	p.reach("#name")
	p.keys("admin")
	p.reach("#password")
	p.keys(s.Password)
	p.keys(kb.Enter)
	p.await("the form for an own password", "document.querySelector('#again')")
	p.reach("#password")
	p.keys("correct horse battery")
	p.reach("#again")
	p.keys("correct horse battery")
	p.keys(kb.Enter)
	p.await("the overview", "document.querySelector('#targets')")
}

// accessible runs axe on the page as it stands.
func (p *tab) accessible(where string) {
	p.t.Helper()
	source, err := os.ReadFile("js/node_modules/axe-core/axe.min.js")
	if err != nil {
		p.t.Fatalf("%v; `make test` installs it", err)
	}
	p.do(chromedp.Evaluate[chromedp.Void](string(source) + ";undefined"))
	raw, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](
		`axe.run({runOnly: ["wcag2a","wcag2aa","wcag21a","wcag21aa","wcag22aa","best-practice"]}).then(r => JSON.stringify(r.violations.map(v => ({id: v.id, nodes: v.nodes.map(n => n.html + " " + n.failureSummary)}))))`,
		chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("axe on %s: %v", where, err)
	}
	var found []struct {
		ID    string
		Nodes []string
	}
	if err := json.Unmarshal([]byte(raw), &found); err != nil {
		p.t.Fatal(err)
	}
	for _, v := range found {
		p.t.Errorf("%s: axe finds %s: %s", where, v.ID, strings.Join(v.Nodes, "\n"))
	}
}

// narrow checks that nothing needs sideways scrolling on a telephone.
func (p *tab) narrow(where string) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(390, 844))
	if w := js[int](p, "document.documentElement.scrollWidth"); w > 390 {
		p.t.Errorf("%s is %d px wide on a 390 px screen", where, w)
	}
	p.do(chromedp.EmulateViewport(1280, 900))
}

func TestConsole_SeesAStateChangeArrive(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	p := openTab(t, s.Console)
	p.signIn(s)
	js[bool](p, "window.untouched = true")
	s.fault("anthropic", "overloaded")
	for range 8 {
		s.send("POST", "/v1/messages", anthropicBody, "Spillway-Use-Case", "assistant")
	}
	opened := time.Now()
	p.await("the open circuit", "document.querySelector('#target-claude-opus-5-5 .state').dataset.state === 'blocked'")
	if d := time.Since(opened); d > time.Second {
		t.Errorf("the change took %v to show", d)
	}
	card := js[string](p, "document.querySelector('#target-claude-opus-5-5').innerText")
	for _, want := range []string{"overloaded", "Blocked"} {
		if !strings.Contains(card, want) {
			t.Errorf("the card does not say %q:\n%s", want, card)
		}
	}
	s.fault("anthropic", "")
	if !js[bool](p, "window.untouched") {
		t.Error("the page was loaded again")
	}
	p.accessible("overview with an open circuit")
	p.narrow("overview")
}

func TestConsole_EditActivateRollBack(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	p := openTab(t, s.Console)
	p.signIn(s)
	before := s.send("POST", "/v1/messages", anthropicBody).header
	p.open("/console/policies")
	p.accessible("policies")
	p.narrow("policies")
	p.press("form:has(input[value$='routing.rego']) button", "document.querySelector('#source')")
	p.reach("#source")
	p.keys(kb.End, chromedp.KeyModifiers(2)) // Ctrl-End
	p.keys("\nbroken := (")
	p.keys(kb.Enter, chromedp.KeyModifiers(2)) // Ctrl-Enter checks
	p.await("the error at its line", "document.querySelector('#problems') && document.querySelector('#problems').innerText.includes('routing.rego')")
	p.accessible("draft with a problem")
	p.reach("#source")
	p.keys(kb.End, chromedp.KeyModifiers(2))
	for range len("\nbroken := (") {
		p.keys(kb.Backspace)
	}
	p.keys("\nunable[\"claude-opus-5-5\"] contains \"moved\" if input.request.model == \"claude-opus-5-5\"\n")
	p.press("#review", "document.querySelector('#reason')")
	p.accessible("review")
	p.narrow("review")
	p.reach("#reason")
	p.keys("opus is too slow tonight")
	p.press("#activate", "location.pathname.includes('/revisions/') || location.pathname.endsWith('/policies')")

	moved := s.send("POST", "/v1/messages", anthropicBody).header
	if strings.Contains(moved.Get("Spillway-Target"), "opus") || moved.Get("Spillway-Policy") == before.Get("Spillway-Policy") {
		t.Fatalf("after activation: target %q, policy %q (before: %q, %q)", moved.Get("Spillway-Target"), moved.Get("Spillway-Policy"), before.Get("Spillway-Target"), before.Get("Spillway-Policy"))
	}
	eventually(t, 5*time.Second, "the decision names the new revision", func() bool {
		rev := s.query("select revision from v_decisions where id='" + moved.Get("Spillway-Decision") + "'")
		return rev != "" && strings.HasPrefix(rev, moved.Get("Spillway-Policy"))
	})

	p.open("/console/policies/revisions/1")
	p.accessible("revision")
	p.reach("#reason")
	p.keys("it was faster before")
	p.press("#roll-back", "document.body.innerText.includes('it was faster before')")
	back := s.send("POST", "/v1/messages", anthropicBody).header
	if back.Get("Spillway-Target") != before.Get("Spillway-Target") || back.Get("Spillway-Policy") != before.Get("Spillway-Policy") {
		t.Errorf("after the roll-back: target %q, policy %q", back.Get("Spillway-Target"), back.Get("Spillway-Policy"))
	}
}

func TestConsole_Decisions(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	p := openTab(t, s.Console)
	p.signIn(s)
	s.fault("anthropic", "overloaded")
	for range 3 {
		s.send("POST", "/v1/messages", anthropicBody)
	}
	eventually(t, 5*time.Second, "recorded", func() bool { return s.query("select count(*) from v_decisions") == "3" })
	p.open("/console/decisions?degraded=1")
	p.await("the chain in the row", "document.body.innerText.includes('overloaded') && document.body.innerText.includes('gpt-6')")
	p.accessible("decisions")
	p.narrow("decisions")
	p.press("main a[href^='/console/decisions/']", "document.querySelector('h1') && location.pathname.split('/').length === 4")
	page := p.text()
	for _, want := range []string{"claude-opus-5-5", "overloaded", "529"} {
		if !strings.Contains(page, want) {
			t.Errorf("the decision does not say %q", want)
		}
	}
	p.accessible("decision")
	p.narrow("decision")
}

func TestConsole_RefusesForeignPages(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	for _, c := range []struct {
		name, method, path string
		header             []string
	}{
		{"foreign_origin", "POST", "/console/sign-in", []string{"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}},
		{"foreign_fault", "POST", "/sim/vendors/anthropic/fault", []string{"Origin", "http://evil.example"}},
	} {
		if r := s.send(c.method, c.path, `{"fault":"overloaded"}`, c.header...); r.status != 403 {
			t.Errorf("%s: %d", c.name, r.status)
		}
	}
}
