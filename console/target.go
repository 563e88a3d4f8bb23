package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/a-h/templ"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/audit"
)

// targetView is what the page of a target shows.
type targetView struct {
	Row     targetRow
	Target  *core.Target
	At      time.Time
	Errors  []recentError
	Log     []feedItem
	Instead []replacement
	Form    holdForm
	// Unread says that the history can't be read: what it would tell is missing.
	Unread bool
	Done   string
}

// recentError is one way in which calls to a target failed lately.
type recentError struct {
	Kind   string
	Status int
	Times  int
	At     time.Time // of the newest
	ID     string    // of its decision
}

// replacement is who would answer a use case if a target were held open.
type replacement struct {
	UseCase string
	Target  string // "" for nobody
}

// targetPage serves GET /console/targets/{id}.
func (c *Console) targetPage(w http.ResponseWriter, r *http.Request, p page) error {
	done := ""
	switch r.URL.Query().Get("done") {
	case "held":
		done = p.T("hold.done")
	case "released":
		done = p.T("release.done")
	}
	return c.showTarget(w, r, p, http.StatusOK, targetView{Form: newHoldForm(), Done: done})
}

func (c *Console) showTarget(w http.ResponseWriter, r *http.Request, p page, status int, v targetView) error {
	id := r.PathValue("id")
	rev := c.cfg.Live.Revision()
	if _, ok := rev.Catalog.TargetIndex(id); !ok {
		return c.noTarget(w, r, p, id)
	}
	v.Unread = !c.readTarget(r.Context(), &v, id)
	o := c.adorn(&p)
	at := slices.IndexFunc(o.Targets, func(t targetRow) bool { return t.ID == id })
	if at < 0 {
		return c.noTarget(w, r, p, id) // it left the configuration just now
	}
	v.Row, v.At, v.Log = o.Targets[at], o.At, c.feed.of(id)
	i, _ := rev.Catalog.TargetIndex(id)
	v.Target = &rev.Catalog.Targets[i]
	v.Instead = c.replacements(v.Target, &v.Row)
	p.Area, p.Title = "overview", id
	return c.render(w, r, status, targetPageView(p, o, v))
}

// noTarget answers for a target that is not configured with those that are.
func (c *Console) noTarget(w http.ResponseWriter, r *http.Request, p page, id string) error {
	var names []string
	for i := range c.cfg.Live.Revision().Catalog.Targets {
		names = append(names, c.cfg.Live.Revision().Catalog.Targets[i].ID)
	}
	p.Title = p.T("target.unknown.title")
	return c.render(w, r, http.StatusNotFound, unknownTargetView(p, id, nearest(id, names)))
}

// readTarget reads what the history knows of a target. A history that can't be
// read must not keep anybody from holding a circuit.
func (c *Console) readTarget(ctx context.Context, v *targetView, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	err := c.feed.learn(ctx, c.cfg.History, id)
	if err == nil {
		v.Errors, err = c.recentErrors(ctx, id)
	}
	if err != nil {
		c.cfg.Log.Warn("read the history of a target", "target", id, "error", err)
	}
	return err == nil
}

const (
	// errorsRead bounds the decisions that are searched for failed calls.
	errorsRead = 200
	// errorsListed is how many ways of failing are listed.
	errorsListed = 5
)

// recentErrors are the newest ways in which calls to the target failed, of the
// decisions that failed or were answered by another target.
func (c *Console) recentErrors(ctx context.Context, target string) ([]recentError, error) {
	var list []audit.Decision
	for _, f := range []audit.Filter{{Degraded: true, Limit: errorsRead}, {Outcome: "failed", Limit: errorsRead}} {
		found, err := c.cfg.History.Decisions(ctx, f)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	slices.SortFunc(list, func(a, b audit.Decision) int { return cmp.Compare(b.Seq, a.Seq) })
	list = slices.CompactFunc(list, func(a, b audit.Decision) bool { return a.ID == b.ID })
	var out []recentError
	for i := range list {
		for _, a := range slices.Backward(list[i].Attempts) {
			if a.Target == target && againstTarget(a.Kind) {
				out = count(out, recentError{
					Kind: a.Kind, Status: a.Status, Times: 1, At: list[i].At.Add(milliseconds(a.StartMS + a.DurationMS)), ID: list[i].ID,
				})
			}
		}
	}
	return out[:min(errorsListed, len(out))], nil
}

// againstTarget reports that a failed attempt is the target's doing and not its
// caller's.
func againstTarget(kind string) bool {
	var k core.Kind
	err := k.UnmarshalText([]byte(kind))
	return err != nil || k != core.KindNone && k != core.KindCallerGone && !k.CallerFault()
}

// count adds a failure to those of its kind; the list is newest first.
func count(list []recentError, e recentError) []recentError {
	for i := range list {
		if list[i].Kind == e.Kind && list[i].Status == e.Status {
			list[i].Times++
			return list
		}
	}
	return append(list, e)
}

// replacements asks the policy, for a plain request of each use case that names
// the target, who would answer if the target were passed by.
func (c *Console) replacements(t *core.Target, row *targetRow) []replacement {
	var out []replacement
	for i := range row.Circuits {
		f := plainRequest(t)
		f.UseCase, f.ForceFallback = row.Circuits[i].UseCase, true
		plan := c.cfg.Live.Plan(&f)
		if plan != nil && plan.Preferred != t.ID {
			f.ForceFallback = false // it passed another one by: this target is not able
			plan = c.cfg.Live.Plan(&f)
		}
		out = append(out, replacement{UseCase: f.UseCase, Target: firstOther(plan, t.ID)})
	}
	return out
}

func firstOther(plan *core.Plan, target string) string {
	if plan == nil {
		return ""
	}
	for _, s := range plan.Steps {
		if s.Target != target {
			return s.Target
		}
	}
	return ""
}

func targetPath(id, action string) string { return Prefix + "targets/" + url.PathEscape(id) + action }

func targetURL(id string) templ.SafeURL { return templ.SafeURL(targetPath(id, "")) }
