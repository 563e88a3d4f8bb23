package console

import (
	"net/http"

	"github.com/spillway-llm/spillway/core"
)

// Console serves everything under /console/. It is an http.Handler and a
// [core.Recorder], and safe for concurrent use.
type Console struct{ cfg Config }

// New returns a console that is ready to serve. Close it to end its sockets.
func New(cfg Config) (*Console, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Console{cfg: cfg}, nil
}

// ServeHTTP serves a page, a fragment, a static file or the live socket.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }

// Record takes note of an event for the live view (R19.2). It never blocks and
// keeps no pointer.
func (c *Console) Record(ev core.Event) {}

// Close says goodbye to every socket and waits for them.
func (c *Console) Close() {}

var _ core.Recorder = (*Console)(nil)
