package console_test

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/console"
)

func TestPolicies_List(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.get("/console/policies").status(http.StatusOK).wholePage()
	a.has("routing.rego", "config/routing/data.json", `data-revision="1"`, "weigh success higher", "mika", "acting")
	b.get("/console/policies?revision=" + strings.Repeat("5eedf00d", 8)).status(http.StatusSeeOther).leadsTo("/console/policies/revisions/2")
	b.get("/console/policies?revision=unknown").status(http.StatusNotFound)
	b.get("/console/policies/files/config/routing/data.json").has(`id="L3"`, "&#34;success&#34;: 30")
	b.get("/console/policies/files/nothing.rego").status(http.StatusNotFound)
}

func TestDraft_EditCheckSave(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	draft := b.newDraft()
	b.get(draft+"?file=routing.rego").wholePage().
		has("package spillway.routing", `name="version" value="1"`, "No problems", "what acts is unchanged", `id="L20"`)

	bad := "package spillway.routing\n\n  !error here\n"
	a := b.htmx(draft+"/check", "file", "routing.rego", "version", "1", "text", bad).status(http.StatusUnprocessableEntity).fragment()
	a.has("Errors: 1", "routing.rego:3:3", `data-row="3" data-col="3"`, "unexpected ! token", draft+"?file=routing.rego#L3", "not saved yet").
		lacks("<textarea")
	a = b.post(draft+"/check", "file", "routing.rego", "version", "1", "text", bad).status(http.StatusUnprocessableEntity).wholePage()
	a.has("  !error here\n</textarea>", `<li id="L3" data-mark="error">`, "routing.rego:3:3")
	b.get(draft + "?file=routing.rego").lacks("!error")

	b.htmx(draft, "file", "routing.rego", "version", "1", "text", bad).status(http.StatusOK).fragment().
		has(`data-saved="true"`, `name="version" value="2"`, "Errors: 1")
	b.post(draft, "file", "routing.rego", "version", "2", "text", "package fine\r\n\r\n# a").leadsTo(draft + "?file=routing.rego")
	b.get(draft+"?file=routing.rego").has("\npackage fine\n\n# a</textarea>", "No problems", "changed")
	b.post(draft + "/discard").leadsTo("/console/policies")
	b.get(draft).status(http.StatusNotFound)
}

func TestDraft_SavedElsewhere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	draft := b.newDraft()
	b.post(draft, "file", "routing.rego", "version", "1", "text", "package theirs").status(http.StatusSeeOther)
	b.htmx(draft, "file", "routing.rego", "version", "1", "text", "package mine").status(http.StatusConflict).fragment().
		has("saved this draft meanwhile", "still in the editor", `value="overwrite"`, `name="version" value="1"`)
	b.post(draft, "file", "routing.rego", "version", "1", "text", "package mine").status(http.StatusConflict).wholePage().
		has("package mine</textarea>", "Not saved")
	b.get(draft + "?file=routing.rego").has("package theirs</textarea>")
	b.post(draft, "file", "routing.rego", "version", "1", "text", "package mine", "action", "overwrite").status(http.StatusSeeOther)
	b.get(draft + "?file=routing.rego").has("package mine</textarea>")
}

func TestDraft_Files(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	draft := b.newDraft()
	b.post(draft, "action", "add", "file", "extra/more.rego").leadsTo(draft + "?file=extra%2Fmore.rego")
	b.get(draft + "?file=extra/more.rego").status(http.StatusOK)
	for _, name := range []string{"", "/etc/passwd", "../up.rego", "a/../b.rego", "a//b.rego", "x.go", "ü.rego", strings.Repeat("x", 130) + ".rego"} {
		b.post(draft, "action", "add", "file", name).status(http.StatusUnprocessableEntity).has("Nothing was changed")
	}
	b.post(draft, "action", "remove", "file", "extra/more.rego").leadsTo(draft)
	b.get(draft + "?file=extra/more.rego").status(http.StatusNotFound)
	b.post(draft, "action", "remove", "file", "extra/more.rego").status(http.StatusNotFound)
	b.post(draft, "file", "not in the draft.rego", "text", "x").status(http.StatusNotFound)
}

func TestDraft_CheckImpossible(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	draft := b.newDraft()
	b.book.CheckErr = errors.New("the worker is gone")
	b.htmx(draft+"/check", "file", "routing.rego", "text", "x").status(http.StatusInternalServerError).fragment().
		has("Request").lacks("No problems", "worker")
}

