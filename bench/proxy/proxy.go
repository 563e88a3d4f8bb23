// Package proxy is the least that a Go gateway can do: a reverse proxy to one upstream, the measure to divide by.
package proxy

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// buffers lends out the proxy's copy buffers, which it otherwise allocates per answer.
type buffers struct{ pool sync.Pool }

const bufferSize = 32 << 10 // what httputil.ReverseProxy allocates by itself

func (b *buffers) Get() []byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return *buf
	}
	return make([]byte, bufferSize)
}

func (b *buffers) Put(buf []byte) { b.pool.Put(&buf) }

// New returns the proxy. Pooled buffers make the stricter baseline.
func New(upstream *url.URL, pooled bool) http.Handler {
	p := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		FlushInterval: -1, // streams pass on at once
		Transport: &http.Transport{
			MaxIdleConns: 4096, MaxIdleConnsPerHost: 4096, // the default of 2 would redial under load
			IdleConnTimeout:    time.Minute,
			DisableCompression: true,
		},
	}
	if pooled {
		p.BufferPool = &buffers{}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Otherwise an answer that begins before the transport saw the end of the
		// request closes that body under it and cuts the stream (golang/go issue
		// 40747). A writer that knows no full duplex is not HTTP/1 and has no such trouble.
		_ = http.NewResponseController(w).EnableFullDuplex()
		p.ServeHTTP(w, r)
	})
}
