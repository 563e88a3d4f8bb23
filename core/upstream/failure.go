package upstream

import (
	"context"
	"errors"
	"net"
	"net/textproto"

	"github.com/spillway-llm/spillway/core"
)

// callFailure classifies an error before the answer's headers.
func callFailure(ctx context.Context, node string, err error) *core.Error {
	op := "call node " + node
	if e := ended(ctx, op, err); e != nil {
		return e
	}
	kind := core.KindConnect
	var protocol textproto.ProtocolError
	var dial *net.OpError
	var timeout net.Error
	switch {
	case errors.As(err, &protocol):
		kind = core.KindBadResponse
	case errors.As(err, &dial) && dial.Op == "dial" && dial.Timeout():
		kind = core.KindTimeoutConnect
	case errors.As(err, &timeout) && timeout.Timeout():
		kind = core.KindTimeoutConnect // the TLS handshake: nothing else has a limit
	}
	return &core.Error{Op: op, Kind: kind, Err: err}
}

// ReadFailure classifies an error while the answer was read: otherwise is the
// kind when neither the engine's deadline nor the caller's leaving explains it.
func ReadFailure(ctx context.Context, node string, otherwise core.Kind, err error) *core.Error {
	op := "read answer of node " + node
	if e := ended(ctx, op, err); e != nil {
		return e
	}
	return &core.Error{Op: op, Kind: otherwise, Err: err}
}

// ended explains an error by the end of its context: the engine ends an attempt
// with the reason as cause; an end without one comes from the caller.
func ended(ctx context.Context, op string, err error) *core.Error {
	if ctx.Err() == nil {
		return nil
	}
	var e *core.Error
	if errors.As(context.Cause(ctx), &e) {
		return e
	}
	return &core.Error{Op: op, Kind: core.KindCallerGone, Err: err}
}
