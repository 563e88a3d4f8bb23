// Package storybook serves the console from fixed data in memory, so that every
// page can be looked at and tested without an engine or a database.
package storybook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/audit"
)

// The book's only operator. The first password is a one-time one.
const (
	Operator = "admin"
	OneTime  = "one-time-password"
)

// Now is the time at which the book's data stand still.
func Now() time.Time {
	return time.Date(2026, 11, 29, 22, 5, 13, 0, time.FixedZone("JST", 9*3600))
}

// Book implements every port of the console. Its exported fields may be set
// before it is used, and with Lock held afterwards. It is safe for concurrent use.
type Book struct {
	sync.Mutex
	Snap    *core.Snapshot
	Rev     *core.Revision
	History []audit.Detail // newest first
	Feed    []audit.Event  // newest first
	// Fail, when set, is what every port answers.
	Fail error
	// CheckErr is what a check that can't be done answers.
	CheckErr error
	// Reloads counts the reloads; ReloadErr refuses them.
	Reloads   int
	ReloadErr error
	// Overrides are the holds and releases that operators asked for.
	Overrides []core.Override

	passwords map[string]string
	oneTime   bool
	sessions  map[console.SessionHash]console.Session
	drafts    map[string]console.Draft
	revisions []console.Revision // by number, from 1
	vendors   []console.Vendor
}

// New returns a book with an outage in progress: one target blocked, one
// cooling down, one probing, the others serving or quiet.
func New() *Book {
	b := &Book{
		passwords: map[string]string{Operator: OneTime}, oneTime: true,
		sessions: map[console.SessionHash]console.Session{}, drafts: map[string]console.Draft{},
		vendors: []console.Vendor{{Name: "anthropic", Wire: core.WireAnthropic}, {Name: "openai", Wire: core.WireOpenAI}},
	}
	b.Rev = revision()
	b.Snap = Outage(b.Rev)
	b.History = history(b.Rev.ID)
	b.Feed = events()
	b.revisions = revisions(b.Rev.ID)
	return b
}

// Config wires the book into a console.
func (b *Book) Config() console.Config {
	return console.Config{
		Live: b, History: historyPort{b}, Revisions: revisionPort{b}, Drafts: draftPort{b}, Activator: activatorPort{b},
		Operators: b, Sessions: b, Vendors: b, Reloader: b, Holds: b,
		Version: "0.1.0-dev", GatewayURL: "http://127.0.0.1:8080", ExampleKey: "spw_simulated_admin_key", Now: Now,
	}
}

// Snapshot returns the current picture.
func (b *Book) Snapshot() *core.Snapshot {
	b.Lock()
	defer b.Unlock()
	return b.Snap
}

// Show replaces the picture.
func (b *Book) Show(s *core.Snapshot) {
	b.Lock()
	defer b.Unlock()
	b.Snap = s
}

// Revision returns the acting revision of the engine.
func (b *Book) Revision() *core.Revision {
	b.Lock()
	defer b.Unlock()
	return b.Rev
}

// Plan sends everything to the second vendor; payments have nobody else there.
func (b *Book) Plan(f *core.Facts) *core.Plan {
	p := &core.Plan{Steps: []core.Step{{Target: "gpt-6-sol"}}, Preferred: f.Target}
	if f.UseCase != "payments" {
		p.Steps = append(p.Steps, core.Step{Target: "gpt-6-luna"})
	}
	return p
}

// SignIn knows one operator.
func (b *Book) SignIn(_ context.Context, name, password string) (console.Operator, error) {
	b.Lock()
	defer b.Unlock()
	if b.Fail != nil {
		return console.Operator{}, b.Fail
	}
	if p, ok := b.passwords[name]; !ok || p != password {
		return console.Operator{}, console.ErrCredentials
	}
	return console.Operator{Name: name, MustSetPassword: b.oneTime}, nil
}

// SetPassword replaces the one-time password.
func (b *Book) SetPassword(_ context.Context, name, password string) error {
	b.Lock()
	defer b.Unlock()
	b.passwords[name], b.oneTime = password, false
	return b.Fail
}

// SaveSession stores a session.
func (b *Book) SaveSession(_ context.Context, s console.Session) error {
	b.Lock()
	defer b.Unlock()
	b.sessions[s.Hash] = s
	return nil
}

// Session returns a session.
func (b *Book) Session(_ context.Context, hash console.SessionHash) (console.Session, error) {
	b.Lock()
	defer b.Unlock()
	s, ok := b.sessions[hash]
	if !ok {
		return s, console.ErrNotFound
	}
	return s, nil
}

