package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/upstream"
	"github.com/spillway-llm/spillway/core/wire/translate"
)

// maxErrorBody is how much of an error answer is looked at.
const maxErrorBody = 64 << 10

// Prepare builds the target's own form of the request; the caller's stays as it
// came (R7.1, R7.4).
func (x *exchange) Prepare(t *core.Target) error {
	if x.form.target == t {
		return nil
	}
	x.dropForm()
	p := x.catalog().Provider(t)
	payload := x.g.cfg.Upstream.NewPayload()
	if p.Wire == x.format.Wire() {
		payload.Bytes = x.format.Native(payload.Bytes, x.body, &x.peek, t)
		x.form = form{target: t, wire: p.Wire, payload: payload}
		return nil
	}
	f, err := translate.Request(x.format.Wire(), p.Wire, x.body, t)
	if err != nil {
		payload.Release()
		return err
	}
	payload.Bytes = append(payload.Bytes, f.Body...)
	x.form = form{target: t, wire: p.Wire, payload: payload, warnings: f.Warnings, names: f.Names}
	return nil
}

func (x *exchange) dropForm() {
	x.form.payload.Release()
	x.form = form{}
}

// catalog is the one that the decision was made with; a reload may have put
// another in force since.
func (x *exchange) catalog() *core.Catalog {
	if s := x.req.Decision.Snapshot; s != nil {
		return s.Catalog
	}
	return x.g.cfg.Engine.Revision().Catalog
}

// native reports that the prepared target speaks the caller's format.
func (x *exchange) native() bool { return x.form.wire == x.format.Wire() }

// Attempt makes one call and passes the answer on.
func (x *exchange) Attempt(ctx context.Context, a *core.Attempt) error {
	x.announce(a)
	call := upstream.Call{
		Provider: a.Provider, Node: a.Node, Key: a.Key, Payload: x.form.payload, Stream: x.peek.Stream,
	}
	if x.native() {
		call.Beta, call.Version, call.Betas = x.beta, x.r.Header["Anthropic-Version"], x.r.Header["Anthropic-Beta"]
	}
	res, err := x.g.cfg.Upstream.Do(ctx, &call)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	a.Status, a.UpstreamID = res.StatusCode, upstreamID(res.Header)
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return x.vendorError(res, a)
	}
	if x.peek.Stream {
		return x.stream(ctx, a, res)
	}
	return x.answer(ctx, a, res)
}

// vendorError classifies an error answer. Its status alone says enough when the
// body can't be read.
func (x *exchange) vendorError(res *http.Response, a *core.Attempt) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	return x.g.format(a.Provider.Wire).Classify(res.StatusCode, res.Header, body, x.g.cfg.Clock.Wall())
}

// upstreamID is the vendor's own id of the request, for the record.
func upstreamID(h http.Header) string {
	for _, name := range [...]string{"Request-Id", "X-Request-Id"} {
		if v := h[name]; len(v) > 0 {
			return v[0]
		}
	}
	return ""
}

// isEventStream reports whether an answer is a stream of events.
func isEventStream(h http.Header) bool {
	const kind = "text/event-stream"
	v := h["Content-Type"]
	return len(v) > 0 && len(v[0]) >= len(kind) && strings.EqualFold(v[0][:len(kind)], kind)
}
