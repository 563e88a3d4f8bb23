package live_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/spillway-llm/spillway/console/live"
)

// server is a hub behind a real listener.
type server struct {
	hub   *live.Hub
	board *live.Board
	url   string
	tail  func(context.Context) map[string]string
	valid atomic.Bool
}

func newServer(t *testing.T, s live.Settings) *server {
	t.Helper()
	srv := &server{hub: live.NewHub(s), board: live.NewBoard("boot-1")}
	srv.valid.Store(true)
	ts := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		since, _ := strconv.ParseUint(q.Get("since"), 10, 64)
		srv.hub.Serve(w, r, live.Subscription{
			Session: q.Get("session"), Board: srv.board, Epoch: q.Get("epoch"), Since: since,
			Tail: srv.tail, Valid: func(context.Context) bool { return srv.valid.Load() },
		})
	}))
	ts.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(4096) // only makes a stall come sooner
		return ctx
	}
	ts.Start()
	t.Cleanup(ts.Close)
	t.Cleanup(srv.hub.Close)
	srv.url = ts.URL
	return srv
}

func (s *server) dial(t *testing.T, query, origin string) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	h := http.Header{}
	if origin != "" {
		h.Set("Origin", origin)
	}
	conn, resp, err := websocket.DefaultDialer.Dial(strings.Replace(s.url, "http", "ws", 1)+"/?"+query, h)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close() })
	}
	return conn, resp, err
}

func (s *server) connect(t *testing.T, query string) *websocket.Conn {
	t.Helper()
	conn, _, err := s.dial(t, query, s.url)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	return conn
}

func next(t *testing.T, conn *websocket.Conn) live.Frame {
	t.Helper()
	var f live.Frame
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := conn.ReadJSON(&f); err != nil {
		t.Fatalf("read a frame: %v", err)
	}
	return f
}

func closeCode(t *testing.T, conn *websocket.Conn) int {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for {
		if _, _, err := conn.ReadMessage(); err != nil {
			var closed *websocket.CloseError
			if !errors.As(err, &closed) {
				t.Fatalf("the socket ended without a close code: %v", err)
			}
			return closed.Code
		}
	}
}

// slow keeps heartbeats out of tests that count frames.
func slow() live.Settings { return live.Settings{Heartbeat: time.Hour, PingEvery: time.Hour} }

func TestHub_SendsDifferences(t *testing.T) {
	t.Parallel()
	s := newServer(t, slow())
	v := s.board.Set(map[string]string{"a": "1", "b": "1"}, nil)
	conn := s.connect(t, fmt.Sprintf("epoch=boot-1&since=%d", v))
	if f := next(t, conn); f.Fields != nil || f.Seq != v {
		t.Errorf("first frame of an up-to-date page: got %+v, want an empty one at %d", f, v)
	}
	s.board.Set(map[string]string{"a": "1", "b": "2"}, map[string]string{"card": "<p>"})
	s.hub.Wake()
	f := next(t, conn)
	if len(f.Fields) != 1 || f.Fields["b"] != "2" || f.Parts["card"] != "<p>" {
		t.Errorf("got %+v, want b and the card", f)
	}
}

func TestHub_ResumesAfterReconnect(t *testing.T) {
	t.Parallel()
	s := newServer(t, slow())
	s.board.Set(map[string]string{"a": "1", "b": "1"}, nil)
	conn := s.connect(t, "")
	before := next(t, conn)
	_ = conn.Close()
	s.board.Set(map[string]string{"a": "2", "b": "1"}, nil)

	again := next(t, s.connect(t, fmt.Sprintf("epoch=%s&since=%d", before.Epoch, before.Seq)))
	if len(again.Fields) != 1 || again.Fields["a"] != "2" {
		t.Errorf("resumed with %+v, want only what changed meanwhile", again)
	}
	other := next(t, s.connect(t, fmt.Sprintf("epoch=boot-0&since=%d", before.Seq)))
	if len(other.Fields) != 2 {
		t.Errorf("after a restart: got %+v, want everything", other)
	}
}

func TestHub_Origin(t *testing.T) {
	t.Parallel()
	s := newServer(t, slow())
	for _, tc := range []struct {
		name, origin string
		ok           bool
	}{
		{"same", s.url, true},
		{"absent", "", false},
		{"null", "null", false},
		{"foreign", "https://evil.example", false},
		{"same_host_other_port", "http://127.0.0.1:1", false},
		{"not_a_url", "://", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, resp, err := s.dial(t, "session="+tc.name, tc.origin)
			if ok := err == nil; ok != tc.ok {
				t.Fatalf("origin %q: connected %t, want %t", tc.origin, ok, tc.ok)
			}
			if !tc.ok && resp.StatusCode != http.StatusForbidden {
				t.Errorf("origin %q: status %d, want 403", tc.origin, resp.StatusCode)
			}
		})
	}
}

func TestHub_LimitsSocketsOfASession(t *testing.T) {
	t.Parallel()
	s := newServer(t, live.Settings{MaxPerSession: 2, Heartbeat: time.Hour, PingEvery: time.Hour})
	first := s.connect(t, "session=x")
	next(t, first)
	next(t, s.connect(t, "session=x"))
	if code := closeCode(t, s.connect(t, "session=x")); code != live.CloseTooMany {
		t.Errorf("third socket: close code %d, want %d", code, live.CloseTooMany)
	}
	next(t, s.connect(t, "session=y"))
	if got := s.hub.Count(); got != 3 {
		t.Errorf("%d sockets open, want 3", got)
	}
}

