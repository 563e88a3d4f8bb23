package demovendor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// RoundTrip answers a request in memory, without a connection: for tests in
// virtual time, where sockets would not do. Closing the answer's body or ending
// the request's context is the client's leaving.
func (v *Vendor) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	pr, pw := io.Pipe()
	w := &pipeWriter{header: http.Header{}, pipe: pw, ready: make(chan struct{})}
	context.AfterFunc(ctx, func() { _ = pw.CloseWithError(ctx.Err()) }) // it never fails
	served := r.WithContext(ctx)
	if served.Body == nil {
		served.Body = http.NoBody
	}
	go func() {
		defer cancel()
		defer served.Body.Close()
		v.ServeHTTP(w, served)
		w.WriteHeader(http.StatusOK)
		_ = pw.CloseWithError(ctx.Err()) // the end of the answer, unless the client ended it
	}()
	select {
	case <-w.ready:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: &pipeBody{pr, cancel}, ContentLength: -1, Request: r,
	}, nil
}

// pipeBody ends the vendor's work when it is closed.
type pipeBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (b *pipeBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

// pipeWriter is the response writer of RoundTrip.
type pipeWriter struct {
	header, sent http.Header
	pipe         *io.PipeWriter
	status       int
	once         sync.Once
	ready        chan struct{} // closed once the header is written
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.ready)
	})
}

func (w *pipeWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(b)
}

// Flush does nothing: a pipe holds nothing back.
func (w *pipeWriter) Flush() {}

// cut breaks the body off where it is.
func (w *pipeWriter) cut() { _ = w.pipe.CloseWithError(io.ErrUnexpectedEOF) } // it never fails
