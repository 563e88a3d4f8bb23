package transport

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/exchange"
	"github.com/spillway-llm/spillway/core/wire"
)

// reply makes the SDK's response of an exchange's answer. It is the exchange's
// [exchange.Sink].
type reply struct {
	request  *http.Request
	notice   exchange.Notice
	response *http.Response

	// For a request for a stream: its body, whether it began, and what tells that
	// the response is there, or that there will be none.
	stream *body
	begun  bool
	ready  chan struct{}
}

// Announce replaces what the headers will tell.
func (o *reply) Announce(n exchange.Notice) { o.notice = n }

// Whole takes a complete answer, or a failure's.
func (o *reply) Whole(status int, b []byte) (bool, error) {
	if o.begun {
		return false, nil
	}
	o.respond(status, "application/json", int64(len(b)), io.NopCloser(bytes.NewReader(bytes.Clone(b))))
	return true, nil
}

// Events takes events of a stream. With the first of them RoundTrip returns.
func (o *reply) Events(b []byte, _ bool) error {
	err := o.stream.write(b)
	if !o.begun {
		o.begun = true
		o.respond(http.StatusOK, "text/event-stream", -1, o.stream)
		close(o.ready)
	}
	return err
}

// Cut takes the event that ends a stream which failed.
func (o *reply) Cut(b []byte) error { return o.stream.write(b) }

// refuse makes the response of a refusal: a request that never reached the engine.
func (o *reply) refuse(f wire.Format, e *core.Error) {
	b, status := f.AppendError(nil, e, "")
	if e.Status != 0 {
		status = e.Status
	}
	o.respond(status, "application/json", int64(len(b)), io.NopCloser(bytes.NewReader(b)))
}

// result is what RoundTrip returns of a request that is over. Without a response
// the caller is gone.
func (o *reply) result(err error) (*http.Response, error) {
	if o.response != nil {
		return o.response, nil
	}
	if cause := context.Cause(o.request.Context()); cause != nil {
		return nil, cause
	}
	return nil, err
}

func (o *reply) respond(status int, kind string, length int64, b io.ReadCloser) {
	h := make(http.Header, 12)
	v := o.notice.Headers(h)
	v.Set("Content-Type", kind)
	if length >= 0 {
		v.Set("Content-Length", strconv.FormatInt(length, 10))
	}
	if status >= http.StatusBadRequest {
		v.Set("X-Should-Retry", "false") // one layer retries, and it was this one (R4.5)
	}
	o.response = &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: b, ContentLength: length, Request: o.request,
	}
}
