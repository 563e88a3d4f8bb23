package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/audit"
)

const (
	// pageLength is how many decisions one page lists.
	pageLength = 50
	// newMost is how many new rows are counted; more are "500+".
	newMost = 500
	// tailWait bounds the counting of new rows for the live tail.
	tailWait = 2 * time.Second
)

// decisionsView is what the list of decisions shows.
type decisionsView struct {
	Query   decisionQuery
	Rows    []audit.Decision
	Newest  int64 // sequence number from which new rows are counted
	Older   string
	At      time.Time
	Options decisionOptions
}

// decisionOptions are the known values of the filters.
type decisionOptions struct {
	UseCases, Targets, Outcomes, Audiences []string
}

// decisionQuery is a filter as it stands in the address, which is the whole
// state of the view (console.md: the URL is the state).
type decisionQuery struct {
	Values url.Values
	Filter audit.Filter
	// Problem says which field can't be read, "" when all can.
	Problem string
}

// filterFields are the address's fields in the order of the form.
func filterFields() []string {
	return []string{"q", "use_case", "target", "outcome", "audience", "key", "revision", "from", "to", "degraded"}
}

// readQuery reads a filter from an address. Fields that it doesn't know are
// left out; times that it can't read are a problem and filter nothing.
func (c *Console) readQuery(p page, q url.Values) decisionQuery {
	v := decisionQuery{Values: url.Values{}}
	for _, name := range filterFields() {
		if s := strings.TrimSpace(q.Get(name)); s != "" {
			v.Values.Set(name, s)
		}
	}
	get := v.Values.Get
	v.Filter = audit.Filter{
		UseCase: get("use_case"), Target: get("target"), Outcome: get("outcome"), Audience: get("audience"),
		Revision: get("revision"), KeyID: get("key"), Query: get("q"), Degraded: get("degraded") != "",
	}
	zone := c.cfg.Now().Location()
	for _, f := range []struct {
		name string
		to   *time.Time
	}{{"from", &v.Filter.From}, {"to", &v.Filter.To}} {
		s := get(f.name)
		if s == "" {
			continue
		}
		t, ok := readTime(s, zone)
		if !ok {
			v.Problem = p.T("filter.bad_time", p.T("filter."+f.name), s)
			continue
		}
		*f.to = t
	}
	return v
}

// readTime reads what a browser's date field sends, and RFC 3339.
func readTime(s string, zone *time.Location) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// with is the list's address with one field changed, on its first page.
func (q decisionQuery) with(name, value string) string {
	v := url.Values{}
	for k, s := range q.Values {
		v[k] = s
	}
	v.Del(name)
	if value != "" {
		v.Set(name, value)
	}
	if len(v) == 0 {
		return Prefix + "decisions"
	}
	return Prefix + "decisions?" + v.Encode()
}

// chips are the active filters, each with the address without it.
func (q decisionQuery) chips(p page) []chip {
	var out []chip
	for _, name := range filterFields() {
		if s := q.Values.Get(name); s != "" {
			out = append(out, chip{Text: p.T("filter."+name) + ": " + p.filterValue(name, s), Without: q.with(name, "")})
		}
	}
	return out
}

type chip struct{ Text, Without string }

func (p page) filterValue(name, value string) string {
	switch name {
	case "outcome":
		if p.Has("outcome." + value) {
			return p.T("outcome." + value)
		}
		return p.Word("kind", value)
	case "degraded":
		return p.T("yes")
	}
	return value
}

