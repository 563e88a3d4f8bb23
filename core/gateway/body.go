package gateway

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/exchange"
)

// readTimeout bounds the time for a whole request body.
const readTimeout = 60 * time.Second

// receive reads the request's body into the exchange.
func (g *Gateway) receive(x *exchange.Exchange, w http.ResponseWriter, r *http.Request) *core.Error {
	limit := g.cfg.MaxBody
	control := http.NewResponseController(w)
	// A caller that stalls in the middle of its body must not hold a connection
	// for ever. An error means that the server can't do it.
	_ = control.SetReadDeadline(g.cfg.Clock.Wall().Add(readTimeout))
	err := x.Receive(r.Body, r.ContentLength, limit)
	if errors.Is(err, exchange.ErrTooLong) && r.Header.Get("Expect") == "" {
		// Most clients look for an answer only after they have sent everything,
		// so a body that is a little too long is read to its end. One that asked
		// first need not send it.
		_, _ = io.CopyN(io.Discard, r.Body, limit)
	}
	_ = control.SetReadDeadline(time.Time{})
	switch {
	case errors.Is(err, exchange.ErrTooLong):
		return exchange.Refusal(core.KindTooLarge, http.StatusRequestEntityTooLarge,
			"the body is over this gateway's limit of %d bytes: shorten the conversation, or refer to large files by URL", limit)
	case err != nil:
		return exchange.BadRequest("the body ended early: send all of Content-Length, within %v", readTimeout)
	case len(x.Body()) == 0:
		return exchange.BadRequest("the body is empty: send a JSON object")
	}
	return nil
}
