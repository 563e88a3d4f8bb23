package console

import "net/http"

// Prefix is the path under which a console serves.
const Prefix = "/console/"

// routes binds every address of the console.
func (c *Console) routes() http.Handler {
	mux := http.NewServeMux()
	open := func(pattern string, h handler) { mux.Handle(pattern, c.serve(h)) }
	signed := func(pattern string, h handler) { mux.Handle(pattern, c.serve(c.signedIn(h))) }

	mux.Handle("GET /console/static/", c.assets)
	mux.HandleFunc("GET /console/ws", c.socket)
	open("GET /console/sign-in", c.signInForm)
	open("POST /console/sign-in", c.signIn)
	open("GET /console/password", c.passwordForm)
	open("POST /console/password", c.setPassword)
	open("POST /console/sign-out", c.signOut)
	open("POST /console/preferences", c.preferences)
	open("GET /console/help", c.help)

	signed("GET /console/{$}", c.overviewPage)
	signed("POST /console/vendors/{name}/fault", c.setFault)

	signed("GET /console/targets/{id}", c.targetPage)
	signed("POST /console/targets/{id}/hold", c.hold)
	signed("POST /console/targets/{id}/release", c.release)

	signed("GET /console/decisions", c.decisionList)
	signed("GET /console/decisions/{id}", c.decisionPage)
	signed("GET /console/decisions/{id}/raw", c.decisionRaw)

	signed("GET /console/policies", c.policyList)
	signed("GET /console/policies/files/{name...}", c.policyFile)
	signed("POST /console/policies/drafts", c.newDraft)
	signed("GET /console/policies/drafts/{id}", c.draftPage)
	signed("POST /console/policies/drafts/{id}", c.saveDraft)
	signed("POST /console/policies/drafts/{id}/check", c.checkDraft)
	signed("POST /console/policies/drafts/{id}/discard", c.discardDraft)
	signed("GET /console/policies/drafts/{id}/review", c.reviewPage)
	signed("POST /console/policies/drafts/{id}/activate", c.activate)
	signed("GET /console/policies/revisions/{number}", c.revisionPage)
	signed("POST /console/policies/revisions/{number}/roll-back", c.rollBack)

	signed("GET /console/settings", c.settingsPage)
	signed("POST /console/settings/reload", c.reload)

	open("/console/", func(http.ResponseWriter, *http.Request, page) error { return ErrNotFound })
	return mux
}

// serve runs a handler and shows its error.
func (c *Console) serve(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := c.page(r, "")
		if err := h(w, r, p); err != nil {
			c.fail(w, r, p, err)
		}
	})
}

// signedIn lets only operators with a password of their own through.
func (c *Console) signedIn(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request, p page) error {
		switch {
		case p.signedIn():
			return h(w, r, p)
		case p.Session.MustSetPassword && r.Method == http.MethodGet:
			http.Redirect(w, r, Prefix+"password", http.StatusSeeOther)
			return nil
		case r.Method == http.MethodGet && !p.Fragment:
			http.Redirect(w, r, signInURL(p.Path), http.StatusSeeOther)
			return nil
		}
		return c.askToSignIn(w, r, p)
	}
}
