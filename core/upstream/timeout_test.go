package upstream_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/upstream"
)

// swallowed is a connection that never comes about.
func swallowed(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// mute is a connection to somebody who never says a word.
func mute(t *testing.T) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			b := make([]byte, 1<<10)
			for {
				if _, err := far.Read(b); err != nil {
					return
				}
			}
		}()
		t.Cleanup(func() { _ = far.Close() })
		return near, nil
	}
}

// The connect timeout acts on the connection and on the TLS handshake, and on
// nothing after them.
func TestClient_ConnectTimeout(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		config  upstream.Config
		base    string
		silent  bool // the connection comes about
		want    core.Kind
		wantFor time.Duration
	}{
		"default":       {upstream.Config{}, "http://vendor.example", false, core.KindTimeoutConnect, upstream.DefaultConnectTimeout},
		"as_configured": {upstream.Config{ConnectTimeout: 700 * time.Millisecond}, "http://vendor.example", false, core.KindTimeoutConnect, 700 * time.Millisecond},
		"handshake":     {upstream.Config{ConnectTimeout: 2 * time.Second}, "https://vendor.example", true, core.KindTimeoutConnect, 2 * time.Second},
		"not_the_answer": {
			upstream.Config{ConnectTimeout: time.Second}, "http://vendor.example", true,
			core.KindCallerGone, time.Minute, // the context of the test's call
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tc.config.Dial = swallowed
				if tc.silent {
					tc.config.Dial = mute(t)
				}
				c := upstream.New(tc.config)
				defer c.CloseIdle()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				begun := time.Now()
				_, err := c.Do(ctx, call(c, core.WireOpenAI, tc.base, "k", "{}"))
				if got := time.Since(begun); core.KindOf(err) != tc.want || got != tc.wantFor {
					t.Errorf("got %v after %v, want %v after %v", err, got, tc.want, tc.wantFor)
				}
			})
		})
	}
}
