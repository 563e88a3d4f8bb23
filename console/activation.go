package console

import (
	"errors"
	"net/http"
	"strconv"
)

// reviewView is what is shown before a draft acts.
type reviewView struct {
	Draft    Draft
	Active   RevisionInfo
	Diffs    []fileDiff
	Problems []Problem
	form     changeForm
}

// changeForm is the form of an activation or a roll-back as it was sent, with
// what stood against it.
type changeForm struct {
	Reason string
	// Error is beside the reason, Refused above the form.
	Error   string
	Refused string
}

// maxReason bounds a reason, in bytes.
const maxReason = 500

// reviewPage serves GET …/review.
func (c *Console) reviewPage(w http.ResponseWriter, r *http.Request, p page) error {
	d, err := c.cfg.Drafts.Draft(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	problems, err := c.check(r.Context(), d.Files)
	if err != nil {
		return err
	}
	return c.showReview(w, r, p, http.StatusOK, reviewView{Draft: d, Problems: problems})
}

func (c *Console) showReview(w http.ResponseWriter, r *http.Request, p page, status int, v reviewView) error {
	active, err := c.cfg.Revisions.Active(r.Context())
	if err != nil {
		return err
	}
	v.Active, v.Diffs = active.RevisionInfo, compare(active.Files, v.Draft.Files)
	p.Area, p.Title = "policies", p.T("review.title")
	c.adorn(&p)
	return c.render(w, r, status, reviewPageView(p, v))
}

// change reads the form of an activation or a roll-back. wrong is the text for
// a reason that won't do.
func change(r *http.Request, p page) (ch Change, wrong string, err error) {
	if err := r.ParseForm(); err != nil {
		return Change{}, "", err
	}
	expected, err := strconv.Atoi(r.PostForm.Get("expected"))
	if err != nil {
		expected = 0 // no revision has this number: the change will be stale
	}
	ch = Change{By: p.Session.Operator, Expected: expected}
	ch.Reason, wrong = reason(r, p)
	return ch, wrong, nil
}

// activate serves POST …/activate. Whatever stands against it, the draft and the
// reason are kept and shown again.
func (c *Console) activate(w http.ResponseWriter, r *http.Request, p page) error {
	d, err := c.cfg.Drafts.Draft(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	ch, wrong, err := change(r, p)
	if err != nil {
		return err
	}
	v := reviewView{Draft: d, form: changeForm{Reason: ch.Reason, Error: wrong}}
	if wrong != "" {
		if v.Problems, err = c.check(r.Context(), d.Files); err != nil {
			return err
		}
		return c.showReview(w, r, p, http.StatusUnprocessableEntity, v)
	}
	info, err := c.cfg.Activator.Activate(r.Context(), d.Files, ch)
	if problems, ok := errors.AsType[*ProblemsError](err); ok {
		v.Problems = problems.Problems
		v.form.Refused = p.T("review.problems")
		return c.showReview(w, r, p, http.StatusUnprocessableEntity, v)
	}
	if status, text := refusal(p, err); status != 0 {
		v.form.Refused = text
		return c.showReview(w, r, p, status, v)
	}
	if err != nil {
		return err
	}
	c.acts(info)
	if err := c.cfg.Drafts.DropDraft(r.Context(), d.ID); err != nil {
		c.cfg.Log.Warn("drop an activated draft", "request_id", p.RequestID, "error", err)
	}
	http.Redirect(w, r, string(revisionURL(info.Number))+"?done=activated", http.StatusSeeOther)
	return nil
}

// refusal is the status and text of a change that was not made for a reason
// that the operator can do something about; 0 for any other error.
func refusal(p page, err error) (status int, text string) {
	switch {
	case errors.Is(err, ErrStale):
		return http.StatusConflict, p.T("review.stale")
	case errors.Is(err, ErrRefused):
		return http.StatusUnprocessableEntity, err.Error()
	}
	return 0, ""
}

func (c *Console) acts(info RevisionInfo) {
	info.Active = true
	c.active.Store(&info)
}

// revisionView is what the page of a revision shows.
type revisionView struct {
	Revision Revision
	Active   RevisionInfo
	// Diffs are what a roll-back would change, or for the acting revision what
	// it changed itself.
	Diffs []fileDiff
	// Against is the other revision's number, 0 when there is none.
	Against int
	Done    string
	form    changeForm
}

// revisionPage serves GET /console/policies/revisions/{number}.
func (c *Console) revisionPage(w http.ResponseWriter, r *http.Request, p page) error {
	v := revisionView{}
	switch r.URL.Query().Get("done") {
	case "activated":
		v.Done = p.T("revision.activated")
	case "rolled-back":
		v.Done = p.T("revision.rolled_back")
	}
	return c.showRevision(w, r, p, http.StatusOK, v)
}

func (c *Console) showRevision(w http.ResponseWriter, r *http.Request, p page, status int, v revisionView) error {
	number, err := strconv.Atoi(r.PathValue("number"))
	if err != nil {
		return ErrNotFound
	}
	if v.Revision, err = c.cfg.Revisions.Revision(r.Context(), number); err != nil {
		return err
	}
	active, err := c.cfg.Revisions.Active(r.Context())
	if err != nil {
		return err
	}
	v.Active = active.RevisionInfo
	if number != active.Number {
		v.Against, v.Diffs = active.Number, compare(active.Files, v.Revision.Files)
	} else if before, err := c.cfg.Revisions.Revision(r.Context(), number-1); err == nil {
		v.Against, v.Diffs = before.Number, compare(before.Files, v.Revision.Files)
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	p.Area, p.Title = "policies", p.T("revision.title", number)
	c.adorn(&p)
	return c.render(w, r, status, revisionPageView(p, v))
}

// rollBack serves POST …/roll-back.
func (c *Console) rollBack(w http.ResponseWriter, r *http.Request, p page) error {
	number, err := strconv.Atoi(r.PathValue("number"))
	if err != nil {
		return ErrNotFound
	}
	ch, wrong, err := change(r, p)
	if err != nil {
		return err
	}
	v := revisionView{form: changeForm{Reason: ch.Reason, Error: wrong}}
	if wrong != "" {
		return c.showRevision(w, r, p, http.StatusUnprocessableEntity, v)
	}
	info, err := c.cfg.Activator.RollBack(r.Context(), number, ch)
	if problems, ok := errors.AsType[*ProblemsError](err); ok {
		v.form.Refused = p.T("rollback.problems", errorsIn(problems.Problems))
		return c.showRevision(w, r, p, http.StatusUnprocessableEntity, v)
	}
	if status, text := refusal(p, err); status != 0 {
		v.form.Refused = text
		return c.showRevision(w, r, p, status, v)
	}
	if err != nil {
		return err
	}
	c.acts(info)
	http.Redirect(w, r, string(revisionURL(info.Number))+"?done=rolled-back", http.StatusSeeOther)
	return nil
}
