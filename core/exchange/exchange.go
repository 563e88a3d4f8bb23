package exchange

import (
	"context"
	"io"
	"net/http"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/stream"
	"github.com/spillway-llm/spillway/core/upstream"
	"github.com/spillway-llm/spillway/core/wire"
	"github.com/spillway-llm/spillway/core/wire/translate"
)

// Sink is the caller's side of an exchange. An error of its methods means that
// the caller is gone.
type Sink interface {
	// Announce replaces what is told beside the answer. It comes before each
	// attempt and before a failure's answer.
	Announce(n Notice)
	// Whole sends an answer that is complete, or a failure's. It does nothing and
	// returns false when a stream has begun. It must not keep body.
	Whole(status int, body []byte) (sent bool, err error)
	// Events sends events of a stream that has content, as [stream.Caller] says.
	Events(b []byte, last bool) error
	// Cut sends the event that ends a stream which failed. It must not keep b.
	Cut(b []byte) error
}

// Exchange is one request until its answer is out. It is the engine's
// [core.Attempter]. Exchanges are pooled: nothing that outlives the request may
// point into one. It is not safe for concurrent use.
type Exchange struct {
	// Request is what the engine runs; its Decision is the record so far.
	Request core.Request

	pool   *Pool
	format wire.Format // the caller's
	sink   Sink

	body []byte // the caller's, never changed (R7.1)
	peek wire.Peek
	// version and betas are the caller's own headers for a vendor of its format,
	// beta is its query's.
	version, betas []string
	beta           bool

	form form
	// disclosed is what the caller is told if the running attempt answers.
	disclosed core.Disclosed

	pump      *stream.Pump
	followers map[core.Wire]wire.Follower
	out       []byte // a whole answer
}

// form is the request as one target gets it.
type form struct {
	target   *core.Target
	wire     core.Wire
	payload  *upstream.Payload
	warnings []string
	// names are the tool names that had to be shortened, lost is what of the
	// answer the caller's form has no place for.
	names translate.Names
	lost  []string
}

// End drops what the exchange points to and gives it back.
func (x *Exchange) End() {
	x.dropForm()
	x.pump.Release()
	x.format, x.sink, x.version, x.betas, x.beta = nil, nil, nil, nil, false
	x.body, x.out = kept(x.body), kept(x.out)
	x.peek = wire.Peek{}
	d := &x.Request.Decision
	d.Reset()
	x.Request = core.Request{Decision: *d}
	x.pool.idle.Put(x)
}

// Receive reads the request's body, whose length is -1 when it isn't known. It
// stops with [ErrTooLong] after limit bytes.
func (x *Exchange) Receive(body io.Reader, length, limit int64) (err error) {
	x.body, err = readAll(x.body, body, length, limit)
	return err
}

// Body is what was received.
func (x *Exchange) Body() []byte { return x.body }

// Speak changes the caller's format, where the body decides it. It must come
// before [Exchange.Understand].
func (x *Exchange) Speak(w core.Wire) { x.format = x.pool.Format(w) }

// Streamed reports whether the caller asked for a stream.
func (x *Exchange) Streamed() bool { return x.peek.Stream }

// Understand turns the body that was received, and the caller's header and
// query, into the engine's request: what the caller asks for, bounded by what it
// may. keyID names the caller's key for the record. The error's message tells the caller what to mend.
func (x *Exchange) Understand(r *http.Request, path, keyID string, g *core.Grants) *core.Error {
	if err := x.format.Peek(x.body, &x.peek); err != nil {
		return peekRefusal(err)
	}
	if x.peek.Responses {
		return BadRequest("the body has \"input\" and no \"messages\", which is the Responses API's form: " +
			"set the client to Chat Completions, or send messages")
	}
	x.beta = r.URL.RawQuery != "" && r.URL.Query().Get("beta") == "true"
	x.version, x.betas = r.Header["Anthropic-Version"], r.Header["Anthropic-Beta"]
	x.Request.Path = path
	return x.ask(r.Header, keyID, g)
}

// Run lets the engine answer, tells the caller about a failure and has the
// decision recorded. The error is the failure that the caller was told of.
func (x *Exchange) Run(ctx context.Context) error {
	err := x.pool.cfg.Engine.Run(ctx, &x.Request, x)
	d := &x.Request.Decision
	if err == nil {
		d.Status = http.StatusOK
		x.settleDisclosure()
	} else {
		d.Status = x.fail(err)
	}
	x.pool.cfg.Engine.Finish(&x.Request)
	return err
}
