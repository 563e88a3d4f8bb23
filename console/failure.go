package console

import (
	"context"
	"errors"
	"net/http"
)

// failure is an error as an operator reads it (R43): what went wrong, what was
// not done because of it, and what to do.
type failure struct {
	Status int
	What   string
	// NotDone is "" for a page that only shows things.
	NotDone string
	Do      string
	// err is the cause for the log, nil when there is nothing to look into.
	err error
}

// Error describes the failure for logs.
func (f *failure) Error() string {
	if f.err != nil {
		return f.What + ": " + f.err.Error()
	}
	return f.What
}

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

// handler serves one route; the error that it returns is shown to the operator.
type handler func(w http.ResponseWriter, r *http.Request, p page) error

// explain turns an error into what the operator reads. Texts of internal errors
// stay in the log: they may name things that nobody should see in a browser.
func explain(p page, err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	notDone := ""
	if p.changing() {
		notDone = p.T("fail.nothing_changed")
	}
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case errors.Is(err, ErrNotFound):
		return &failure{Status: http.StatusNotFound, What: p.T("fail.not_found"), NotDone: notDone, Do: p.T("fail.not_found.do")}
	case errors.Is(err, ErrStale):
		return &failure{Status: http.StatusConflict, What: p.T("fail.stale"), NotDone: notDone, Do: p.T("fail.stale.do")}
	case errors.Is(err, ErrRefused):
		return &failure{Status: http.StatusUnprocessableEntity, What: err.Error(), NotDone: notDone, Do: p.T("fail.refused.do")}
	case errors.As(err, &tooLarge):
		return &failure{
			Status: http.StatusRequestEntityTooLarge, What: p.T("fail.too_large", tooLarge.Limit>>10),
			NotDone: notDone, Do: p.T("fail.too_large.do"),
		}
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{Status: http.StatusGatewayTimeout, What: p.T("fail.timeout"), NotDone: notDone, Do: p.T("fail.internal.do"), err: err}
	}
	return &failure{Status: http.StatusInternalServerError, What: p.T("fail.internal"), NotDone: notDone, Do: p.T("fail.internal.do"), err: err}
}

// fail answers with a failure: a whole page, or for htmx a fragment with the
// place where it goes, so that nothing depends on a library's defaults.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, p page, err error) {
	f := explain(p, err)
	if f.err != nil && r.Context().Err() == nil {
		c.cfg.Log.Error("console request", "request_id", p.RequestID, "path", r.URL.Path, "error", f.err)
	}
	view := failurePage(p, f)
	if p.Fragment {
		toNotice(w)
		view = failureBox(p, f)
	}
	if err := c.render(w, r, f.Status, view); err != nil {
		c.cfg.Log.Error("render an error page", "request_id", p.RequestID, "error", err)
		http.Error(w, f.What, f.Status)
	}
}

// toNotice sends an htmx answer to the page's own region for errors, whatever
// the request's target was.
func toNotice(w http.ResponseWriter) {
	w.Header().Set("HX-Retarget", "#notice")
	w.Header().Set("HX-Reswap", "innerHTML")
}
