package console

import (
	"context"
	"errors"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/audit"
)

// The answers of ports that pages tell apart. Adapters wrap them; any other
// error is shown as an internal one with its request id.
var (
	// ErrNotFound is a decision, draft, revision, vendor or session that does not exist.
	ErrNotFound = errors.New("not found")
	// ErrStale is a change based on something that changed meanwhile: nothing was done.
	ErrStale = errors.New("changed meanwhile")
	// ErrCredentials is a name and password that do not fit. It must not say which of the two.
	ErrCredentials = errors.New("name or password is wrong")
	// ErrRefused is a change that was checked and not made: its text is shown to
	// the operator, so it must name the remedy and no secret.
	ErrRefused = errors.New("refused")
)

// Live is the running engine; [*core.Engine] is one. Its methods are called at
// most about once a second, and at once after a transition.
type Live interface {
	// Snapshot returns the newest picture of the live state, never nil.
	Snapshot() *core.Snapshot
	// Revision returns the acting revision, never nil.
	Revision() *core.Revision
	// Plan answers what would be done with a request of these facts, without doing it.
	Plan(f *core.Facts) *core.Plan
}

// History is what was recorded. Rows appear up to a second after they happened.
type History interface {
	// Decisions returns the newest decisions that pass the filter, newest first.
	Decisions(ctx context.Context, f audit.Filter) ([]audit.Decision, error)
	// Decision returns one decision with its neighbours, or [ErrNotFound].
	Decision(ctx context.Context, id string) (audit.Detail, error)
	// Events returns the newest events other than decisions with a sequence
	// number below before (0: no bound) and above after, newest first; with kinds
	// only those.
	Events(ctx context.Context, before, after int64, limit int, kinds ...string) ([]audit.Event, error)
}

// File is one file of a revision: a Rego module, its tests or a data file.
type File struct {
	// Name is the path inside the revision, with slashes, for example "routing/routing.rego".
	Name string
	Text string
}

// RevisionInfo says who made a revision act, when and why.
type RevisionInfo struct {
	// Number counts activations from 1.
	Number int
	// ID is the hex SHA-256 over modules and data; two activations of the same text share it.
	ID string
	At time.Time
	By string
	// Reason is the operator's own words.
	Reason string
	// RollbackOf is the number that was made to act again, 0 for an ordinary activation.
	RollbackOf int
	// Active marks the acting revision.
	Active bool
}

// Revision is a revision with its files, sorted by name.
type Revision struct {
	RevisionInfo
	Files []File
}

// Revisions are the activated versions of the policies.
type Revisions interface {
	// Active returns the acting revision.
	Active(ctx context.Context) (Revision, error)
	// List returns the newest revisions with a number below before (0: no bound), newest first.
	List(ctx context.Context, before, limit int) ([]RevisionInfo, error)
	// Revision returns one revision by its number, or [ErrNotFound].
	Revision(ctx context.Context, number int) (Revision, error)
}

// Draft is a set of files that acts on nothing until it is activated.
type Draft struct {
	// ID is chosen by the console: 16 lower-case letters and digits.
	ID string
	// Base is the number of the revision that the draft was made from.
	Base int
	// Version counts the saves from 1; 0 for a draft that was never saved.
	Version int
	By      string
	At      time.Time
	Files   []File
}

// Drafts keeps drafts across restarts and sessions.
type Drafts interface {
	// Drafts returns all drafts without their files, newest first.
	Drafts(ctx context.Context) ([]Draft, error)
	// Draft returns one draft, or [ErrNotFound].
	Draft(ctx context.Context, id string) (Draft, error)
	// SaveDraft stores the draft if its version is still the stored one, and
	// returns it with the next version; otherwise [ErrStale], and nothing is stored.
	SaveDraft(ctx context.Context, d Draft) (Draft, error)
	// DropDraft forgets a draft; one that does not exist is no error.
	DropDraft(ctx context.Context, id string) error
}

// Severity is how much a problem matters.
type Severity string

// The severities. Only errors stop an activation.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Problem is something wrong in a draft, at its place.
type Problem struct {
	File string
	// Row and Col count from 1; 0 when the problem has no place in the file.
	Row, Col int
	// Code is a stable word for the kind of problem, for example "rego_parse_error".
	Code     string
	Message  string
	Severity Severity
}

// Change is an activation or a roll-back that an operator asks for.
type Change struct {
	By     string
	Reason string
	// Expected is the number of the revision that the operator saw acting. When
	// another one acts by now, the change is refused with [ErrStale].
	Expected int
}

