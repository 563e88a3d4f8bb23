package console

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// signInView is what the sign-in page shows.
type signInView struct {
	Name  string
	Next  string
	Error string
	// Kept are the fields of a form that was sent without a session; they are
	// sent again after the sign-in, so that no text is lost.
	Kept []formField
}

type formField struct{ Name, Value string }

// signInForm serves GET /console/sign-in.
func (c *Console) signInForm(w http.ResponseWriter, r *http.Request, p page) error {
	next := localPath(r.URL.Query().Get("next"))
	if p.signedIn() {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	p.Title = p.T("sign_in")
	return c.render(w, r, http.StatusOK, signInPage(p, signInView{Next: next}))
}

// signIn serves POST /console/sign-in.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request, p page) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	p.Title = p.T("sign_in")
	v := signInView{Name: r.PostForm.Get("name"), Next: localPath(r.PostForm.Get("next")), Kept: kept(r.PostForm)}
	now := c.cfg.Now()
	if wait := c.attempts.wait(v.Name, now); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
		v.Error = p.T("sign_in.wait", p.Span(wait+time.Second))
		return c.render(w, r, http.StatusTooManyRequests, signInPage(p, v))
	}
	op, err := c.cfg.Operators.SignIn(r.Context(), v.Name, r.PostForm.Get("password"))
	if errors.Is(err, ErrCredentials) {
		c.attempts.failed(v.Name, now)
		v.Error = p.T("sign_in.wrong")
		return c.render(w, r, http.StatusUnauthorized, signInPage(p, v))
	}
	if err != nil {
		return err
	}
	c.attempts.succeeded(v.Name)
	if err := c.begin(w, r, op); err != nil {
		return err
	}
	switch {
	case op.MustSetPassword:
		http.Redirect(w, r, Prefix+"password?next="+url.QueryEscape(v.Next), http.StatusSeeOther)
	case len(v.Kept) > 0:
		// 307 sends the same form on, with what the operator had written.
		http.Redirect(w, r, v.Next, http.StatusTemporaryRedirect)
	default:
		http.Redirect(w, r, v.Next, http.StatusSeeOther)
	}
	return nil
}

// askToSignIn answers a change or a fragment that came without a session.
func (c *Console) askToSignIn(w http.ResponseWriter, r *http.Request, p page) error {
	if p.Fragment {
		return &failure{
			Status: http.StatusUnauthorized, What: p.T("banner.ended"),
			NotDone: p.T("fail.nothing_changed"), Do: p.T("sign_in.other_tab"),
		}
	}
	if err := r.ParseForm(); err != nil {
		return err
	}
	p.Title = p.T("sign_in")
	v := signInView{Next: localPath(r.URL.Path), Error: p.T("sign_in.ended"), Kept: kept(r.PostForm)}
	return c.render(w, r, http.StatusUnauthorized, signInPage(p, v))
}

// kept returns the fields of a form other than the sign-in's own.
func kept(form url.Values) []formField {
	var out []formField
	for name, values := range form {
		if name == "name" || name == "password" || name == "next" {
			continue
		}
		for _, v := range values {
			out = append(out, formField{name, v})
		}
	}
	return out
}

// localPath returns a path inside the console, and the overview for anything
// else: a sign-in must not lead to a foreign page.
func localPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, Prefix) || strings.Contains(next, `\`) {
		return Prefix
	}
	return next
}

// signOut serves POST /console/sign-out.
func (c *Console) signOut(w http.ResponseWriter, r *http.Request, p page) error {
	if p.Session.Operator != "" {
		if err := c.endCurrent(w, r, p.Session); err != nil {
			return err
		}
	}
	http.Redirect(w, r, Prefix+"sign-in", http.StatusSeeOther)
	return nil
}

// passwordView is what the page for choosing a password shows.
type passwordView struct{ Next, Error string }

// describedBy names the texts that describe the password's field.
func (p page) describedBy(rule, problem string) string {
	if problem == "" {
		return rule
	}
	return rule + " password-error"
}

// passwordForm serves GET /console/password.
func (c *Console) passwordForm(w http.ResponseWriter, r *http.Request, p page) error {
	if p.Session.Operator == "" {
		http.Redirect(w, r, signInURL(p.Path), http.StatusSeeOther)
		return nil
	}
	p.Title = p.T("password.title")
	return c.render(w, r, http.StatusOK, passwordPage(p, passwordView{Next: localPath(r.URL.Query().Get("next"))}))
}

// setPassword serves POST /console/password. All other sessions of the operator
// end with the old password.
func (c *Console) setPassword(w http.ResponseWriter, r *http.Request, p page) error {
	if p.Session.Operator == "" {
		http.Redirect(w, r, signInURL(Prefix+"password"), http.StatusSeeOther)
		return nil
	}
	if err := r.ParseForm(); err != nil {
		return err
	}
	p.Title = p.T("password.title")
	v := passwordView{Next: localPath(r.PostForm.Get("next"))}
	password, again := r.PostForm.Get("password"), r.PostForm.Get("again")
	if key := checkPassword(p.Session.Operator, password, again); key != "" {
		v.Error = p.T(key)
		return c.render(w, r, http.StatusUnprocessableEntity, passwordPage(p, v))
	}
	if err := c.replacePassword(w, r, p.Session, password); err != nil {
		return err
	}
	http.Redirect(w, r, v.Next, http.StatusSeeOther)
	return nil
}

func (c *Console) replacePassword(w http.ResponseWriter, r *http.Request, old Session, password string) error {
	if err := c.cfg.Operators.SetPassword(r.Context(), old.Operator, password); err != nil {
		return err
	}
	if err := c.cfg.Sessions.EndSessions(r.Context(), old.Operator, SessionHash{}); err != nil {
		return err
	}
	c.hub.End(sessionName(old))
	return c.begin(w, r, Operator{Name: old.Operator})
}

// preferences serves POST /console/preferences: language, theme and shortcuts.
func (c *Console) preferences(w http.ResponseWriter, r *http.Request, p page) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	const year = 365 * 24 * time.Hour
	if lang := r.PostForm.Get("lang"); lang == "en" || lang == "ja" {
		http.SetCookie(w, c.cookie(r, langCookie, lang, year))
	}
	if r.PostForm.Has("theme") {
		if t := theme(r.PostForm.Get("theme")); t != "" {
			http.SetCookie(w, c.cookie(r, themeCookie, t, year))
		} else {
			http.SetCookie(w, c.cookie(r, themeCookie, "", -time.Second))
		}
	}
	switch r.PostForm.Get("keys") {
	case "off":
		http.SetCookie(w, c.cookie(r, keysCookie, "off", year))
	case "on":
		http.SetCookie(w, c.cookie(r, keysCookie, "", -time.Second))
	}
	http.Redirect(w, r, localPath(r.PostForm.Get("next")), http.StatusSeeOther)
	return nil
}

// help serves GET /console/help, for browsers without scripts.
func (c *Console) help(w http.ResponseWriter, r *http.Request, p page) error {
	p.Title = p.T("keys.title")
	if p.signedIn() {
		c.adorn(&p)
	}
	return c.render(w, r, http.StatusOK, helpPage(p))
}
