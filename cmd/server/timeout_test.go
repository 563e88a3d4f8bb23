package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/audit"
)

// hesitant accepts connections and hangs up a second later, without a word.
func hesitant(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			time.AfterFunc(time.Second, func() { _ = c.Close() })
		}
	}()
	return l
}

// TestTimeouts_Connect holds that the file's connect timeout acts: a handshake
// that would fail after a second is given up before.
func TestTimeouts_Connect(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{"": "connect", "timeouts: {connect: 100ms}\n": "timeout_connect"} {
		text := setting + strings.ReplaceAll(oneVendor, "URL", "https://"+hesitant(t).Addr().String())
		s := start(t, Options{Config: write(t, "spillway.yaml", text), Env: vendorEnvironment})
		if a := s.post("/v1/messages", askAnthropic); a.status < 500 {
			t.Errorf("with %q answered %d: %s", setting, a.status, a.body)
		}
		var list []audit.Decision
		eventually(t, "the decision is in the history", func() bool {
			var err error
			list, err = s.db.Decisions(t.Context(), audit.Filter{})
			return err == nil && len(list) > 0
		})
		if got := list[0].Attempts[0].Kind; got != want {
			t.Errorf("with %q the attempt ended with %s, want %s", setting, got, want)
		}
	}
}

// TestTimeouts_Write holds that the file's write timeout acts: a caller that
// stops reading is cut, and its vendor let go.
func TestTimeouts_Write(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	v := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			return // a probe
		}
		defer close(left)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\","+
			"\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n"+
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n")
		delta := "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" +
			strings.Repeat("x", 32<<10) + "\"}}\n\n"
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, delta)
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(v.Close)
	text := "timeouts: {write: 300ms}\n" + strings.ReplaceAll(oneVendor, "URL", v.URL)
	s := start(t, Options{Config: write(t, "spillway.yaml", text), Env: vendorEnvironment})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	body := strings.Replace(askAnthropic, "{", `{"stream":true,`, 1)
	if _, err := fmt.Fprintf(conn, "POST /v1/messages HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Length: %d\r\n\r\n%s", s.ready.Key, len(body), body); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 64)); err != nil { // it runs; now stop reading
		t.Fatal(err)
	}
	select {
	case <-left:
	case <-time.After(20 * time.Second): // the default is 30 s
		t.Fatal("the stuck reader's vendor is still held")
	}
}
