package console

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
)

// draftView is what the editor shows.
type draftView struct {
	Draft  Draft
	File   File
	Status draftStatus
	// Changed marks the files that differ from the acting revision.
	Changed map[string]bool
	Active  int
}

// draftStatus is the part of the editor that answers to a check or a save.
type draftStatus struct {
	Draft    Draft
	File     string
	Problems []Problem
	// Saved reports that the text in the editor is the stored one.
	Saved bool
	// Stale is the stored draft that somebody saved meanwhile, nil when nobody did.
	Stale *Draft
}

// newDraft serves POST /console/policies/drafts: a draft of the acting revision,
// or of the revision that the form names.
func (c *Console) newDraft(w http.ResponseWriter, r *http.Request, p page) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	rev, err := c.cfg.Revisions.Active(r.Context())
	if err != nil {
		return err
	}
	if s := r.PostForm.Get("revision"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			return ErrNotFound
		}
		if rev, err = c.cfg.Revisions.Revision(r.Context(), n); err != nil {
			return err
		}
	}
	d, err := c.cfg.Drafts.SaveDraft(r.Context(), Draft{
		ID: strings.ToLower(rand.Text()[:16]), Base: rev.Number, By: p.Session.Operator, At: c.cfg.Now(), Files: rev.Files,
	})
	if err != nil {
		return err
	}
	http.Redirect(w, r, d.url(r.PostForm.Get("file")), http.StatusSeeOther)
	return nil
}

func (d Draft) path(action string) string {
	return Prefix + "policies/drafts/" + url.PathEscape(d.ID) + action
}

func (d Draft) link(action string) templ.SafeURL { return templ.SafeURL(d.path(action)) }

func (d Draft) url(file string) string {
	if file == "" {
		return d.path("")
	}
	return d.path("") + "?file=" + url.QueryEscape(file)
}

// lineURL leads to a problem's line in the editor.
func (d Draft) lineURL(pr Problem) templ.SafeURL {
	return templ.SafeURL(d.url(pr.File) + "#L" + strconv.Itoa(max(1, pr.Row)))
}

