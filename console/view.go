package console

import (
	"net/http"
	"net/url"
	"time"
)

// htmxConfig fixes what pages rely on, so that it does not change with the
// library's defaults: error answers are swapped like any other (R43).
const htmxConfig = `{"noSwap":[204,304],"history":false,"includeIndicatorCSS":false,"mode":"same-origin"}`

// stamp is a moment with its text in the page's language.
type stamp struct {
	at   time.Time
	text string
}

func (s stamp) iso() string { return s.at.UTC().Format(time.RFC3339) }

// at is a moment with its date, in the server's zone.
func (p page) at(t time.Time) stamp {
	t = t.In(p.c.cfg.Now().Location())
	return stamp{t, p.Stamp(t)}
}

// clock is a moment without its date.
func (p page) clock(t time.Time) stamp {
	t = t.In(p.c.cfg.Now().Location())
	return stamp{t, p.Clock(t)}
}

// left is the time that is left until a moment, or "" without one.
func (p page) left(t time.Time, now time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case !t.After(now):
		return p.T("left.now")
	}
	return p.T("left", p.Span(t.Sub(now)))
}

// since is how long ago a moment was.
func (p page) since(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return p.T("since", p.Span(now.Sub(t)))
}

func (p page) themeName() string {
	if p.Theme == "" {
		return "system"
	}
	return p.Theme
}

// keys tells live.js whether single keys are shortcuts.
func (p page) keys() string {
	if p.NoKeys {
		return "off"
	}
	return "on"
}

func languageName(lang string) string {
	if lang == "ja" {
		return "日本語"
	}
	return "English"
}

// socketURL is the address of the page's live socket.
func (p page) socketURL() string {
	if p.Tail == "" {
		return Prefix + "ws"
	}
	return Prefix + "ws?" + p.Tail
}

func signInURL(next string) string {
	if next == "" || next == Prefix {
		return Prefix + "sign-in"
	}
	return Prefix + "sign-in?next=" + url.QueryEscape(next)
}

func failureTitle(p page, f *failure) page {
	p.Title = http.StatusText(f.Status)
	return p
}

// shortcut is a key that does something, for the help.
type shortcut struct{ Keys, Text string }

func shortcuts() []shortcut {
	return []shortcut{
		{"g o", "keys.overview"},
		{"g d", "keys.decisions"},
		{"g l", "keys.policies"},
		{"g s", "keys.settings"},
		{"j / k", "keys.step"},
		{"p", "keys.pause"},
		{"Ctrl Enter", "keys.check"},
		{"?", "keys.help"},
	}
}

func millis(n int) time.Duration { return time.Duration(n) * time.Millisecond }
