package upstream

import (
	"bytes"
	"io"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
)

// keepPayload is the largest request body whose memory is used again.
const keepPayload = 64 << 10

// Payload is a request body that the attempts at one target share. It is not
// safe for concurrent use: one attempt at a time may send it.
//
// A transport may still read the body after it has returned: after an error, a
// cancel, or an answer that came before the body was read. Using the memory
// again then would send one caller's prompt with another caller's request, so
// [Payload.Release] keeps it only when every sending reported its end.
type Payload struct {
	// Bytes is the body; it must not change after the first attempt began.
	Bytes []byte

	pool    *sync.Pool
	getBody func() (io.ReadCloser, error)
	trace   httptrace.ClientTrace
	sent    int32 // sendings begun
	written atomic.Int32
	failed  atomic.Bool
}

func newPayload(pool *sync.Pool) *Payload {
	p := &Payload{pool: pool}
	p.trace.WroteRequest = p.wrote
	p.getBody = func() (io.ReadCloser, error) { return p.reader(), nil }
	return p
}

func (p *Payload) wrote(info httptrace.WroteRequestInfo) {
	if info.Err != nil {
		p.failed.Store(true)
	}
	p.written.Add(1)
}

// reader begins a sending. It is a plain bytes.Reader behind io.NopCloser,
// because the transport sends header and body in one write only for that.
func (p *Payload) reader() io.ReadCloser {
	p.sent++
	return io.NopCloser(bytes.NewReader(p.Bytes))
}

// Release gives the memory back if nothing reads it any more. The payload must
// not be used afterwards. Releasing nil does nothing.
func (p *Payload) Release() {
	if p == nil || p.failed.Load() || p.written.Load() != p.sent || cap(p.Bytes) > keepPayload {
		return
	}
	p.Bytes, p.sent = p.Bytes[:0], 0
	p.written.Store(0)
	p.pool.Put(p)
}
