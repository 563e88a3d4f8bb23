package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spillway-llm/spillway/core"
)

// The tab's icons, by how well all use cases are served.
const (
	iconHealthy  = "icon-serving.svg"
	iconDegraded = "icon-degraded.svg"
	iconBlocked  = "icon-blocked.svg"
)

// overviewPage serves GET /console/.
func (c *Console) overviewPage(w http.ResponseWriter, r *http.Request, p page) error {
	chosen := state(r.URL.Query().Get("state"))
	if chosen != "" && !slices.Contains(states(), chosen) {
		return ErrNotFound
	}
	c.readHistory(r.Context())
	o := c.adorn(&p)
	p.Area, p.Title, p.Filter = "overview", p.T("nav.overview"), chosen
	view := overviewView(p, o, only(o.Targets, chosen), chosen, c.vendors(), c.feed.newest())
	return c.render(w, r, http.StatusOK, view)
}

// adorn brings the live board up to now and gives the page its version, its
// mark and its icon.
func (c *Console) adorn(p *page) overview {
	o, versions := c.refresh()
	p.Seq, p.Mark, p.Icon = versions[p.Lang()], p.mark(o), icon(o)
	return o
}

// setFault breaks a simulated vendor, or heals it.
func (c *Console) setFault(w http.ResponseWriter, r *http.Request, p page) error {
	name := r.PathValue("name")
	vendors := c.vendors()
	at := slices.IndexFunc(vendors, func(v Vendor) bool { return v.Name == name })
	if at < 0 {
		return ErrNotFound
	}
	if err := r.ParseForm(); err != nil {
		return err
	}
	fault := Fault(r.PostForm.Get("fault"))
	var err error
	switch {
	case fault == FaultNone:
		err = c.cfg.Vendors.Heal(r.Context(), name, p.Session.Operator)
	case slices.Contains(Faults(), fault):
		err = c.cfg.Vendors.Break(r.Context(), name, fault, p.Session.Operator)
	default:
		return &failure{
			Status: http.StatusUnprocessableEntity, What: p.T("vendor.unknown_fault"),
			NotDone: p.T("fail.nothing_changed"), Do: p.T("vendor.unknown_fault.do"),
		}
	}
	if err != nil {
		return err
	}
	if !p.Fragment {
		http.Redirect(w, r, Prefix, http.StatusSeeOther)
		return nil
	}
	return c.render(w, r, http.StatusOK, vendorSwitch(p, c.vendors()[at]))
}

func (v Vendor) path() string { return Prefix + "vendors/" + url.PathEscape(v.Name) + "/fault" }

func urlQuery(s string) string { return url.QueryEscape(s) }

// key names a live field of the card.
func (t *targetRow) key(field string) string { return "t." + t.Slug + "." + field }

// filterState is the state that the page shows alone, "" for all.
func (p page) filterState() string { return string(p.Filter) }

// mark is what stands before the title, so that a tab in the background tells.
func (p page) mark(o overview) string {
	n := o.Counts[stateBlocked] + o.Counts[stateUnusable]
	switch {
	case n > 0:
		return p.T("title.blocked", n) + " "
	case o.overall() != core.Healthy:
		return p.T("title.degraded") + " "
	}
	return ""
}

func icon(o overview) string {
	switch o.overall() {
	case core.Unhealthy:
		return iconBlocked
	case core.Degraded:
		return iconDegraded
	default:
		return iconHealthy
	}
}

func levelState(l core.Level) state {
	switch l {
	case core.Unhealthy:
		return stateBlocked
	case core.Degraded:
		return stateProbing
	default:
		return stateServing
	}
}

func (p page) requests(o overview) string { return p.T("counts.requests", o.Requests) }

// quiet says that the figures are old, "" while requests come in.
func (p page) quiet(o overview) string {
	if o.Never || o.Quiet.IsZero() {
		return ""
	}
	return p.T("quiet", p.clock(o.Quiet).text)
}

// firstRunTitle heads the first steps and tells when they have worked.
func (p page) firstRunTitle(o overview) string {
	if o.Never {
		return p.T("first_run")
	}
	return p.T("first_run.works")
}

// acting names the engine's revision, by its number when that is known: after
// the watchdog took a revision out, the newest number is not what acts.
func (p page) acting() string {
	id := p.c.cfg.Live.Revision().ID
	if r := p.c.active.Load(); r != nil && r.ID == id {
		return p.T("revision.acting", r.Number, short(id))
	}
	return p.T("revision.acting.id", short(id))
}

// success is the success rate, or a dash before any data.
func (p page) success(t targetRow) string {
	if t.Live.P95MS == 0 && t.Live.RequestsPerMinute == 0 && t.Live.SuccessPermille == 1000 {
		return "–"
	}
	return p.Permille(t.Live.SuccessPermille)
}

func (p page) figure(ms int) string {
	if ms == 0 {
		return "–"
	}
	return p.Latency(millis(ms))
}

// budget is what is left of the emptiest retry budget, in words where it is dry.
func (p page) budget(t targetRow) string {
	if t.BudgetTokens < 1 && t.Budget < 1000 {
		return p.T("budget.empty")
	}
	return p.T("budget.left", p.Permille(t.Budget), strconv.Itoa(int(t.BudgetTokens)))
}

// unusable says why a target is out of service.
func (p page) unusable(why string) string {
	if kind, ok := strings.CutPrefix(why, "key out of service: "); ok {
		return p.T("unusable.key", p.Word("kind", kind))
	}
	return p.Word("unusable", why)
}

func (p page) instead(i instead) string {
	switch {
	case i.None:
		return p.T("instead.none")
	case i.Target == "":
		return ""
	case i.Permille > 0:
		return p.T("instead.serves", i.Target, p.Permille(i.Permille))
	}
	return p.T("instead.would", i.Target)
}

// curl is a request that a newcomer can paste.
func (c *Console) curl() string {
	key := first(c.cfg.ExampleKey, "$SPILLWAY_KEY")
	return fmt.Sprintf(`curl %s/v1/messages \
  -H "x-api-key: %s" \
  -H "anthropic-version: 2023-06-01" \
  -H "content-type: application/json" \
  -d '{"model":"claude-opus-5-5","max_tokens":200,
       "messages":[{"role":"user","content":"Hello"}]}'`, first(c.cfg.GatewayURL, "http://127.0.0.1:8080"), key)
}

// pool says how many keys are left, and when that asks for somebody to look.
func (p page) pool(l core.ProviderLive) string {
	if l.FewKeys() {
		return p.T("pool.few", l.UsableKeys, l.Keys)
	}
	return p.T("pool.some", l.UsableKeys, l.Keys)
}
