package console_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func rows(a answer) int { return strings.Count(a.body, "<tr data-seq=") }

func TestDecisions_Chain(t *testing.T) {
	t.Parallel()
	a := newBench(t).get("/console/decisions").status(http.StatusOK).wholePage()
	m := regexp.MustCompile(`(?s)<tr data-seq="180".*?</tr>`).FindString(a.body)
	want := "11-29 22:05:13 JST assistant paid claude-opus-5-5 overloaded ×2 → claude-sonnet-5 skipped: cooling down → gpt-6-sol ok answered fallback 2.31 s $0.009120"
	if got := text(m); got != want {
		t.Errorf("the newest row is\n%q, want\n%q", got, want)
	}
	m = regexp.MustCompile(`(?s)<tr data-seq="165".*?</tr>`).FindString(a.body)
	if got := text(m); !strings.Contains(got, "claude-opus-5-5 skipped: circuit open no target 1.90 s unknown") {
		t.Errorf("a refused request is %q: an unknown cost is not 0", got)
	}
}

func TestDecisions_Pages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.get("/console/decisions")
	if n := rows(a); n != 50 {
		t.Errorf("the first page has %d rows, want 50", n)
	}
	next := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(a.body)
	if next == nil {
		t.Fatal("no link to older decisions")
	}
	older := b.get(strings.ReplaceAll(next[1], "&amp;", "&"))
	if n := rows(older); n != 10 {
		t.Errorf("the second page has %d rows, want 10", n)
	}
	older.lacks(`rel="next"`, `tail=decisions`)
	a.has("tail=decisions", "after=180")
}

func TestDecisions_FiltersAreTheAddress(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, tc := range []struct {
		query string
		rows  int
		chips []string
	}{
		{"outcome=failed", 20, []string{"Outcome: not answered"}},
		{"outcome=rate_limited", 10, []string{"Outcome: 429 rate limited"}},
		{"target=gpt-6-sol&degraded=1", 10, []string{"Answered by: gpt-6-sol", "Only fallbacks and reroutes: yes"}},
		{"use_case=batch&audience=free", 10, []string{"Use case: batch", "Audience: free"}},
		{"q=9060", 1, []string{"Id, model or tags: 9060"}},
		{"from=2026-11-29T22:05:00&to=2026-11-29T22:05:07", 1, []string{"From: 2026-11-29T22:05:00"}},
		{"key=nobody", 0, []string{"Caller&#39;s key: nobody"}},
		{"unknown=1", 50, nil},
	} {
		a := b.get("/console/decisions?" + tc.query).status(http.StatusOK)
		if n := rows(a); n != tc.rows {
			t.Errorf("%s: %d rows, want %d", tc.query, n, tc.rows)
		}
		a.has(tc.chips...)
	}
	b.get("/console/decisions?target=gone").has(`<option value="gone" selected>`, "No decision passes these filters", `href="/console/decisions"`)
	b.get("/console/decisions?from=yesterday").status(http.StatusBadRequest).wholePage().
		has("“From”: yesterday is not a time", `value="yesterday"`)
}

func TestDecision_Detail(t *testing.T) {
	t.Parallel()
	a := newBench(t).get("/console/decisions/01jdwq7f3a9060").status(http.StatusOK).wholePage()
	s := text(a.body)
	for _, want := range []string{
		"Answered by gpt-6-sol in 2.31 s. Failed attempts before: 2.",
		"claude-sonnet-5 not attempted cooling down 17 s left then",
		"gpt-6-luna not attempted not needed: an earlier step answered",
		"claude-haiku-5-5 excluded context too small can&#39;t call tools",
		"2 claude-opus-5-5 eu-1 main overloaded 529 · overloaded_error 490 ms – 380 ms – unknown",
		"3 gpt-6-sol us-1 main answered 200 – 350 ms 1.01 s 1804 / 240 (cache 512 read, 0 written) $0.009120",
		"claude-opus-5-5 88.375 30.000 19.000 12.375 27.000 serving · 87.1% · 1.90 s",
		"“now on gpt-6-sol (normally claude-opus-5-5)”", "latency_budget_ms 5000", "needs tools", "412 evaluation steps routing.plan",
	} {
		if !strings.Contains(s, strings.Trim(want, "“”")) {
			t.Errorf("the page lacks %q", want)
		}
	}
	a.has(`id="a3"`, `href="#a3"`, `/console/policies?revision=a91f03c7`, `data-next`, `href="/console/decisions/01jdwq7f3a9059"`)
	a.lacks("data-previous")
}

func TestDecision_WithoutDocuments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := &b.book.History[0]
	d.Facts, d.Plan, d.Snapshot, d.Body = nil, json.RawMessage("{"), json.RawMessage("[]"), json.RawMessage("not JSON")
	b.get("/console/decisions/"+d.ID).status(http.StatusOK).wholePage().has("not JSON", "overloaded")
	b.get("/console/decisions/nobody").status(http.StatusNotFound).wholePage()
}

func TestDecision_Raw(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.get("/console/decisions/01jdwq7f3a9060/raw").status(http.StatusOK)
	if ct := a.Header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("content type %q", ct)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil || v["target"] != "gpt-6-sol" {
		t.Errorf("got %s, %v", a.body, err)
	}
}

// TestPages_Escape holds that recorded words never become markup.
func TestPages_Escape(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const evil = `<img src=x onerror="alert(1)">`
	d := &b.book.History[0]
	d.Asked, d.KeyID, d.DisclosedText, d.Tenant, d.Warnings = evil, evil, evil, evil, []string{evil}
	d.Attempts[0].Type, d.Skips[0].Detail = evil, evil
	d.Body = json.RawMessage(`{"x":"<script>alert(1)</script>"}`)
	for _, path := range []string{"/console/decisions", "/console/decisions/" + d.ID, "/console/decisions?q=" + "%3Cimg%20src%3Dx%3E"} {
		b.get(path).status(http.StatusOK).lacks("<img", "<script>alert")
	}
	draft := b.newDraft()
	b.htmx(draft, "file", "routing.rego", "version", "1", "text", "</textarea><script>alert(1)</script>").status(http.StatusOK)
	b.get(draft + "?file=routing.rego").lacks("<script>alert").has("&lt;/textarea&gt;")
}
