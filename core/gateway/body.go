package gateway

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/spillway-llm/spillway/core"
)

// keepBuffer is the largest buffer that is used again: above it one long
// conversation would pin its memory for all later short ones.
const keepBuffer = 64 << 10

// firstRead is the size of the first read of a body of unknown length.
const firstRead = 8 << 10

// readTimeout bounds the time for a whole request body.
const readTimeout = 60 * time.Second

// kept returns a buffer's memory for the next use, unless it is too large.
func kept(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}

var errTooLong = errors.New("longer than allowed")

// readAll reads r to its end into dst, which length, if known, sizes. It stops
// with errTooLong after limit bytes.
func readAll(dst []byte, r io.Reader, length, limit int64) ([]byte, error) {
	if length > limit {
		return dst, errTooLong
	}
	// One byte more than the length lets the read that finds the end find it
	// without growing.
	dst = slices.Grow(dst[:0], int(max(length+1, firstRead)))
	for {
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case int64(len(dst)) > limit:
			return dst, errTooLong
		case errors.Is(err, io.EOF):
			return dst, nil
		case err != nil:
			return dst, err
		case len(dst) == cap(dst):
			dst = slices.Grow(dst, len(dst))
		}
	}
}

// receive reads the request's body into the exchange.
func (x *exchange) receive() *core.Error {
	limit := x.g.cfg.MaxBody
	// A caller that stalls in the middle of its body must not hold a connection
	// for ever. An error means that the server can't do it.
	_ = x.reply.control.SetReadDeadline(x.g.cfg.Clock.Wall().Add(readTimeout))
	var err error
	x.body, err = readAll(x.body, x.r.Body, x.r.ContentLength, limit)
	if errors.Is(err, errTooLong) && x.r.Header.Get("Expect") == "" {
		// Most clients look for an answer only after they have sent everything,
		// so a body that is a little too long is read to its end. One that asked
		// first need not send it.
		_, _ = io.CopyN(io.Discard, x.r.Body, limit)
	}
	_ = x.reply.control.SetReadDeadline(time.Time{})
	switch {
	case errors.Is(err, errTooLong):
		return refusal(core.KindTooLarge, http.StatusRequestEntityTooLarge,
			"the body is over this gateway's limit of %d bytes: shorten the conversation, or refer to large files by URL", limit)
	case err != nil:
		return badRequest("the body ended early: send all of Content-Length, within %v", readTimeout)
	case len(x.body) == 0:
		return badRequest("the body is empty: send a JSON object")
	}
	return nil
}