func TestHub_EndsASession(t *testing.T) {
	t.Parallel()
	s := newServer(t, slow())
	mine, other := s.connect(t, "session=x"), s.connect(t, "session=y")
	next(t, mine)
	next(t, other)
	s.hub.End("x")
	if code := closeCode(t, mine); code != live.CloseSessionEnded {
		t.Errorf("close code %d, want %d", code, live.CloseSessionEnded)
	}
	s.board.Set(map[string]string{"a": "1"}, nil)
	s.hub.Wake()
	if f := next(t, other); f.Fields["a"] != "1" {
		t.Errorf("another session's socket got %+v", f)
	}
}

func TestHub_EndsAnExpiredSessionByItself(t *testing.T) {
	t.Parallel()
	s := newServer(t, live.Settings{Heartbeat: time.Hour, PingEvery: 5 * time.Millisecond})
	conn := s.connect(t, "session=x")
	next(t, conn)
	s.valid.Store(false)
	if code := closeCode(t, conn); code != live.CloseSessionEnded {
		t.Errorf("close code %d, want %d", code, live.CloseSessionEnded)
	}
}

func TestHub_CloseSaysGoingAway(t *testing.T) {
	t.Parallel()
	s := newServer(t, slow())
	conn := s.connect(t, "")
	next(t, conn)
	done := make(chan int, 1)
	go func() {
		for {
			if _, _, err := conn.ReadMessage(); err != nil {
				var closed *websocket.CloseError
				errors.As(err, &closed)
				done <- closed.Code
				return
			}
		}
	}()
	s.hub.Close()
	if code := <-done; code != websocket.CloseGoingAway {
		t.Errorf("close code %d, want %d", code, websocket.CloseGoingAway)
	}
	if n := s.hub.Count(); n != 0 {
		t.Errorf("%d sockets left after Close", n)
	}
	if code := closeCode(t, s.connect(t, "")); code != websocket.CloseGoingAway {
		t.Errorf("a socket after Close: close code %d, want %d", code, websocket.CloseGoingAway)
	}
}

func TestHub_ContainsPanics(t *testing.T) {
	t.Parallel()
	s := newServer(t, slow())
	s.tail = func(context.Context) map[string]string { panic("broken view") }
	conn := s.connect(t, "")
	if _, _, err := conn.ReadMessage(); err == nil {
		t.Error("the socket of a broken view is still open")
	}
	s.hub.Close()
	if got := s.hub.Panics(); got != 1 {
		t.Errorf("%d panics counted, want 1", got)
	}
}

func TestHub_RefusesLongMessages(t *testing.T) {
	t.Parallel()
	s := newServer(t, slow())
	conn := s.connect(t, "")
	next(t, conn)
	if err := conn.WriteMessage(websocket.TextMessage, make([]byte, 5000)); err != nil {
		t.Fatal(err)
	}
	if code := closeCode(t, conn); code != websocket.CloseMessageTooBig {
		t.Errorf("close code %d, want %d", code, websocket.CloseMessageTooBig)
	}
}

func TestHub_TailIsSentOnChange(t *testing.T) {
	t.Parallel()
	s := newServer(t, live.Settings{Heartbeat: time.Millisecond, PingEvery: time.Hour})
	var n atomic.Int64
	s.tail = func(context.Context) map[string]string {
		return map[string]string{"new": strconv.FormatInt(n.Load(), 10)}
	}
	conn := s.connect(t, "")
	if f := next(t, conn); f.Fields["new"] != "0" {
		t.Errorf("first frame: got %+v", f)
	}
	n.Store(7)
	for {
		f := next(t, conn)
		if v, ok := f.Fields["new"]; ok {
			if v != "7" {
				t.Errorf("got %q, want only the changed tail", v)
			}
			return
		}
	}
}

// TestHub_SlowBrowsers is field-failures R41: browsers that stop reading or
// leave abruptly, pings and broadcasts at the same moment. Nobody who reads
// waits for them, and they are given up.
func TestHub_SlowBrowsers(t *testing.T) {
	t.Parallel()
	s := newServer(t, live.Settings{
		Heartbeat: time.Millisecond, PingEvery: time.Millisecond, WriteWait: 500 * time.Millisecond,
	})
	big := strings.Repeat("x", 1<<18)
	for i := range 3 {
		conn := s.connect(t, "session=stalled"+strconv.Itoa(i))
		if tcp, ok := conn.NetConn().(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(1024) // only makes the stall come sooner
		}
	}
	gone := s.connect(t, "session=gone")
	reader := s.connect(t, "session=reader")
	next(t, reader)
	_ = gone.NetConn().Close()
	seen := make(chan string, 1)
	go func() {
		defer close(seen)
		var f live.Frame
		for f.Fields["n"] != "last" && reader.ReadJSON(&f) == nil {
		}
		seen <- f.Fields["n"]
	}()

	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for i := range 20 {
				s.board.Set(map[string]string{"n": strconv.Itoa(i)}, map[string]string{"big": big[i:]})
				s.hub.Wake()
			}
		})
	}
	wg.Wait()
	s.board.Set(map[string]string{"n": "last"}, nil)
	s.hub.Wake()
	if got := <-seen; got != "last" {
		t.Errorf("the browser that reads ended at %q", got)
	}
	s.hub.End("reader")
	for s.hub.Count() > 0 {
		// The stalled sockets fill up and end by their write deadline.
		s.board.Set(nil, map[string]string{"big": big[s.hub.Count():], "n": strconv.Itoa(s.hub.Count())})
		s.hub.Wake()
		runtime.Gosched()
	}
	if got := s.hub.Panics(); got != 0 {
		t.Errorf("%d panics", got)
	}
}
