package console

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/spillway-llm/spillway/console/live"
	"github.com/spillway-llm/spillway/console/locale"
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/web"
)

// Console serves everything under /console/. It is an http.Handler and a
// [core.Recorder], and safe for concurrent use.
type Console struct {
	cfg      Config
	assets   *web.Assets
	handler  http.Handler
	hub      *live.Hub
	boards   map[string]*live.Board // one per language
	feed     *feed
	traffic  *traffic
	attempts *attempts
	active   atomic.Pointer[RevisionInfo]

	refreshing sync.Mutex
	wake       chan struct{} // one slot: something happened that must show at once
	stop       chan struct{}
	stopped    sync.WaitGroup
	closing    sync.Once
}

// New returns a console that is ready to serve. Close it to end its sockets.
func New(cfg Config) (*Console, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	assets, err := web.New(Prefix + "static/")
	if err != nil {
		return nil, fmt.Errorf("new console: %w", err)
	}
	c := &Console{
		cfg: cfg, assets: assets, hub: live.NewHub(live.Settings{Log: cfg.Log}),
		boards: map[string]*live.Board{}, feed: newFeed(cfg.Now()), traffic: newTraffic(), attempts: newAttempts(),
		wake: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	epoch := rand.Text()
	for _, lang := range locale.Languages() {
		c.boards[lang] = live.NewBoard(epoch)
	}
	c.handler = c.guard(c.withSession(c.routes()))
	c.stopped.Go(c.run)
	return c, nil
}

// ServeHTTP serves a page, a fragment, a static file or the live socket.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }

// Record takes note of an event for the live view (R19.2). It never blocks and
// keeps no pointer.
func (c *Console) Record(ev core.Event) {
	if d, ok := ev.(*core.Decision); ok {
		c.traffic.count(d)
		return
	}
	it, ok := liveItem(ev)
	if !ok {
		return
	}
	c.feed.add(it)
	if e, ok := ev.(*core.PolicyChange); ok && e.Action != "poisoned" {
		c.active.Store(&RevisionInfo{Number: e.Number, ID: e.Revision, At: e.At, By: e.By, Reason: e.Reason, Active: true})
	}
	select {
	case c.wake <- struct{}{}:
	default: // the board is about to be looked at anyway
	}
}

// Close says goodbye to every socket and waits for them. Pages are served on.
func (c *Console) Close() {
	c.closing.Do(func() {
		close(c.stop)
		c.hub.Close()
	})
	c.stopped.Wait()
}

var _ core.Recorder = (*Console)(nil)
