package console

import (
	"net/http"
	"strings"

	"github.com/a-h/templ"

	"github.com/spillway-llm/spillway/console/locale"
)

// page is what every view needs to know about the request that it answers.
type page struct {
	locale.Printer
	c     *Console
	Theme string // "light", "dark" or "" for the system's
	// NoKeys switches the single-key shortcuts off (WCAG 2.1.4).
	NoKeys    bool
	Session   Session
	Path      string // with the query, for forms that lead back
	Method    string
	RequestID string
	// Fragment is true for a request by htmx: errors are answered in pieces.
	Fragment bool
	// Seq is the version of the live board that the page was rendered from.
	Seq  uint64
	Area string // which entry of the navigation is current
	// Title is the page's own part of the title.
	Title string
	// Mark is what stands before the title while something is wrong.
	Mark string
	// Icon is the file of the tab's icon; "" is the one of a healthy system.
	Icon string
	// Filter is the state that the overview shows alone.
	Filter state
	// Tail is the query that the live socket gets, for pages with a live list.
	Tail string

	// collected gets every live field while the board is rendered; blank leaves
	// them out of the HTML, so that a part changes only when its structure does.
	collected map[string]string
	blank     bool
}

// live returns the text of a live field for the HTML.
func (p page) live(key, text string) string {
	if p.collected != nil {
		p.collected[key] = text
	}
	if p.blank {
		return ""
	}
	return text
}

// static is the address of a static file.
func (p page) static(name string) string { return p.c.assets.URL(name) }

// icon is the address of the tab's icon.
func (p page) icon() string { return p.static(first(p.Icon, iconHealthy)) }

// changing reports whether the request was to change something.
func (p page) changing() bool { return p.Method != http.MethodGet && p.Method != http.MethodHead }

func (p page) signedIn() bool { return p.Session.Operator != "" && !p.Session.MustSetPassword }

// The cookies that only change what a page looks like and listens to.
const (
	langCookie  = "lang"
	themeCookie = "theme"
	keysCookie  = "keys"
)

func (c *Console) page(r *http.Request, area string) page {
	p := page{
		c: c, Path: r.URL.RequestURI(), Method: r.Method, RequestID: requestID(r.Context()),
		Fragment: r.Header.Get("HX-Request") == "true", Area: area, Session: sessionOf(r.Context()),
	}
	lang := ""
	if ck, err := r.Cookie(langCookie); err == nil {
		lang = ck.Value
	}
	if lang != locale.English && lang != locale.Japanese {
		lang = locale.Negotiate(r.Header.Get("Accept-Language"))
	}
	p.Printer = locale.For(lang)
	if ck, err := r.Cookie(themeCookie); err == nil {
		p.Theme = theme(ck.Value)
	}
	if ck, err := r.Cookie(keysCookie); err == nil {
		p.NoKeys = ck.Value == "off"
	}
	if q := r.URL.Query().Get("theme"); q != "" {
		p.Theme = theme(q)
	}
	return p
}

func theme(s string) string {
	if s == "light" || s == "dark" {
		return s
	}
	return ""
}

// render writes a whole view or fails before its first byte.
func (c *Console) render(w http.ResponseWriter, r *http.Request, status int, view templ.Component) error {
	var b strings.Builder
	if err := view.Render(r.Context(), &b); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		// A failed write means that the browser left: there is nobody to tell.
		_, _ = w.Write([]byte(b.String()))
	}
	return nil
}
