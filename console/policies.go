package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/spillway-llm/spillway/console/diff"
)

// revisionsListed is how many revisions the policies page lists.
const revisionsListed = 50

// policiesView is what the policies page shows.
type policiesView struct {
	Active    Revision
	Drafts    []Draft
	Revisions []RevisionInfo
	Older     int // number to list before, 0 at the end
}

// policyList serves GET /console/policies. ?revision=ID leads from a decision to
// the page of its revision.
func (c *Console) policyList(w http.ResponseWriter, r *http.Request, p page) error {
	q := r.URL.Query()
	if id := q.Get("revision"); id != "" {
		return c.toRevision(w, r, id)
	}
	before, err := strconv.Atoi(q.Get("before"))
	if err != nil {
		before = 0 // the newest page
	}
	var v policiesView
	if v.Active, err = c.cfg.Revisions.Active(r.Context()); err != nil {
		return err
	}
	if v.Drafts, err = c.cfg.Drafts.Drafts(r.Context()); err != nil {
		return err
	}
	if v.Revisions, err = c.cfg.Revisions.List(r.Context(), before, revisionsListed+1); err != nil {
		return err
	}
	if len(v.Revisions) > revisionsListed {
		v.Revisions = v.Revisions[:revisionsListed]
		v.Older = v.Revisions[revisionsListed-1].Number
	}
	p.Area, p.Title = "policies", p.T("nav.policies")
	c.adorn(&p)
	return c.render(w, r, http.StatusOK, policiesPage(p, v))
}

// toRevision finds the newest activation of a revision's text.
func (c *Console) toRevision(w http.ResponseWriter, r *http.Request, id string) error {
	const batch = 200
	for before := 0; ; {
		list, err := c.cfg.Revisions.List(r.Context(), before, batch)
		if err != nil {
			return err
		}
		for _, rev := range list {
			if rev.ID == id {
				http.Redirect(w, r, string(revisionURL(rev.Number)), http.StatusSeeOther)
				return nil
			}
		}
		if len(list) < batch {
			return ErrNotFound
		}
		before = list[len(list)-1].Number
	}
}

// policyFile serves GET /console/policies/files/{name}: a file of the acting revision.
func (c *Console) policyFile(w http.ResponseWriter, r *http.Request, p page) error {
	rev, err := c.cfg.Revisions.Active(r.Context())
	if err != nil {
		return err
	}
	f, ok := find(rev.Files, r.PathValue("name"))
	if !ok {
		return ErrNotFound
	}
	p.Area, p.Title = "policies", f.Name
	c.adorn(&p)
	return c.render(w, r, http.StatusOK, policyFilePage(p, rev, f))
}

func find(files []File, name string) (File, bool) {
	at := slices.IndexFunc(files, func(f File) bool { return f.Name == name })
	if at < 0 {
		return File{}, false
	}
	return files[at], true
}

// put returns the files with one replaced, or added in its place by name.
func put(files []File, f File) []File {
	out := slices.Clone(files)
	at, found := slices.BinarySearchFunc(out, f.Name, func(x File, name string) int { return strings.Compare(x.Name, name) })
	if found {
		out[at] = f
		return out
	}
	return slices.Insert(out, at, f)
}

func fileURL(name string) templ.SafeURL {
	return templ.SafeURL(Prefix + "policies/files/" + (&url.URL{Path: name}).EscapedPath())
}

func revisionURL(number int) templ.SafeURL {
	return templ.SafeURL(Prefix + "policies/revisions/" + strconv.Itoa(number))
}

// lines splits a file for showing it with numbers.
func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// contextLines is how many equal lines a diff shows around a change.
const contextLines = 3

// fileDiff is what changed in one file.
type fileDiff struct {
	Name              string
	Added, Removed    bool
	Hunks             []diff.Hunk
	Inserted, Deleted int
}

// compare lists the files that differ between two sets, by name.
func compare(before, after []File) []fileDiff {
	var out []fileDiff
	names := map[string]bool{}
	for _, f := range append(slices.Clone(before), after...) {
		names[f.Name] = true
	}
	for name := range names {
		a, had := find(before, name)
		b, has := find(after, name)
		if a.Text == b.Text && had == has {
			continue
		}
		d := fileDiff{Name: name, Added: !had, Removed: !has, Hunks: diff.Hunks(a.Text, b.Text, contextLines)}
		d.Inserted, d.Deleted = diff.Stat(a.Text, b.Text)
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b fileDiff) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// totals sums the changes of several files up.
func totals(diffs []fileDiff) (inserted, deleted int) {
	for _, d := range diffs {
		inserted += d.Inserted
		deleted += d.Deleted
	}
	return inserted, deleted
}

// span is a hunk's place in the two texts, as unified diffs write it.
func span(h diff.Hunk) string {
	var oldFrom, oldCount, newFrom, newCount int
	for _, l := range h.Lines {
		if l.Old > 0 {
			oldCount++
			if oldFrom == 0 {
				oldFrom = l.Old
			}
		}
		if l.New > 0 {
			newCount++
			if newFrom == 0 {
				newFrom = l.New
			}
		}
	}
	part := func(from, count int) string { return strconv.Itoa(from) + "," + strconv.Itoa(count) }
	return "@@ -" + part(oldFrom, oldCount) + " +" + part(newFrom, newCount) + " @@"
}

// errorsIn counts the problems that stop an activation.
func errorsIn(problems []Problem) int {
	n := 0
	for _, pr := range problems {
		if pr.Severity == SeverityError {
			n++
		}
	}
	return n
}

// check asks for the problems of a set of files. A check that could not be done
// is itself an error of the page: an unchecked draft must not look clean.
func (c *Console) check(ctx context.Context, files []File) ([]Problem, error) {
	problems, err := c.cfg.Activator.Check(ctx, files)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Compare(a.Severity.rank(), b.Severity.rank())
	})
	return problems, nil
}

// rank puts errors first.
func (s Severity) rank() int {
	if s == SeverityError {
		return 0
	}
	return 1
}