// draftPage serves GET /console/policies/drafts/{id}.
func (c *Console) draftPage(w http.ResponseWriter, r *http.Request, p page) error {
	d, err := c.cfg.Drafts.Draft(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	name := r.URL.Query().Get("file")
	if name == "" && len(d.Files) > 0 {
		name = d.Files[0].Name
	}
	f, ok := find(d.Files, name)
	if !ok {
		return ErrNotFound
	}
	problems, err := c.check(r.Context(), d.Files)
	if err != nil {
		return err
	}
	st := draftStatus{Draft: d, File: f.Name, Problems: problems, Saved: true}
	return c.showDraft(w, r, p, http.StatusOK, f, st)
}

func (c *Console) showDraft(w http.ResponseWriter, r *http.Request, p page, status int, f File, st draftStatus) error {
	active, err := c.cfg.Revisions.Active(r.Context())
	if err != nil {
		return err
	}
	v := draftView{Draft: st.Draft, File: f, Status: st, Changed: map[string]bool{}, Active: active.Number}
	for _, d := range compare(active.Files, put(st.Draft.Files, f)) {
		v.Changed[d.Name] = true
	}
	p.Area, p.Title = "policies", p.T("draft.title", f.Name)
	c.adorn(&p)
	return c.render(w, r, status, draftPageView(p, v))
}

// posted reads the editor's form: the draft as it is stored and the file as it
// was sent. The text is in the answer whatever happens next.
func (c *Console) posted(r *http.Request) (Draft, File, error) {
	if err := r.ParseForm(); err != nil {
		return Draft{}, File{}, err
	}
	d, err := c.cfg.Drafts.Draft(r.Context(), r.PathValue("id"))
	if err != nil {
		return Draft{}, File{}, err
	}
	f := File{Name: r.PostForm.Get("file"), Text: strings.ReplaceAll(r.PostForm.Get("text"), "\r\n", "\n")}
	if _, ok := find(d.Files, f.Name); !ok {
		return Draft{}, File{}, ErrNotFound
	}
	return d, f, nil
}

// checkDraft serves POST …/check: problems of the text in the editor, unsaved.
func (c *Console) checkDraft(w http.ResponseWriter, r *http.Request, p page) error {
	d, f, err := c.posted(r)
	if err != nil {
		return err
	}
	problems, err := c.check(r.Context(), put(d.Files, f))
	if err != nil {
		return err
	}
	stored, _ := find(d.Files, f.Name)
	d.Version = version(r, d.Version)
	st := draftStatus{Draft: d, File: f.Name, Problems: problems, Saved: stored.Text == f.Text}
	return c.answerDraft(w, r, p, checked(problems), f, st)
}

// checked is the status of an answer about a draft: 422 when it can't act.
func checked(problems []Problem) int {
	if errorsIn(problems) > 0 {
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

// version is the draft's version that the form was rendered with.
func version(r *http.Request, otherwise int) int {
	if n, err := strconv.Atoi(r.PostForm.Get("version")); err == nil {
		return n
	}
	return otherwise
}

func (c *Console) answerDraft(w http.ResponseWriter, r *http.Request, p page, status int, f File, st draftStatus) error {
	if p.Fragment {
		return c.render(w, r, status, draftStatusView(p, st))
	}
	return c.showDraft(w, r, p, status, f, st)
}

// saveDraft serves POST /console/policies/drafts/{id}. A draft is saved with its
// problems: only activating needs a clean one.
func (c *Console) saveDraft(w http.ResponseWriter, r *http.Request, p page) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	switch r.PostForm.Get("action") {
	case "add":
		return c.addFile(w, r, p)
	case "remove":
		return c.removeFile(w, r)
	}
	d, f, err := c.posted(r)
	if err != nil {
		return err
	}
	stored := d
	if r.PostForm.Get("action") != "overwrite" {
		d.Version = version(r, d.Version)
	}
	d.Files, d.By, d.At = put(d.Files, f), p.Session.Operator, c.cfg.Now()
	saved, err := c.cfg.Drafts.SaveDraft(r.Context(), d)
	if errors.Is(err, ErrStale) {
		st := draftStatus{Draft: d, File: f.Name, Stale: &stored}
		return c.answerDraft(w, r, p, http.StatusConflict, f, st)
	}
	if err != nil {
		return err
	}
	if r.PostForm.Get("action") == "review" {
		return leadTo(w, r, p, saved.path("/review"))
	}
	if !p.Fragment {
		return leadTo(w, r, p, saved.url(f.Name))
	}
	problems, err := c.check(r.Context(), saved.Files)
	if err != nil {
		return err
	}
	st := draftStatus{Draft: saved, File: f.Name, Problems: problems, Saved: true}
	return c.answerDraft(w, r, p, http.StatusOK, f, st)
}

// leadTo sends the browser to another page; htmx would follow a redirect on its
// own and swap the page into a fragment's place.
func leadTo(w http.ResponseWriter, r *http.Request, p page, to string) error {
	if p.Fragment {
		w.Header().Set("HX-Redirect", to)
		w.WriteHeader(http.StatusOK)
		return nil
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// addFile puts an empty file into a draft.
func (c *Console) addFile(w http.ResponseWriter, r *http.Request, p page) error {
	name := strings.TrimSpace(r.PostForm.Get("file"))
	if !validName(name) {
		return &failure{
			Status: http.StatusUnprocessableEntity, What: p.T("draft.bad_name", name),
			NotDone: p.T("fail.nothing_changed"), Do: p.T("draft.bad_name.do"),
		}
	}
	d, err := c.cfg.Drafts.Draft(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if _, exists := find(d.Files, name); !exists {
		d.Files, d.By, d.At = put(d.Files, File{Name: name}), p.Session.Operator, c.cfg.Now()
		if d, err = c.cfg.Drafts.SaveDraft(r.Context(), d); err != nil {
			return err
		}
	}
	return leadTo(w, r, p, d.url(name))
}

// removeFile takes a file out of a draft.
func (c *Console) removeFile(w http.ResponseWriter, r *http.Request) error {
	d, err := c.cfg.Drafts.Draft(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	name := r.PostForm.Get("file")
	if _, ok := find(d.Files, name); !ok {
		return ErrNotFound
	}
	d.Files = slices.DeleteFunc(slices.Clone(d.Files), func(f File) bool { return f.Name == name })
	if d, err = c.cfg.Drafts.SaveDraft(r.Context(), d); err != nil {
		return err
	}
	http.Redirect(w, r, d.url(""), http.StatusSeeOther)
	return nil
}

// validName accepts relative paths of policy and data files.
func validName(name string) bool {
	if name == "" || len(name) > 128 || path.Clean(name) != name || path.IsAbs(name) || strings.HasPrefix(name, "../") {
		return false
	}
	ok := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./", r)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !ok(r) }) {
		return false
	}
	return slices.Contains([]string{".rego", ".json", ".yaml", ".yml"}, path.Ext(name))
}

// discardDraft serves POST …/discard.
func (c *Console) discardDraft(w http.ResponseWriter, r *http.Request, _ page) error {
	if err := c.cfg.Drafts.DropDraft(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	http.Redirect(w, r, Prefix+"policies", http.StatusSeeOther)
	return nil
}
