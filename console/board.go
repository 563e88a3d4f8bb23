package console

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/spillway-llm/spillway/console/live"
	"github.com/spillway-llm/spillway/console/locale"
)

// How often the board looks at the engine while somebody watches: figures once a
// second, and at once after an event. The engine's picture may lag the event by
// a moment, so a second look follows the first.
const (
	lookEvery   = time.Second
	firstLook   = 20 * time.Millisecond
	secondLook  = 200 * time.Millisecond
	readEvery   = 5 * time.Second
	announceGap = 5 * time.Second
	readTimeout = 2 * time.Second
)

// run keeps the board current while sockets are open.
func (c *Console) run() {
	beat := time.NewTicker(lookEvery)
	defer beat.Stop()
	soon := time.NewTimer(time.Hour)
	defer soon.Stop()
	again := false
	var readAt, announcedAt time.Time
	for {
		select {
		case <-c.stop:
			return
		case <-c.wake:
			soon.Reset(firstLook)
			again = true
			continue
		case <-soon.C:
			if again {
				soon.Reset(secondLook)
				again = false
			}
		case <-beat.C:
		}
		if c.hub.Count() == 0 {
			continue
		}
		now := c.cfg.Now()
		if now.Sub(readAt) >= readEvery {
			readAt = now
			c.readHistory(context.Background())
		}
		if now.Sub(announcedAt) >= announceGap && c.announce() {
			announcedAt = now
		}
		c.refresh()
		c.hub.Wake()
	}
}

// readHistory adds recorded events to the feed. A history that can't be read
// leaves the feed as it was: the live events still arrive.
func (c *Console) readHistory(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := c.feed.read(ctx, c.cfg.History); err != nil {
		c.cfg.Log.Warn("read the history for the event feed", "error", err)
	}
	if c.active.Load() != nil {
		return
	}
	list, err := c.cfg.Revisions.List(ctx, 0, 1)
	if err != nil {
		c.cfg.Log.Warn("read the acting revision", "error", err)
		return
	}
	if len(list) > 0 {
		c.active.CompareAndSwap(nil, &list[0])
	}
}

// refresh looks at the engine, brings the boards of all languages up to it and
// returns the picture with the version that each board has now.
func (c *Console) refresh() (overview, map[string]uint64) {
	c.refreshing.Lock()
	defer c.refreshing.Unlock()
	o := c.look()
	versions := map[string]uint64{}
	for lang, b := range c.boards {
		fields, parts, err := c.compose(lang, o)
		if err != nil {
			c.cfg.Log.Error("render the live view", "language", lang, "error", err)
			continue
		}
		versions[lang] = b.Set(fields, parts)
	}
	return o, versions
}

// compose renders the live view of a language. Rendering the same components as
// the page collects the fields, so the two can't disagree.
func (c *Console) compose(lang string, o overview) (fields, parts map[string]string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	p := page{Printer: locale.For(lang), c: c, collected: map[string]string{}, blank: true}
	if err := board(p, o, o.Targets).Render(context.Background(), io.Discard); err != nil {
		return nil, nil, err
	}
	parts = map[string]string{}
	for id, view := range c.parts(p, o) {
		var b strings.Builder
		if err := view.Render(context.Background(), &b); err != nil {
			return nil, nil, err
		}
		parts[id] = b.String()
	}
	p.collected["title"] = p.mark(o)
	p.collected["icon"] = p.static(icon(o))
	p.collected["order."] = order(o.Targets)
	for _, s := range states() {
		p.collected["order."+string(s)] = order(only(o.Targets, s))
	}
	return p.collected, parts, nil
}

// parts are the elements whose structure changes, by their id.
func (c *Console) parts(p page, o overview) map[string]templ.Component {
	out := map[string]templ.Component{
		"levels": levelStrip(p, o),
		"feed":   eventFeed(p, c.feed.newest()),
	}
	for _, t := range o.Targets {
		out["state-"+t.Slug] = targetState(p, o, t)
		out["circuits-"+t.Slug] = circuitTable(p, o, t)
		out["holds-"+t.Slug] = holdList(p, o, t)
		out["log-"+t.Slug] = eventLog(p, t.Slug, c.feed.of(t.ID))
	}
	for _, v := range c.vendors() {
		out["vendor-"+slug(v.Name)] = vendorSwitch(p, v)
	}
	return out
}

func (c *Console) vendors() []Vendor {
	if c.cfg.Vendors == nil {
		return nil
	}
	return c.cfg.Vendors.Vendors()
}

// announce tells screen readers what happened, in one sentence for all of it.
func (c *Console) announce() bool {
	items := c.feed.unannounced()
	if len(items) == 0 {
		return false
	}
	for lang, b := range c.boards {
		p := page{Printer: locale.For(lang), c: c}
		b.Announce(p.announcement(items))
	}
	return true
}

// announcement names up to three events and counts the others.
func (p page) announcement(items []feedItem) string {
	const most = 3
	var said []string
	for _, it := range items[:min(most, len(items))] {
		said = append(said, p.sentence(it))
	}
	if more := len(items) - most; more > 0 {
		said = append(said, p.T("feed.more", more))
	}
	return strings.Join(said, " ")
}

// socket serves the live view of one page.
func (c *Console) socket(w http.ResponseWriter, r *http.Request) {
	p := c.page(r, "")
	if !live.SameOrigin(r) {
		c.fail(w, r, p, &failure{Status: http.StatusForbidden, What: p.T("fail.cross_origin"), Do: p.T("fail.cross_origin.do")})
		return
	}
	if !p.signedIn() {
		c.hub.Refuse(w, r, live.CloseSessionEnded)
		return
	}
	q := r.URL.Query()
	since, err := strconv.ParseUint(q.Get("since"), 10, 64)
	if err != nil {
		since = 0 // everything is sent, which is always right
	}
	c.refresh()
	hash := p.Session.Hash
	c.hub.Serve(w, r, live.Subscription{
		Session: sessionName(p.Session), Board: c.boards[p.Lang()], Epoch: q.Get("epoch"), Since: since,
		Tail: c.tail(p, q),
		Valid: func(ctx context.Context) bool {
			s, err := c.valid(ctx, hash)
			return err != nil || s.Operator != "" // a store that fails is no reason to end a view
		},
	})
}

// sortedLangs are the languages that the switch offers, the current one first.
func (p page) sortedLangs() []string {
	langs := locale.Languages()
	slices.SortStableFunc(langs, func(a, b string) int {
		switch {
		case a == p.Lang():
			return -1
		case b == p.Lang():
			return 1
		}
		return 0
	})
	return langs
}
