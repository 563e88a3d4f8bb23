package console

import (
	"errors"
	"net/http"
)

// settingsView is what the settings page shows.
type settingsView struct {
	CanReload bool
	Catalog   string
	Targets   int
	// Done is the text of what was just done, "" for nothing.
	Done string
}

// settingsPage serves GET /console/settings.
func (c *Console) settingsPage(w http.ResponseWriter, r *http.Request, p page) error {
	done := ""
	if r.URL.Query().Get("reloaded") != "" {
		done = p.T("settings.reloaded")
	}
	return c.showSettings(w, r, p, http.StatusOK, done)
}

func (c *Console) showSettings(w http.ResponseWriter, r *http.Request, p page, status int, done string) error {
	p.Area, p.Title = "settings", p.T("nav.settings")
	c.adorn(&p)
	cat := c.cfg.Live.Revision().Catalog
	v := settingsView{CanReload: c.cfg.Reloader != nil, Catalog: cat.Digest, Targets: len(cat.Targets), Done: done}
	return c.render(w, r, status, settingsPageView(p, v))
}

// reload serves POST /console/settings/reload. A refusal changes nothing, and
// its text names the place in the file and the remedy.
func (c *Console) reload(w http.ResponseWriter, r *http.Request, p page) error {
	if c.cfg.Reloader == nil {
		return ErrNotFound
	}
	err := c.cfg.Reloader.Reload(r.Context(), p.Session.Operator)
	if errors.Is(err, ErrRefused) {
		return &failure{
			Status: http.StatusUnprocessableEntity, What: err.Error(),
			NotDone: p.T("settings.reload.refused"), Do: p.T("settings.reload.refused.do"),
		}
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, Prefix+"settings?reloaded=1", http.StatusSeeOther)
	return nil
}
