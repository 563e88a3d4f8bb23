package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
)

// mostUnread bounds what waits for a reader, in bytes: no answer of any vendor
// is longer.
const mostUnread = 64 << 20

// errUnread ends a stream whose reader has stopped without closing it.
var errUnread = errors.New("too much of the stream is not read")

// body is a streamed answer on its way to the SDK. Writing never waits for the
// reader: a program that takes its time must not look like a vendor that fell
// silent, nor hold a connection to one.
type body struct {
	cancel context.CancelFunc // ends the call to the vendor
	most   int                // bytes that may wait

	mu     sync.Mutex
	news   sync.Cond
	unread []byte
	at     int   // where in unread the reader is
	err    error // how the answer ended, nil while it goes on
	closed bool
}

func newBody(cancel context.CancelFunc) *body {
	b := &body{cancel: cancel, most: mostUnread}
	b.news.L = &b.mu
	return b
}

// write adds events.
func (b *body) write(p []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return http.ErrBodyReadAfterClose
	case len(b.unread)-b.at+len(p) > b.most:
		return errUnread
	}
	if b.at > len(b.unread)/2 {
		b.unread = b.unread[:copy(b.unread, b.unread[b.at:])]
		b.at = 0
	}
	b.unread = append(b.unread, p...)
	b.news.Broadcast()
	return nil
}

// end ends the answer, well or with an error. It must be the last thing that
// happens to it: who waits for it goes on.
func (b *body) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		err = io.EOF
	}
	b.err = err
	b.news.Broadcast()
}

// Read returns what has come, or waits for more. A stream that failed ends with
// the failure, once everything before it was read.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		switch {
		case b.closed:
			return 0, http.ErrBodyReadAfterClose
		case b.at < len(b.unread):
			n := copy(p, b.unread[b.at:])
			b.at += n
			return n, nil
		case b.err != nil:
			return 0, b.err
		case len(p) == 0:
			return 0, nil
		}
		b.news.Wait()
	}
}

// Close ends the call to the vendor, if it still runs, and returns once it is
// settled and recorded. Closing again does nothing more.
func (b *body) Close() error {
	b.cancel()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.unread, b.at = true, nil, 0
	b.news.Broadcast()
	for b.err == nil {
		b.news.Wait()
	}
	return nil
}
