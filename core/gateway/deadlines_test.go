package gateway_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/gateway"
)

// TestDeadlines_LongStreamCompletes is field failure R27: a stream of 6 s passes
// write limits of 1 s, because each write has its own.
func TestDeadlines_LongStreamCompletes(t *testing.T) {
	t.Parallel()
	v := newVendor(t, func(w http.ResponseWriter, r *http.Request) {
		streams(messageStart)(w, r)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for i := range 30 {
			streams(messageDelta(fmt.Sprint("#", i)))(w, r)
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
		streams(messageEnd)(w, r)
	})
	r := anthropicRig(t, v, setup{config: func(c *gateway.Config) { c.WriteTimeout = time.Second }})
	got := r.ask(t, "/v1/messages", askMessagesStream)
	contains(t, got.body, "#0", "#29", "message_stop")
	if d := r.tape.decision(t, 1); d.Outcome != core.KindNone {
		t.Errorf("recorded as %v", d.Outcome)
	}
}

// TestDeadlines_WholeRequest holds the second part of R27: JSON that takes longer
// than the request may fails with 504 and the timeout's name.
func TestDeadlines_WholeRequest(t *testing.T) {
	t.Parallel()
	for _, f := range []front{fronts()[0], fronts()[2]} {
		v := newVendor(t, func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(1500 * time.Millisecond):
			case <-r.Context().Done():
			}
		})
		r := rigOf(t, f.wire, v, setup{plan: func(p *core.Plan) { p.Limits.TotalMS = 1000 }})
		got := r.ask(t, f.path, strings.Replace(f.ask, "MODEL", "auto", 1))
		if got.status != http.StatusGatewayTimeout {
			t.Errorf("%s: status %d: %s", f.wire, got.status, got.body)
		}
		contains(t, got.body, "timeout", "ran out of time")
		if got.header.Get("X-Should-Retry") != "false" {
			t.Error("the SDK would multiply the attempts")
		}
		if d := r.tape.decision(t, 1); d.Outcome != core.KindTimeoutWhole || d.Status != 504 {
			t.Errorf("recorded as %v, %d", d.Outcome, d.Status)
		}
	}
}

// TestDeadlines_StuckReader holds the third part of R27: a caller that stops
// reading is cut, and its upstream closed.
func TestDeadlines_StuckReader(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	big := messageDelta(strings.Repeat("x", 32<<10))
	v := newVendor(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(left)
		streams(messageStart)(w, r)
		for r.Context().Err() == nil {
			streams(big)(w, r)
		}
	})
	r := anthropicRig(t, v, setup{config: func(c *gateway.Config) { c.WriteTimeout = time.Second }})
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprintf(conn, "POST /v1/messages HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
		paidKey, len(askMessagesStream), askMessagesStream)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 64)); err != nil { // the stream runs; now stop reading
		t.Fatal(err)
	}
	select {
	case <-left:
	case <-time.After(10 * time.Second):
		t.Fatal("the stuck reader's upstream is still open")
	}
	if d := r.tape.decision(t, 1); d.Outcome != core.KindCallerGone || d.Status != 499 {
		t.Errorf("recorded as %v, %d", d.Outcome, d.Status)
	}
}

// TestDeadlines_DoNotOutliveTheReply holds that a kept connection serves pages
// that set no deadline of their own, long after a request that did.
func TestDeadlines_DoNotOutliveTheReply(t *testing.T) {
	t.Parallel()
	const limit = 50 * time.Millisecond
	v := newVendor(t, says(200, messageAnswer))
	r := anthropicRig(t, v, setup{config: func(c *gateway.Config) { c.WriteTimeout = limit }})
	for range 3 {
		r.ask(t, "/v1/messages", askMessages)
		<-time.After(2 * limit)
		if got := r.do(t, http.MethodGet, "/livez", nil); got.status != 200 {
			t.Errorf("status %d", got.status)
		}
	}
}
