package gateway

import (
	"errors"
	"net/http"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/access"
	"github.com/spillway-llm/spillway/core/sse"
	"github.com/spillway-llm/spillway/core/upstream"
	"github.com/spillway-llm/spillway/core/wire"
	"github.com/spillway-llm/spillway/core/wire/translate"
)

// readSize is how much of an upstream stream is read at a time.
const readSize = 8 << 10

// exchange is one caller's request until its answer is out. It is the engine's
// [core.Attempter]. Exchanges are pooled: nothing that outlives the request may
// point into one.
type exchange struct {
	g      *Gateway
	format wire.Format // the caller's
	caller *access.Caller
	r      *http.Request
	reply  *reply
	beta   bool

	body []byte // the caller's, never changed (R7.1)
	peek wire.Peek
	req  core.Request
	form form
	// disclosed is what the caller is told if the running attempt answers.
	disclosed core.Disclosed

	scanner   *sse.Scanner
	followers map[core.Wire]wire.Follower
	read      []byte // one read of an upstream stream
	out       []byte // an answer, or the events not yet written
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

func newExchange(g *Gateway) *exchange {
	return &exchange{
		g: g, scanner: sse.NewScanner(g.cfg.MaxEvent), read: make([]byte, readSize),
		followers: map[core.Wire]wire.Follower{
			core.WireAnthropic: g.anthropic.NewFollower(), core.WireOpenAI: g.openai.NewFollower(),
		},
	}
}

// begin readies a pooled exchange.
func (g *Gateway) begin(w http.ResponseWriter, r *http.Request, f wire.Format, c *access.Caller) *exchange {
	x := g.exchanges.Get().(*exchange)
	x.format, x.caller, x.r = f, c, r
	x.reply = newReply(g, w, f)
	return x
}

// end drops what the exchange points to and gives it back.
func (x *exchange) end() {
	x.reply.close()
	x.dropForm()
	x.format, x.caller, x.r, x.reply, x.beta = nil, nil, nil, nil, false
	x.body, x.out = kept(x.body), kept(x.out)
	x.peek = wire.Peek{}
	d := &x.req.Decision
	d.Reset()
	x.req = core.Request{Decision: *d}
	x.g.exchanges.Put(x)
}

// complete serves a request for an answer.
func (g *Gateway) complete(w http.ResponseWriter, r *http.Request, f wire.Format, path string) {
	if r.Method != http.MethodPost {
		g.refuse(w, r, f, wrongMethod(r, http.MethodPost))
		return
	}
	c, e := g.identify(r)
	if e != nil {
		g.refuse(w, r, f, e)
		return
	}
	x := g.begin(w, r, f, c)
	defer x.end()
	if e := x.understand(path); e != nil {
		g.refuse(w, r, f, e)
		return
	}
	x.run()
}

// understand reads the request and turns it into facts.
func (x *exchange) understand(path string) *core.Error {
	if e := x.receive(); e != nil {
		return e
	}
	return x.interpret(path)
}

// interpret turns the body that was read, and the headers, into facts.
func (x *exchange) interpret(path string) *core.Error {
	if err := x.format.Peek(x.body, &x.peek); err != nil {
		return peekRefusal(err)
	}
	if x.peek.Responses {
		return badRequest("the body has \"input\" and no \"messages\", which is the Responses API's form: " +
			"set the client to Chat Completions, or send messages")
	}
	x.beta = x.r.URL.RawQuery != "" && x.r.URL.Query().Get("beta") == "true"
	x.req.Path = path
	return x.ask()
}

// run lets the engine answer, tells the caller about a failure and has the
// decision recorded.
func (x *exchange) run() {
	if x.peek.Stream {
		x.g.keeper.add(x.reply)
		defer x.g.keeper.remove(x.reply)
	}
	err := x.g.cfg.Engine.Run(x.r.Context(), &x.req, x)
	d := &x.req.Decision
	if err == nil {
		d.Status = http.StatusOK
		x.settleDisclosure()
	} else {
		d.Status = x.fail(err)
	}
	x.g.cfg.Engine.Finish(&x.req)
}

// peekRefusal makes a body's fault an [core.Error] whatever its format says.
func peekRefusal(err error) *core.Error {
	var e *core.Error
	if errors.As(err, &e) {
		return e
	}
	return badRequest("the body can't be read: %v", err)
}
