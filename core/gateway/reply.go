package gateway

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/exchange"
	"github.com/spillway-llm/spillway/core/sse"
	"github.com/spillway-llm/spillway/core/wire"
)

// reply is the caller's side of one exchange. Its lock is for streams alone,
// where the keeper may send a sign of life from elsewhere. Replies are not
// pooled, because the keeper may still hold one that is over.
//
// It is the exchange's [exchange.Sink].
type reply struct {
	w       http.ResponseWriter
	control *http.ResponseController
	clock   core.Clock
	timeout time.Duration // of one write
	silence time.Duration
	format  wire.Format

	slot int // in the keeper's list, guarded by its lock

	mu      sync.Mutex
	notice  exchange.Notice // what the headers tell, or would have told by now
	told    exchange.Notice // what they told
	begun   bool            // headers are out
	content bool
	over    bool          // no sign of life is wanted any more
	last    time.Duration // of the last write, or of the beginning
	limited time.Duration // when the write deadline was set last
}

func newReply(g *Gateway, w http.ResponseWriter, f wire.Format) *reply {
	now := g.cfg.Clock.Mono()
	return &reply{
		w: w, control: http.NewResponseController(w), clock: g.cfg.Clock, format: f,
		timeout: g.cfg.WriteTimeout, silence: g.cfg.Silence, last: now, limited: now - g.cfg.WriteTimeout,
	}
}

// Announce replaces what the headers will tell.
func (r *reply) Announce(n exchange.Notice) {
	r.mu.Lock()
	r.notice = n
	r.mu.Unlock()
}

// Whole sends a complete JSON answer in one write. It does nothing and returns
// false when the headers of a stream are out already.
func (r *reply) Whole(status int, body []byte) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun {
		return false, nil
	}
	return true, r.send(status, body)
}

// send writes headers and body, and flushes, so that all of it is out while the
// write deadline holds.
func (r *reply) send(status int, body []byte) error {
	h := r.notice.Headers(r.w.Header())
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	r.begun, r.over = true, true
	r.limit(r.clock.Mono())
	r.w.WriteHeader(status)
	_, err := r.w.Write(body)
	if err == nil {
		err = r.control.Flush()
	}
	return err
}

// Events sends events of a stream that has content, in one write. last says that
// the end marker is among them.
func (r *reply) Events(b []byte, last bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun {
		r.begin()
	} else if !r.content && r.notice.Differs(&r.told) {
		// The headers left with the first sign of life and told of an attempt
		// that failed since: what is new can only travel in a comment (R6.2).
		b = append(sse.AppendComment(nil, r.notice.News()), b...)
	}
	r.content, r.over = true, last
	return r.write(b)
}

// Cut sends the last event of a stream that failed.
func (r *reply) Cut(b []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	return r.write(b)
}

// ping sends a sign of life, if the caller heard nothing for long enough. The
// first one takes the headers along.
func (r *reply) ping() {
	if !r.mu.TryLock() {
		return // something is being written
	}
	defer r.mu.Unlock()
	if r.over || !r.quiet(r.clock.Mono()) {
		return
	}
	var b []byte
	if r.content {
		b = r.format.AppendPing(nil)
	} else {
		// Before the message's start some clients take even a ping for a fault of order.
		b = sse.AppendComment(nil, "ping")
	}
	if !r.begun {
		r.begin()
	}
	// Whoever reads the upstream notices a caller that is gone.
	_ = r.write(b)
}

// quiet reports whether the caller heard nothing for long enough.
func (r *reply) quiet(now time.Duration) bool { return now-r.last >= r.silence }

// begin sends a stream's headers with the next write.
func (r *reply) begin() {
	h := r.notice.Headers(r.w.Header())
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	r.begun, r.told = true, r.notice
	r.w.WriteHeader(http.StatusOK)
}

// write sends bytes of a stream and flushes them.
func (r *reply) write(b []byte) error {
	now := r.clock.Mono()
	r.last = now
	r.limit(now)
	if _, err := r.w.Write(b); err != nil {
		return err
	}
	return r.control.Flush()
}

// limit renews the write deadline once a quarter of it is over: per write it
// would cost more than it is worth, and never it would cut a healthy long
// stream (R27).
func (r *reply) limit(now time.Duration) {
	if now-r.limited < r.timeout/4 {
		return
	}
	r.limited = now
	// An error means that the server can't limit writes; it still answers.
	_ = r.control.SetWriteDeadline(r.clock.Wall().Add(r.timeout))
}

// close ends the reply. The deadline must not outlive it: the connection's next
// request may be answered by a handler that sets none.
func (r *reply) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if r.begun {
		_ = r.control.SetWriteDeadline(time.Time{})
	}
}
