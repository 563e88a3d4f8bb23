package live

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gorilla/websocket"
)

// readLimit bounds a browser's message: it has nothing to say beyond pongs.
const readLimit = 4096

// client is one socket. write is its only writer.
type client struct {
	hub  *Hub
	conn *websocket.Conn
	sub  Subscription
	wake chan struct{} // one slot: a change is pending
	quit chan int      // one slot: the code to close with
	gone chan struct{} // closed when the browser has left

	epoch string
	since uint64
	tail  map[string]string
}

func (c *client) end(code int) {
	select {
	case c.quit <- code:
	default: // another reason to end came first
	}
}

// read only notices pongs and the browser's leaving.
func (c *client) read() {
	defer close(c.gone)
	defer c.contain("read")
	c.conn.SetReadLimit(readLimit)
	alive := func() { _ = c.conn.SetReadDeadline(time.Now().Add(c.hub.set.PongWait)) } // fails only when closed
	alive()
	c.conn.SetPongHandler(func(string) error { alive(); return nil })
	for {
		if _, _, err := c.conn.ReadMessage(); err != nil {
			return
		}
	}
}

// write sends what changed until the socket ends, for whatever reason.
func (c *client) write(ctx context.Context) {
	defer func() {
		_ = c.conn.Close() // the reader ends with it
		<-c.gone
	}()
	defer c.contain("write")
	c.epoch, c.since = c.sub.Epoch, c.sub.Since
	beat := time.NewTicker(c.hub.set.Heartbeat)
	defer beat.Stop()
	ping := time.NewTicker(c.hub.set.PingEvery)
	defer ping.Stop()
	if !c.send(ctx, true) {
		return
	}
	for {
		ok := true
		select {
		case <-c.gone:
			return
		case code := <-c.quit:
			c.goodbye(code)
			return
		case <-c.wake:
			ok = c.send(ctx, false)
		case <-beat.C:
			ok = c.send(ctx, true)
		case <-ping.C:
			ok = c.prove(ctx)
		}
		if !ok {
			return
		}
	}
}

// send writes the difference to what this socket has seen. It reports whether
// the socket is still good.
func (c *client) send(ctx context.Context, beat bool) bool {
	f := c.sub.Board.Since(c.epoch, c.since)
	c.epoch, c.since = f.Epoch, f.Seq
	if beat && c.sub.Tail != nil {
		f.Fields = c.addTail(f.Fields, c.sub.Tail(ctx))
	}
	if !beat && f.Fields == nil && f.Parts == nil && f.Note == "" {
		return true
	}
	body, err := json.Marshal(f)
	if err != nil {
		return false
	}
	_ = c.conn.SetWriteDeadline(time.Now().Add(c.hub.set.WriteWait)) // fails only when closed
	return c.conn.WriteMessage(websocket.TextMessage, body) == nil
}

func (c *client) addTail(fields, tail map[string]string) map[string]string {
	for k, v := range tail {
		if c.tail[k] == v {
			continue
		}
		if fields == nil {
			fields = map[string]string{}
		}
		if c.tail == nil {
			c.tail = map[string]string{}
		}
		c.tail[k], fields[k] = v, v
	}
	return fields
}

// prove ends a socket whose session is over, and pings the others.
func (c *client) prove(ctx context.Context) bool {
	if c.sub.Valid != nil && !c.sub.Valid(ctx) {
		c.goodbye(CloseSessionEnded)
		return false
	}
	return c.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(c.hub.set.WriteWait)) == nil
}

func (c *client) goodbye(code int) {
	body := websocket.FormatCloseMessage(code, "")
	_ = c.conn.WriteControl(websocket.CloseMessage, body, time.Now().Add(c.hub.set.WriteWait)) // it may have left already
}

// contain keeps a panic from ending the process, and with it all proxied
// requests (field-failures R41).
func (c *client) contain(where string) {
	if v := recover(); v != nil {
		c.hub.panics.Add(1)
		c.hub.set.Log.Error("panic in a console socket", "where", where, "panic", fmt.Sprint(v))
	}
}