func TestActivate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	draft := b.newDraft()
	b.get(draft + "/review").has("the same as revision 3").lacks(`name="reason"`)
	b.post(draft, "file", "routing.rego", "version", "1", "text", "package spillway.routing\n# quicker\n", "action", "review").
		leadsTo(draft + "/review")
	b.get(draft+"/review").wholePage().has("Files changed: 1 (lines: +1 −19)", `name="expected" value="3"`, `data-op="insert"`, "# quicker", "@@ -1,20 +1,2 @@")

	b.post(draft+"/activate", "expected", "3", "reason", "  ").status(http.StatusUnprocessableEntity).wholePage().
		has("Say why", `aria-invalid="true"`, "# quicker")
	b.post(draft+"/activate", "expected", "3", "reason", strings.Repeat("x", 501)).status(http.StatusUnprocessableEntity).has("at most 500")
	b.get("/console/policies").has("Revision 3")

	b.post(draft+"/activate", "expected", "3", "reason", "quicker").leadsTo("/console/policies/revisions/4?done=activated")
	b.get("/console/policies/revisions/4?done=activated").has("It acts on every request from now on", "quicker", "What it changed against revision 3", "admin")
	b.get("/console/").has("policy revision 4")
	b.get(draft).status(http.StatusNotFound)
}

func TestActivate_Problems(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	draft := b.newDraft()
	b.post(draft, "file", "routing.rego", "version", "1", "text", "!error\n!warn\n")
	b.get(draft+"/review").has("Errors: 1, warnings: 1", "can&#39;t act yet", "routing.rego:1:1").lacks(`id="activate"`)
	b.post(draft+"/activate", "expected", "3", "reason", "try").status(http.StatusUnprocessableEntity).wholePage().
		has("The draft has errors", "routing.rego:1:1", "revision 3 acts")
	b.get("/console/policies").has("Revision 3")
}

// TestActivate_Stale holds that a conflict loses nothing: the draft and the
// reason are shown again beside the new comparison.
func TestActivate_Stale(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	mine, other := b.newDraft(), b.newDraft()
	b.post(mine, "file", "routing.rego", "version", "1", "text", "package mine")
	b.post(other, "file", "routing.rego", "version", "1", "text", "package other")
	b.post(other+"/activate", "expected", "3", "reason", "first").status(http.StatusSeeOther)
	a := b.post(mine+"/activate", "expected", "3", "reason", "my reason").status(http.StatusConflict).wholePage()
	a.has("Another revision was activated meanwhile", `value="my reason"`, `name="expected" value="4"`, "package mine", "package other", "made from revision 3; revision 4 acts now")
	b.post(mine+"/activate", "expected", "4", "reason", "my reason").leadsTo("/console/policies/revisions/5")
	b.post(mine+"/activate", "expected", "nonsense", "reason", "x").status(http.StatusNotFound)
}

func TestRollBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.get("/console/policies/revisions/3").lacks(`id="roll-back"`).has("What it changed against revision 2")
	b.get("/console/policies/revisions/1").has("Roll back to revision 1", "up to revision 3 is undone", "What rolling back changes against revision 3",
		`data-op="delete"`, "&#34;success&#34;: 25")
	b.post("/console/policies/revisions/1/roll-back", "expected", "3", "reason", "").status(http.StatusUnprocessableEntity).has("Say why")
	b.post("/console/policies/revisions/1/roll-back", "expected", "2", "reason", "worse").status(http.StatusConflict).wholePage().
		has("Another revision was activated meanwhile", `value="worse"`, "Nothing was changed")
	b.post("/console/policies/revisions/1/roll-back", "expected", "3", "reason", "worse").leadsTo("/console/policies/revisions/4?done=rolled-back")
	b.get("/console/policies").has("roll-back to 1", "worse")
	b.get("/console/policies/revisions/4?done=rolled-back").has("this text acts again")
	for _, path := range []string{"/console/policies/revisions/99", "/console/policies/revisions/0", "/console/policies/revisions/x"} {
		b.get(path).status(http.StatusNotFound)
	}
	b.post("/console/policies/revisions/99/roll-back", "expected", "4", "reason", "x").status(http.StatusNotFound)
}

// TestActivate_Refused shows the text of a refusal, which names the remedy.
func TestActivate_Refused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	draft := b.newDraft()
	b.post(draft, "file", "routing.rego", "version", "1", "text", "package mine")
	b.book.Fail = nil
	refused := newBench(t, func(c *console.Config) {
		c.Drafts, c.Activator = draftsOf(b), refusing{c.Activator}
	})
	refused.post(draft+"/activate", "expected", "3", "reason", "why").status(http.StatusUnprocessableEntity).wholePage().
		has("poisoned by the watchdog: edit it first", `value="why"`)
	refused.post("/console/policies/revisions/1/roll-back", "expected", "3", "reason", "why").status(http.StatusUnprocessableEntity).
		has("Errors: 2")
}

func TestFirstRevisionHasNothingBefore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.get("/console/policies/revisions/2").status(http.StatusOK)
	if m := regexp.MustCompile(`name="expected" value="(\d+)"`).FindStringSubmatch(a.body); m == nil || m[1] != "3" {
		t.Errorf("the form expects %v", m)
	}
	a.has(fmt.Sprintf("/console/decisions?revision=%s", strings.Repeat("5eedf00d", 8)))
}
