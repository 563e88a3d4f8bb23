package console_test

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// goldenHTML is the page's own part with every tag on a line of its own, and
// without what differs between runs.
func goldenHTML(t *testing.T, a answer) string {
	t.Helper()
	main := regexp.MustCompile(`(?s)<main.*</main>`).FindString(a.body)
	if main == "" {
		t.Fatal("the page has no main part")
	}
	main = regexp.MustCompile(`(?s)<svg class="icon".*?</svg>`).ReplaceAllString(main, "<icon>")
	main = regexp.MustCompile(`drafts/[a-z0-9]{16}`).ReplaceAllString(main, "drafts/ID")
	main = regexp.MustCompile(`<code>[a-z0-9]{6}</code>|[a-z0-9]{16}</span>`).ReplaceAllString(main, "ID")
	main = regexp.MustCompile(`\s+`).ReplaceAllString(main, " ")
	return strings.ReplaceAll(main, "> <", "><")
}

// TestPages_Golden compares whole views in both languages with what a person
// looked at when the file was written; run it with -update after a change.
func TestPages_Golden(t *testing.T) {
	t.Parallel()
	for _, lang := range []string{"en", "ja"} {
		b := newBench(t)
		b.lang = lang
		draft := b.newDraft()
		b.post(draft, "file", "routing.rego", "version", "1", "text", "package spillway.routing\n!error\n!warn\n")
		for name, path := range map[string]string{
			"overview": "/console/", "target": "/console/targets/claude-opus-5-5", "held": "/console/targets/gpt-6-sol", "decisions": "/console/decisions?outcome=failed&from=2026-11-29T22:04:00",
			"decision": "/console/decisions/01jdwq7f3a9060", "refused": "/console/decisions/01jdwq7f3a9055",
			"policies": "/console/policies", "revision": "/console/policies/revisions/1", "draft": draft + "?file=routing.rego",
			"review": draft + "/review", "settings": "/console/settings", "password": "/console/password",
		} {
			got := strings.ReplaceAll(goldenHTML(t, b.get(path).status(http.StatusOK)), "><", ">\n<") + "\n"
			file := filepath.Join("testdata", lang, name+".html")
			if *update {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs from %s at:\n%s", path, file, firstDifference(got, string(want)))
			}
		}
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "got  " + g[i] + "\nwant " + w[i]
		}
	}
	return "one is longer than the other"
}
