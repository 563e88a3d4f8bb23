package exchange

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/stream"
	"github.com/spillway-llm/spillway/core/upstream"
	"github.com/spillway-llm/spillway/core/wire/translate"
)

// maxErrorBody is how much of an error answer is looked at.
const maxErrorBody = 64 << 10

// maxAnswer bounds a whole answer; the largest that vendors give are far below.
const maxAnswer = 64 << 20

// Prepare builds the target's own form of the request; the caller's stays as it
// came (R7.1, R7.4).
func (x *Exchange) Prepare(t *core.Target) error {
	if x.form.target == t {
		return nil
	}
	x.dropForm()
	p := x.catalog().Provider(t)
	payload := x.pool.cfg.Upstream.NewPayload()
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

func (x *Exchange) dropForm() {
	x.form.payload.Release()
	x.form = form{}
}

// catalog is the one that the decision was made with; a reload may have put
// another in force since.
func (x *Exchange) catalog() *core.Catalog {
	if s := x.Request.Decision.Snapshot; s != nil {
		return s.Catalog
	}
	return x.pool.cfg.Engine.Revision().Catalog
}

// native reports that the prepared target speaks the caller's format.
func (x *Exchange) native() bool { return x.form.wire == x.format.Wire() }

// Attempt makes one call and passes the answer on.
func (x *Exchange) Attempt(ctx context.Context, a *core.Attempt) error {
	x.announce(a)
	call := upstream.Call{
		Provider: a.Provider, Node: a.Node, Key: a.Key, Payload: x.form.payload, Stream: x.peek.Stream,
	}
	if x.native() {
		call.Beta, call.Version, call.Betas = x.beta, x.version, x.betas
	}
	res, err := x.pool.cfg.Upstream.Do(ctx, &call)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	a.Status, a.UpstreamID = res.StatusCode, upstreamID(res.Header)
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return x.vendorError(res, a)
	}
	if x.peek.Stream {
		return x.stream(a, res)
	}
	return x.answer(ctx, a, res)
}

// vendorError classifies an error answer. Its status alone says enough when the
// body can't be read.
func (x *Exchange) vendorError(res *http.Response, a *core.Attempt) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	return x.pool.Format(a.Provider.Wire).Classify(res.StatusCode, res.Header, body, x.pool.cfg.Clock.Wall())
}

// answer passes a whole JSON answer on: byte for byte where the formats are the
// same (R7.4).
func (x *Exchange) answer(ctx context.Context, a *core.Attempt, res *http.Response) error {
	if isEventStream(res.Header) {
		return badResponse(a, res, errors.New("an event stream, and none was asked for"))
	}
	var err error
	x.out, err = readAll(x.out, res.Body, res.ContentLength, maxAnswer)
	if err != nil {
		return upstream.ReadFailure(ctx, a.Node.ID, core.KindBadResponse, err)
	}
	usage, model, id, e := x.pool.Format(a.Provider.Wire).Answer(x.out)
	if e != nil {
		return e
	}
	a.Usage, a.Model = usage, model
	if a.UpstreamID == "" {
		a.UpstreamID = id
	}
	body := x.out
	if !x.native() {
		translated, err := translate.Response(a.Provider.Wire, x.format.Wire(), x.out, x.Request.Decision.At.Unix(), x.form.names)
		if err != nil {
			return badResponse(a, res, err)
		}
		body, x.form.lost = translated.Body, translated.Warnings
	}
	a.FirstContent()
	if _, err = x.sink.Whole(http.StatusOK, body); err != nil {
		return &core.Error{Op: "write answer", Kind: core.KindCallerGone, Err: err}
	}
	return nil
}

// badResponse is an answer that is not what was asked for. An error that a
// wire format classified keeps its kind.
func badResponse(a *core.Attempt, res *http.Response, err error) error {
	var e *core.Error
	if errors.As(err, &e) {
		return e
	}
	return &core.Error{Op: "read answer of node " + a.Node.ID, Kind: core.KindBadResponse, Status: res.StatusCode, Err: err}
}

// stream passes a streamed answer on.
func (x *Exchange) stream(a *core.Attempt, res *http.Response) error {
	if !isEventStream(res.Header) {
		return x.noStream(a, res)
	}
	s := stream.Source{Body: res.Body, Node: a.Node.ID, Follower: x.followers[a.Provider.Wire]}
	if x.native() {
		s.DropUsage = !x.peek.WantsUsage
	} else {
		translated := translate.NewStream(a.Provider.Wire, x.format.Wire(), x.peek.WantsUsage, x.Request.Decision.At.Unix(), x.form.names)
		defer func() { x.form.lost = translated.Warnings() }()
		s.Converter = translated
	}
	err := x.pump.Run(s, a, x.sink)
	usage, model, id := x.pump.Seen(x.peek.InputTokens)
	a.Usage, a.Model = usage, model
	if a.UpstreamID == "" {
		a.UpstreamID = id
	}
	return err
}

// noStream is a vendor that answers a request for a stream with JSON: an error
// in a 200, or something nobody asked for.
func (x *Exchange) noStream(a *core.Attempt, res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if err == nil {
		if _, _, _, e := x.pool.Format(a.Provider.Wire).Answer(body); e != nil {
			return e
		}
	}
	return badResponse(a, res, errors.New("no event stream, and one was asked for"))
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
