package test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

const opusState = "document.querySelector('#circuits-claude-opus-5-5 [data-circuit=assistant] .word').dataset.state"

// An operator at the keyboard holds a target open, the next request goes
// elsewhere, the audit says who and why; released, it comes back (R1.8).
func TestConsole_HoldAndRelease(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	p := openTab(t, s.Console)
	p.signIn(s)
	answeredBy := func() string {
		t.Helper()
		r := s.send("POST", "/v1/messages", anthropicBody, "Spillway-Use-Case", "assistant")
		if r.status != 200 {
			t.Fatalf("a request got %d: %s", r.status, r.body)
		}
		return r.header.Get("Spillway-Target")
	}
	if got := answeredBy(); got != "claude-opus-5-5" {
		t.Fatalf("before any hold %q answers", got)
	}
	p.press("#target-claude-opus-5-5 h3 a", "location.pathname === '/console/targets/claude-opus-5-5'")
	p.accessible("target")
	p.narrow("target")
	js[bool](p, "document.querySelector('.hold-form').noValidate = true") // as a browser that does not check
	p.press("#hold", "document.querySelector('#hold-error') && document.querySelector('#reason-error')")
	p.accessible("form with errors")
	p.narrow("form with errors")
	p.reach("#hold-forced_open")
	p.keys(" ")
	p.reach("#reason")
	p.keys("vendor maintenance")
	p.press("#hold", "location.search === '?done=held'")
	p.accessible("held target")
	p.narrow("held target")
	for _, want := range []string{"held open by admin", "Why: vendor maintenance", "14m"} {
		p.await(want, "document.body.innerText.includes('"+want+"')")
	}
	if got := answeredBy(); got == "" || got == "claude-opus-5-5" {
		t.Errorf("the held target answers: %q", got)
	}
	history := func(want string) {
		t.Helper()
		eventually(t, 5*time.Second, want, func() bool {
			return s.query("select target, use_case, hold, by, reason, until_utc is not null from v_override_history limit 1") == want
		})
	}
	history("claude-opus-5-5|*|forced_open|admin|vendor maintenance|1")
	p.press("[data-release]", "location.search === '?done=released'")
	if got := answeredBy(); got != "claude-opus-5-5" {
		t.Errorf("after the release %q answers", got)
	}
	history("claude-opus-5-5|*|none|admin||0")
	if got := s.query("select count(*) from v_circuit_history"); got != "0" {
		t.Errorf("a hold moved a computed state: %s transitions", got)
	}
}

// The page of a target shows a circuit open without being loaded again, and
// what is being typed stays.
func TestConsole_TargetIsLive(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	p := openTab(t, s.Console)
	p.signIn(s)
	p.open("/console/targets/claude-opus-5-5")
	p.await("the circuits", opusState+" === 'serving'")
	js[bool](p, "window.untouched = true")
	p.reach("#reason")
	p.keys("half a rea")
	s.fault("anthropic", "overloaded")
	for range 8 {
		s.send("POST", "/v1/messages", anthropicBody, "Spillway-Use-Case", "assistant")
	}
	p.await("the open circuit", opusState+" === 'blocked'")
	p.await("its event", "document.querySelector('#log-claude-opus-5-5').innerText.includes('Blocked (open)')")
	p.keys("son")
	if got := js[string](p, "document.querySelector('#reason').value"); got != "half a reason" || !js[bool](p, "window.untouched") {
		t.Errorf("the form has %q after the update", got)
	}
	p.accessible("target with an open circuit")
	eventually(t, 5*time.Second, "the failures are listed", func() bool {
		p.open("/console/targets/claude-opus-5-5")
		p.await("the page", "document.querySelector('#circuits-claude-opus-5-5')")
		return strings.Contains(p.text(), "529")
	})
	s.fault("anthropic", "")
}

// A restart forgets neither a hold nor who put it there, and a wrong address
// leads to the right one.
func TestConsole_HoldSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir)
	p := openTab(t, s.Console)
	p.signIn(s)
	p.open("/console/targets/claude-opus")
	p.await("a hint", "document.querySelector('.failure a')")
	p.accessible("unknown target")
	p.narrow("unknown target")
	p.press(".failure a[href$='claude-opus-5-5']", "location.pathname === '/console/targets/claude-opus-5-5'")
	p.reach("#hold-forced_open")
	p.keys(kb.ArrowUp) // to the last of the group, which selects it
	p.reach("#use_case")
	p.keys("a") // assistant
	p.reach("#everywhere")
	p.keys(" ")
	p.reach("#reason")
	p.keys("fleet-wide 529")
	p.press("#hold", "location.search === '?done=held'")
	p.await("the preset", "document.body.innerText.includes('every target, assistant: emergency preset by admin')")
	eventually(t, 5*time.Second, "recorded", func() bool { return s.query("select count(*) from v_override_history") == "1" })
	s.kill()

	again := start(t, dir)
	q := openTab(t, again.Console)
	q.open("/console/sign-in")
	q.await("the sign-in form", "document.querySelector('#password')")
	q.reach("#name")
	q.keys("admin")
	q.reach("#password")
	q.keys("correct horse battery")
	q.keys(kb.Enter)
	q.await("the overview", "document.querySelector('#targets')")
	for _, target := range []string{"claude-opus-5-5", "gpt-6-luna"} {
		q.open("/console/targets/" + target)
		q.await("the hold on "+target, "document.querySelector('.holds').innerText.includes('fleet-wide 529')")
	}
	if got := again.query("select count(*) from v_override_history"); got != "1" {
		t.Errorf("the restart recorded the hold again: %s rows", got)
	}
}
