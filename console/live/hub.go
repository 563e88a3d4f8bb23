package live

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

// The close codes of this protocol. A browser that gets one of them stops
// reconnecting and says why.
const (
	// CloseSessionEnded follows a sign-out, an expired session or none at all.
	CloseSessionEnded = 4401
	// CloseTooMany refuses a session's fifth socket.
	CloseTooMany = 4429
)

// Settings shape a hub. The zero value of a field is the default that its
// comment names.
type Settings struct {
	// MaxPerSession bounds the open sockets of one session (4).
	MaxPerSession int
	// Heartbeat is how often a socket gets a frame even when nothing changed, so
	// that browsers can tell current data from a dead connection (1 s).
	Heartbeat time.Duration
	// PingEvery is how often the other side must prove that it lives, and its
	// session that it is still valid (20 s).
	PingEvery time.Duration
	// PongWait is how long it may take to (60 s).
	PongWait time.Duration
	// WriteWait is how long one message may take to leave before the socket is
	// given up (5 s).
	WriteWait time.Duration
	// Log gets contained panics; nil discards them.
	Log *slog.Logger
}

func (s Settings) withDefaults() Settings {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&s.Heartbeat, time.Second)
	set(&s.PingEvery, 20*time.Second)
	set(&s.PongWait, time.Minute)
	set(&s.WriteWait, 5*time.Second)
	if s.MaxPerSession == 0 {
		s.MaxPerSession = 4
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	return s
}

// Subscription is what one socket shows.
type Subscription struct {
	// Session groups sockets for their limit and for [Hub.End].
	Session string
	Board   *Board
	// Epoch and Since are where the page stands, from its own rendering.
	Epoch string
	Since uint64
	// Tail returns further fields of this socket alone; nil has none. It is asked
	// with every heartbeat, from one goroutine.
	Tail func(ctx context.Context) map[string]string
	// Valid reports whether the session still stands; nil is always. It is asked
	// with every ping.
	Valid func(ctx context.Context) bool
}

// Hub owns all sockets. One goroutine writes to a socket and one reads from it;
// a panic in either ends that socket and nothing else. It is safe for
// concurrent use.
type Hub struct {
	set      Settings
	upgrader websocket.Upgrader
	count    atomic.Int64
	panics   atomic.Int64

	mu      sync.Mutex
	closed  bool
	clients map[*client]struct{}
	wait    sync.WaitGroup
}

// NewHub returns a hub without sockets.
func NewHub(s Settings) *Hub {
	h := &Hub{set: s.withDefaults(), clients: map[*client]struct{}{}}
	h.upgrader = websocket.Upgrader{
		ReadBufferSize: 1024, WriteBufferPool: &sync.Pool{}, CheckOrigin: SameOrigin,
	}
	return h
}

// SameOrigin reports whether the request names the very host it was sent to as
// its origin. Browsers always send one with a WebSocket, and cookies travel
// with foreign pages' sockets too, so an absent Origin is refused like a foreign one.
func SameOrigin(r *http.Request) bool {
	u, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && u.Host != "" && u.Host == r.Host
}

// Count is the number of open sockets.
func (h *Hub) Count() int { return int(h.count.Load()) }

// Panics counts the panics that ended a socket.
func (h *Hub) Panics() int { return int(h.panics.Load()) }

// Serve upgrades the request and returns when its socket has ended.
func (h *Hub) Serve(w http.ResponseWriter, r *http.Request, s Subscription) {
	conn, err := h.upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	c := &client{hub: h, conn: conn, sub: s, wake: make(chan struct{}, 1), quit: make(chan int, 1), gone: make(chan struct{})}
	if code := h.add(c); code != 0 {
		c.goodbye(code)
		_ = conn.Close() // nothing is left to do for this socket
		return
	}
	defer h.remove(c)
	go c.read()
	c.write(context.WithoutCancel(r.Context()))
}

// Refuse upgrades the request only to close it with a code. A browser can't see
// the status of a refused upgrade, and would try again for ever.
func (h *Hub) Refuse(w http.ResponseWriter, r *http.Request, code int) {
	conn, err := h.upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	(&client{hub: h, conn: conn}).goodbye(code)
	_ = conn.Close() // nothing is left to do for this socket
}

func (h *Hub) add(c *client) (refused int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return websocket.CloseGoingAway
	}
	open := 0
	for other := range h.clients {
		if other.sub.Session == c.sub.Session {
			open++
		}
	}
	if open >= h.set.MaxPerSession {
		return CloseTooMany
	}
	h.clients[c] = struct{}{}
	h.count.Add(1)
	h.wait.Add(1)
	return 0
}

func (h *Hub) remove(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clients, c)
	h.count.Add(-1)
	h.wait.Done()
}

// Wake tells every socket that its board has changed. It never waits for one.
func (h *Hub) Wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		select {
		case c.wake <- struct{}{}:
		default: // it is awake already and will see this change too
		}
	}
}

// End closes all sockets of a session.
func (h *Hub) End(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		if c.sub.Session == session {
			c.end(CloseSessionEnded)
		}
	}
}

// Close tells every browser to come back later, and waits for the sockets' ends.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	for c := range h.clients {
		c.end(websocket.CloseGoingAway)
	}
	h.mu.Unlock()
	h.wait.Wait()
}