// decisionList serves GET /console/decisions.
func (c *Console) decisionList(w http.ResponseWriter, r *http.Request, p page) error {
	q := r.URL.Query()
	v := decisionsView{Query: c.readQuery(p, q), At: c.cfg.Now()}
	f := v.Query.Filter
	before, err := strconv.ParseInt(q.Get("before"), 10, 64)
	if err != nil {
		before = 0 // the newest page
	}
	f.Before, f.Limit = before, pageLength+1
	if v.Rows, err = c.cfg.History.Decisions(r.Context(), f); err != nil {
		return err
	}
	if len(v.Rows) > pageLength {
		v.Rows = v.Rows[:pageLength]
		v.Older = v.Query.with("before", strconv.FormatInt(v.Rows[pageLength-1].Seq, 10))
	}
	if len(v.Rows) > 0 && before == 0 {
		v.Newest = v.Rows[0].Seq
	}
	v.Options = c.options()
	p.Area, p.Title = "decisions", p.T("nav.decisions")
	if before == 0 {
		tail := url.Values{"tail": {"decisions"}, "after": {strconv.FormatInt(v.Newest, 10)}}
		for k, s := range v.Query.Values {
			tail[k] = s
		}
		p.Tail = tail.Encode()
	}
	c.adorn(&p)
	status := http.StatusOK
	if v.Query.Problem != "" {
		status = http.StatusBadRequest
	}
	return c.render(w, r, status, decisionsPage(p, v))
}

func (c *Console) options() decisionOptions {
	rev := c.cfg.Live.Revision()
	var o decisionOptions
	for _, u := range rev.Tables.UseCases {
		o.UseCases = append(o.UseCases, u.ID)
	}
	for i := range rev.Catalog.Targets {
		o.Targets = append(o.Targets, rev.Catalog.Targets[i].ID)
	}
	for _, a := range core.Audiences() {
		o.Audiences = append(o.Audiences, string(a))
	}
	o.Outcomes = append(o.Outcomes, core.KindNone.String(), "failed")
	for k := core.KindNone + 1; k < core.KindCount; k++ {
		o.Outcomes = append(o.Outcomes, k.String())
	}
	return o
}

// tail counts the rows that came after a page was rendered and that its filter
// lets through. It returns nil for a page without a live list.
func (c *Console) tail(p page, q url.Values) func(context.Context) map[string]string {
	if q.Get("tail") != "decisions" {
		return nil
	}
	f := c.readQuery(p, q).Filter
	after, err := strconv.ParseInt(q.Get("after"), 10, 64)
	if err != nil {
		after = 0 // an empty list: every row is new
	}
	f.After, f.Limit = after, newMost
	asked, count := int64(-1), 0
	settled := 0
	return func(ctx context.Context) map[string]string {
		total := c.traffic.total()
		if total != asked {
			settled = 0
		}
		// Rows are on disk up to a second after they happened, so an unchanged
		// count of decisions is looked up a few times more.
		if settled < 3 {
			asked, settled = total, settled+1
			count = c.countNew(ctx, f, count)
		}
		return map[string]string{"new": p.newRows(count)}
	}
}

func (c *Console) countNew(ctx context.Context, f audit.Filter, otherwise int) int {
	ctx, cancel := context.WithTimeout(ctx, tailWait)
	defer cancel()
	rows, err := c.cfg.History.Decisions(ctx, f)
	if err != nil {
		c.cfg.Log.Warn("count new decisions", "error", err)
		return otherwise
	}
	return len(rows)
}

func (p page) newRows(n int) string {
	switch {
	case n == 0:
		return ""
	case n >= newMost:
		return p.T("decisions.new_many", newMost)
	}
	return p.T("decisions.new", n)
}

// hasMore reports whether one of the folded fields is set.
func (q decisionQuery) hasMore() bool {
	for _, name := range []string{"key", "revision", "from", "to", "degraded"} {
		if q.Values.Get(name) != "" {
			return true
		}
	}
	return false
}

// withCurrent adds the chosen value to the offered ones, so that a filter for a
// target that is gone stays visible.
func (q decisionQuery) withCurrent(name string, options []string) []string {
	s := q.Values.Get(name)
	if s == "" || slices.Contains(options, s) {
		return options
	}
	return append([]string{s}, options...)
}

func decisionURL(id string) templ.SafeURL {
	return templ.SafeURL(Prefix + "decisions/" + url.PathEscape(id))
}

// outcome is how a request ended, in words.
func (p page) outcome(kind string) string {
	if kind == core.KindNone.String() {
		return p.T("outcome.none")
	}
	return p.Word("kind", kind)
}
