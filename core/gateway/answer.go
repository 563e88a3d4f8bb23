package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/upstream"
	"github.com/spillway-llm/spillway/core/wire/translate"
)

// maxAnswer bounds a whole answer; the largest that vendors give are far below.
const maxAnswer = 64 << 20

// answer passes a whole JSON answer on: byte for byte where the formats are the
// same (R7.4).
func (x *exchange) answer(ctx context.Context, a *core.Attempt, res *http.Response) error {
	if isEventStream(res.Header) {
		return badResponse(a, res, errors.New("an event stream, and none was asked for"))
	}
	var err error
	x.out, err = readAll(x.out, res.Body, res.ContentLength, maxAnswer)
	if err != nil {
		return upstream.ReadFailure(ctx, a.Node.ID, core.KindBadResponse, err)
	}
	usage, model, id, e := x.g.format(a.Provider.Wire).Answer(x.out)
	if e != nil {
		return e
	}
	a.Usage, a.Model = usage, model
	if a.UpstreamID == "" {
		a.UpstreamID = id
	}
	body := x.out
	if !x.native() {
		translated, err := translate.Response(a.Provider.Wire, x.format.Wire(), x.out, x.req.Decision.At.Unix(), x.form.names)
		if err != nil {
			return badResponse(a, res, err)
		}
		body, x.form.lost = translated.Body, translated.Warnings
	}
	a.FirstContent()
	return x.sent(x.reply.whole(body))
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

// sent makes a failed write to the caller a caller that is gone.
func (x *exchange) sent(err error) error {
	if err == nil {
		return nil
	}
	return &core.Error{Op: "write answer", Kind: core.KindCallerGone, Err: err}
}
