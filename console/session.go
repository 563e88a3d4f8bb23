package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// How long a session lasts: in all, and without use. An open live page counts
// as use, because watching is what the console is for.
const (
	sessionLife = 12 * time.Hour
	sessionIdle = 30 * time.Minute
	// seenEvery spares a write for every request.
	seenEvery = time.Minute
	// minPassword is the least number of characters of a chosen password.
	minPassword = 12
)

func sessionOf(ctx context.Context) Session {
	s, _ := ctx.Value(sessionKey).(Session)
	return s
}

// secure reports whether the browser came over https.
func (c *Console) secure(r *http.Request) bool { return r.TLS != nil || c.cfg.Secure }

// cookieName has the __Host- prefix where browsers honour it: it binds the
// cookie to this very host.
func (c *Console) cookieName(r *http.Request) string {
	if c.secure(r) {
		return "__Host-sid"
	}
	return "sid"
}

func (c *Console) cookie(r *http.Request, name, value string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(life / time.Second),
		Secure: c.secure(r), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

// lookup finds the request's session; the zero Session means none that counts.
func (c *Console) lookup(r *http.Request) (Session, error) {
	ck, err := r.Cookie(c.cookieName(r))
	if err != nil || ck.Value == "" {
		return Session{}, nil
	}
	return c.valid(r.Context(), sha256.Sum256([]byte(ck.Value)))
}

// valid loads a session, ends it when its time is up, and notes its use.
func (c *Console) valid(ctx context.Context, hash SessionHash) (Session, error) {
	s, err := c.cfg.Sessions.Session(ctx, hash)
	if errors.Is(err, ErrNotFound) {
		return Session{}, nil
	}
	if err != nil {
		return Session{}, fmt.Errorf("look a session up: %w", err)
	}
	now := c.cfg.Now()
	if now.Sub(s.CreatedAt) > sessionLife || now.Sub(s.SeenAt) > sessionIdle {
		return Session{}, c.cfg.Sessions.EndSession(ctx, hash)
	}
	if now.Sub(s.SeenAt) > seenEvery {
		s.SeenAt = now
		if err := c.cfg.Sessions.SaveSession(ctx, s); err != nil {
			return Session{}, fmt.Errorf("note a session's use: %w", err)
		}
	}
	return s, nil
}

// withSession puts the session into the request's context.
func (c *Console) withSession(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := c.lookup(r)
		if err != nil {
			c.fail(w, r, c.page(r, ""), err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sessionKey, s)))
	})
}

// sessionName names a session for the hub without being of use to anybody else.
func sessionName(s Session) string { return hex.EncodeToString(s.Hash[:8]) }

// begin makes a new session and its cookie. Sessions are never reused over a
// sign-in, so that a cookie planted before it is worth nothing.
func (c *Console) begin(w http.ResponseWriter, r *http.Request, op Operator) error {
	token := rand.Text()
	now := c.cfg.Now()
	s := Session{
		Hash: sha256.Sum256([]byte(token)), Operator: op.Name, MustSetPassword: op.MustSetPassword,
		CreatedAt: now, SeenAt: now,
	}
	if err := c.cfg.Sessions.SaveSession(r.Context(), s); err != nil {
		return fmt.Errorf("save the session: %w", err)
	}
	http.SetCookie(w, c.cookie(r, c.cookieName(r), token, sessionLife))
	return nil
}

// endCurrent ends the request's session, its sockets and its cookie.
func (c *Console) endCurrent(w http.ResponseWriter, r *http.Request, s Session) error {
	if err := c.cfg.Sessions.EndSession(r.Context(), s.Hash); err != nil {
		return fmt.Errorf("end the session: %w", err)
	}
	c.hub.End(sessionName(s))
	http.SetCookie(w, c.cookie(r, c.cookieName(r), "", -time.Second))
	return nil
}

// checkPassword returns the key of the text that says what is wrong, or "".
func checkPassword(name, password, again string) string {
	switch {
	case utf8.RuneCountInString(password) < minPassword:
		return "password.short"
	case len(password) > 1024:
		return "password.long"
	case name != "" && strings.Contains(strings.ToLower(password), strings.ToLower(name)):
		return "password.name"
	case password != again:
		return "password.differ"
	}
	return ""
}

// attempts slows down guessing: after a few wrong passwords in a row, a name
// has to wait. It is safe for concurrent use.
type attempts struct {
	mu    sync.Mutex
	names map[string]*tries
}

type tries struct {
	wrong int
	until time.Time
}

const (
	freeTries   = 5
	firstWait   = 10 * time.Second
	longestWait = 5 * time.Minute
	// maxNames bounds what strangers can make the server remember.
	maxNames = 1000
)

func newAttempts() *attempts { return &attempts{names: map[string]*tries{}} }

// wait is how long a name must wait before its next try.
func (a *attempts) wait(name string, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.names[name]; t != nil {
		return max(0, t.until.Sub(now))
	}
	return 0
}

// failed counts a wrong password.
func (a *attempts) failed(name string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.names) >= maxNames {
		clear(a.names)
	}
	t := a.names[name]
	if t == nil {
		t = &tries{}
		a.names[name] = t
	}
	t.wrong++
	if over := t.wrong - freeTries; over >= 0 {
		t.until = now.Add(min(longestWait, firstWait<<min(over, 10)))
	}
}

// succeeded forgets a name's wrong tries.
func (a *attempts) succeeded(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.names, name)
}