// Activator checks drafts and makes revisions act. Everything that compiles or
// runs a draft happens in the worker process.
type Activator interface {
	// Check returns the problems of a set of files, errors first. The error
	// tells that the check itself could not be done.
	Check(ctx context.Context, files []File) ([]Problem, error)
	// Activate checks the files and makes them act as a new revision. Problems of
	// severity error come back as a [*ProblemsError], and nothing is changed.
	Activate(ctx context.Context, files []File, c Change) (RevisionInfo, error)
	// RollBack makes an earlier revision act again, as a new revision.
	RollBack(ctx context.Context, number int, c Change) (RevisionInfo, error)
}

// ProblemsError refuses a draft because of its problems. Operators see them at
// their lines.
type ProblemsError struct{ Problems []Problem }

// Error counts the problems without quoting the draft.
func (e *ProblemsError) Error() string { return "the draft has problems" }

// Holds are the operators' holds on circuits, which end by themselves (R1.8).
type Holds interface {
	// Hold puts a hold in force, with its reach, who, why and until when. One
	// that is not put in force changes nothing: wrap [ErrRefused] to show the text.
	Hold(ctx context.Context, o core.Override) error
	// Release ends the holds inside a reach; "" is every target or use case.
	// Nothing held is no error. by is the operator.
	Release(ctx context.Context, target, useCase, by string) error
}

// Fault is what a simulated vendor does wrong.
type Fault string

// The faults of simulated vendors. FaultNone is a healthy vendor.
const (
	FaultNone        Fault = ""
	FaultOverloaded  Fault = "overloaded"   // 529
	FaultRateLimited Fault = "rate_limited" // 429 with Retry-After: 20
	FaultTimeout     Fault = "timeout"      // never answers
	FaultCut         Fault = "cut"          // ends streams in the middle
	FaultSlow        Fault = "slow"         // the first token comes late
)

// Faults returns the faults in the order in which they are offered.
func Faults() []Fault {
	return []Fault{FaultOverloaded, FaultRateLimited, FaultTimeout, FaultCut, FaultSlow}
}

// Vendor is one simulated vendor.
type Vendor struct {
	// Name is the provider's id in the catalog.
	Name  string
	Wire  core.Wire
	Fault Fault
	// Since is when the fault was set, zero for a healthy vendor.
	Since time.Time
	// Until is when the fault heals by itself, zero for never.
	Until time.Time
}

// Vendors are the simulated vendors, which operators may break and heal.
type Vendors interface {
	// Vendors returns them in a fixed order.
	Vendors() []Vendor
	// Break sets a fault, in place of an earlier one; by is the operator.
	Break(ctx context.Context, name string, f Fault, by string) error
	// Heal takes the fault back.
	Heal(ctx context.Context, name, by string) error
}

// Operator is somebody who may sign in.
type Operator struct {
	Name string
	// MustSetPassword is true after a sign-in with the printed one-time
	// password: nothing but choosing a password is allowed before that is done.
	MustSetPassword bool
}

// Operators knows who may sign in. Passwords are hashed at rest.
type Operators interface {
	// SignIn checks a password in constant time, or returns [ErrCredentials].
	SignIn(ctx context.Context, name, password string) (Operator, error)
	// SetPassword replaces the password; the one-time password is void after it.
	SetPassword(ctx context.Context, name, password string) error
}

// SessionHash is the SHA-256 of a session's token: the token itself is only in
// the operator's cookie.
type SessionHash [32]byte

// Session is a signed-in browser.
type Session struct {
	Hash     SessionHash
	Operator string
	// MustSetPassword limits the session to choosing a password.
	MustSetPassword bool
	// CreatedAt and SeenAt bound the session: 12 h in all, 30 min without use.
	CreatedAt, SeenAt time.Time
}

// Sessions keeps sessions across restarts.
type Sessions interface {
	// SaveSession stores a session, in place of one with the same hash.
	SaveSession(ctx context.Context, s Session) error
	// Session returns a session, or [ErrNotFound].
	Session(ctx context.Context, hash SessionHash) (Session, error)
	// EndSession forgets a session; one that does not exist is no error.
	EndSession(ctx context.Context, hash SessionHash) error
	// EndSessions forgets all sessions of an operator except keep.
	EndSessions(ctx context.Context, operator string, keep SessionHash) error
}

// Reloader reads the configuration file again.
type Reloader interface {
	// Reload puts the file in force as a whole, or changes nothing and says why:
	// wrap [ErrRefused] to show the text. by is the operator.
	Reload(ctx context.Context, by string) error
}