// EndSession forgets a session.
func (b *Book) EndSession(_ context.Context, hash console.SessionHash) error {
	b.Lock()
	defer b.Unlock()
	delete(b.sessions, hash)
	return nil
}

// EndSessions forgets an operator's sessions.
func (b *Book) EndSessions(_ context.Context, operator string, keep console.SessionHash) error {
	b.Lock()
	defer b.Unlock()
	for h, s := range b.sessions {
		if s.Operator == operator && h != keep {
			delete(b.sessions, h)
		}
	}
	return nil
}

// SignedIn makes a session without a password and returns its token.
func (b *Book) SignedIn(mustSetPassword bool) (token string) {
	token = "storybook-token"
	if mustSetPassword {
		token += "-restricted"
	}
	s := console.Session{
		Hash: sha256.Sum256([]byte(token)), Operator: Operator, MustSetPassword: mustSetPassword,
		CreatedAt: Now(), SeenAt: Now(),
	}
	_ = b.SaveSession(context.Background(), s) // it can't fail
	return token
}

// Vendors returns the simulated vendors.
func (b *Book) Vendors() []console.Vendor {
	b.Lock()
	defer b.Unlock()
	return slices.Clone(b.vendors)
}

// Break sets a vendor's fault.
func (b *Book) Break(_ context.Context, name string, f console.Fault, _ string) error {
	b.Lock()
	defer b.Unlock()
	for i := range b.vendors {
		if b.vendors[i].Name == name {
			b.vendors[i].Fault, b.vendors[i].Since = f, Now()
		}
	}
	return b.Fail
}

// Heal takes a vendor's fault back.
func (b *Book) Heal(ctx context.Context, name, by string) error {
	return b.Break(ctx, name, console.FaultNone, by)
}

// Reload counts itself.
func (b *Book) Reload(context.Context, string) error {
	b.Lock()
	defer b.Unlock()
	b.Reloads++
	return b.ReloadErr
}

type historyPort struct{ *Book }

func (b historyPort) Decisions(_ context.Context, f audit.Filter) ([]audit.Decision, error) {
	b.Lock()
	defer b.Unlock()
	var out []audit.Decision
	for i := range b.History {
		d := &b.History[i].Decision
		if matches(d, f) && len(out) < f.Limit {
			out = append(out, *d)
		}
	}
	return out, b.Fail
}

func matches(d *audit.Decision, f audit.Filter) bool {
	has := func(want, got string) bool { return want == "" || want == got }
	outcome := has(f.Outcome, d.Outcome) || (f.Outcome == "failed" && d.Outcome != "none")
	degraded := !f.Degraded || d.Situation == "fallback" || d.Situation == "rerouted"
	span := (f.From.IsZero() || !d.At.Before(f.From)) && (f.To.IsZero() || d.At.Before(f.To))
	page := (f.Before == 0 || d.Seq < f.Before) && d.Seq > f.After
	return outcome && degraded && span && page && has(f.UseCase, d.UseCase) && has(f.Target, d.Target) &&
		has(f.Audience, d.Audience) && has(f.Revision, d.Revision) && has(f.KeyID, d.KeyID) &&
		(strings.Contains(d.ID, f.Query) || strings.Contains(d.Asked, f.Query))
}

func (b historyPort) Decision(_ context.Context, id string) (audit.Detail, error) {
	b.Lock()
	defer b.Unlock()
	for i := range b.History {
		if b.History[i].ID == id {
			return b.History[i], b.Fail
		}
	}
	return audit.Detail{}, console.ErrNotFound
}

func (b historyPort) Events(_ context.Context, before, after int64, limit int, kinds ...string) ([]audit.Event, error) {
	b.Lock()
	defer b.Unlock()
	var out []audit.Event
	for _, e := range b.Feed {
		if e.Seq > after && (before == 0 || e.Seq < before) && len(out) < limit && (len(kinds) == 0 || slices.Contains(kinds, e.Kind)) {
			out = append(out, e)
		}
	}
	return out, b.Fail
}

type revisionPort struct{ *Book }

func (b revisionPort) Active(context.Context) (console.Revision, error) {
	b.Lock()
	defer b.Unlock()
	return b.revisions[len(b.revisions)-1], b.Fail
}

func (b revisionPort) List(_ context.Context, before, limit int) (out []console.RevisionInfo, err error) {
	b.Lock()
	defer b.Unlock()
	for _, r := range slices.Backward(b.revisions) {
		if (before == 0 || r.Number < before) && len(out) < limit {
			out = append(out, r.RevisionInfo)
		}
	}
	return out, b.Fail
}

