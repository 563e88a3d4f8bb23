package upstream_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/upstream"
)

// roundTrip is a transport made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestClient_FailuresBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	deadline := &core.Error{Op: "attempt x", Kind: core.KindTimeoutFirstContent}
	live := context.Background
	ended := func(cause error) func() context.Context {
		return func() context.Context {
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(cause)
			return ctx
		}
	}
	tests := []struct {
		name string
		ctx  func() context.Context
		err  error
		want core.Kind
	}{
		{"refused", live, &net.OpError{Op: "dial", Err: errors.New("refused")}, core.KindConnect},
		{"no such host", live, &net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, core.KindConnect},
		{"dial too slow", live, &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, core.KindTimeoutConnect},
		{"handshake too slow", live, os.ErrDeadlineExceeded, core.KindTimeoutConnect},
		{"reset", live, &net.OpError{Op: "read", Err: errors.New("reset by peer")}, core.KindConnect},
		{"closed without an answer", live, io.EOF, core.KindConnect},
		{"not HTTP", live, textproto.ProtocolError("malformed header"), core.KindBadResponse},
		{"the caller left", ended(nil), context.Canceled, core.KindCallerGone},
		{"the engine's limit", ended(deadline), context.Canceled, core.KindTimeoutFirstContent},
		{"the caller left, whatever the transport says", ended(nil), io.EOF, core.KindCallerGone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := upstream.New(upstream.Config{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				return nil, tt.err
			})})
			_, err := c.Do(tt.ctx(), call(c, core.WireOpenAI, "http://vendor.example", "k", "{}"))
			if core.KindOf(err) != tt.want {
				t.Errorf("err = %v, want %v", err, tt.want)
			}
			if tt.want != core.KindTimeoutFirstContent && !errors.Is(err, tt.err) {
				t.Errorf("the cause is lost: %v", err)
			}
		})
	}
}

func TestReadFailure(t *testing.T) {
	t.Parallel()
	if e := upstream.ReadFailure(t.Context(), "n", core.KindStreamCut, io.ErrUnexpectedEOF); e.Kind != core.KindStreamCut {
		t.Errorf("a cut is %v", e.Kind)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&core.Error{Kind: core.KindTimeoutIdle})
	if e := upstream.ReadFailure(ctx, "n", core.KindStreamCut, io.ErrUnexpectedEOF); e.Kind != core.KindTimeoutIdle {
		t.Errorf("the engine's idle limit is %v", e.Kind)
	}
}

func TestClient_RealRefusedConnection(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c := upstream.New(upstream.Config{})
	if _, err := c.Do(t.Context(), call(c, core.WireOpenAI, "http://"+addr, "k", "{}")); core.KindOf(err) != core.KindConnect {
		t.Errorf("err = %v, want connect", err)
	}
}