func (b revisionPort) Revision(_ context.Context, number int) (console.Revision, error) {
	b.Lock()
	defer b.Unlock()
	if number < 1 || number > len(b.revisions) {
		return console.Revision{}, console.ErrNotFound
	}
	return b.revisions[number-1], nil
}

type draftPort struct{ *Book }

func (b draftPort) Drafts(context.Context) (out []console.Draft, err error) {
	b.Lock()
	defer b.Unlock()
	for _, d := range b.drafts {
		d.Files = nil
		out = append(out, d)
	}
	slices.SortFunc(out, func(x, y console.Draft) int { return strings.Compare(x.ID, y.ID) })
	return out, b.Fail
}

func (b draftPort) Draft(_ context.Context, id string) (console.Draft, error) {
	b.Lock()
	defer b.Unlock()
	d, ok := b.drafts[id]
	if !ok {
		return d, console.ErrNotFound
	}
	return d, b.Fail
}

func (b draftPort) SaveDraft(_ context.Context, d console.Draft) (console.Draft, error) {
	b.Lock()
	defer b.Unlock()
	if b.Fail != nil {
		return d, b.Fail
	}
	if b.drafts[d.ID].Version != d.Version {
		return d, console.ErrStale
	}
	d.Version++
	b.drafts[d.ID] = d
	return d, nil
}

func (b draftPort) DropDraft(_ context.Context, id string) error {
	b.Lock()
	defer b.Unlock()
	delete(b.drafts, id)
	return b.Fail
}

type activatorPort struct{ *Book }

// Check finds one error for every "!error" in a file, at its place, and a
// warning for every "!warn".
func (b activatorPort) Check(_ context.Context, files []console.File) (out []console.Problem, err error) {
	for _, f := range files {
		for i, line := range strings.Split(f.Text, "\n") {
			if at := strings.Index(line, "!error"); at >= 0 {
				out = append(out, console.Problem{
					File: f.Name, Row: i + 1, Col: at + 1, Code: "rego_parse_error",
					Message: "unexpected ! token: expected a rule or a comment", Severity: console.SeverityError,
				})
			}
			if at := strings.Index(line, "!warn"); at >= 0 {
				out = append(out, console.Problem{
					File: f.Name, Row: i + 1, Col: at + 1, Code: "lint", Message: "missing default", Severity: console.SeverityWarning,
				})
			}
		}
	}
	b.Lock()
	defer b.Unlock()
	return out, b.CheckErr
}

func (b activatorPort) Activate(ctx context.Context, files []console.File, c console.Change) (console.RevisionInfo, error) {
	problems, err := b.Check(ctx, files)
	if err != nil {
		return console.RevisionInfo{}, err
	}
	if len(problems) > 0 {
		return console.RevisionInfo{}, &console.ProblemsError{Problems: problems}
	}
	return b.add(files, 0, c)
}

func (b activatorPort) RollBack(_ context.Context, number int, c console.Change) (console.RevisionInfo, error) {
	if number < 1 || number > len(b.revisions) {
		return console.RevisionInfo{}, console.ErrNotFound
	}
	return b.add(b.revisions[number-1].Files, number, c)
}

func (b *Book) add(files []console.File, rollbackOf int, c console.Change) (console.RevisionInfo, error) {
	b.Lock()
	defer b.Unlock()
	if b.Fail != nil {
		return console.RevisionInfo{}, b.Fail
	}
	if c.Expected != len(b.revisions) {
		return console.RevisionInfo{}, console.ErrStale
	}
	if c.By == "" || c.Reason == "" {
		return console.RevisionInfo{}, errors.New("an activation without an operator or a reason")
	}
	h := sha256.New()
	for _, f := range files {
		h.Write([]byte(f.Name + "\x00" + f.Text + "\x00"))
	}
	info := console.RevisionInfo{
		Number: len(b.revisions) + 1, ID: hex.EncodeToString(h.Sum(nil)), At: Now(), By: c.By, Reason: c.Reason,
		RollbackOf: rollbackOf, Active: true,
	}
	b.Rev = &core.Revision{ID: info.ID, Catalog: b.Rev.Catalog, Tables: b.Rev.Tables, Decider: b.Rev.Decider}
	b.revisions[len(b.revisions)-1].Active = false
	b.revisions = append(b.revisions, console.Revision{RevisionInfo: info, Files: files})
	return info, nil
}
