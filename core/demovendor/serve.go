package demovendor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The paths that vendors serve, by wire.
const (
	messagesPath = "/v1/messages"
	countPath    = "/v1/messages/count_tokens"
	chatPath     = "/v1/chat/completions"
	modelsPath   = "/v1/models"
)

// ServeHTTP serves one request.
func (v *Vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{v: v, w: w, ctx: r.Context()}
	w.Header().Set(MarkHeader, string(cmp.Or(v.cfg.Wire, WireAnthropic)))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	x.req = &Request{
		Number: v.seq.Add(1) - 1, Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery,
		Header: r.Header.Clone(), Body: body,
	}
	c := newCall(x.req)
	x.visit = v.ledger.arrive(x.req)
	defer x.visit.done()
	x.identify()
	if err != nil {
		x.refuse(&problem{status: http.StatusRequestEntityTooLarge, message: "The request is larger than 32 MB."})
		return
	}
	if p := v.admit(r); p != nil {
		x.refuse(p)
		return
	}
	switch {
	case !v.serves(x.req.Path):
		x.refuse(&problem{status: http.StatusNotFound, code: "unknown_url", message: "No such path: " + r.Method + " " + x.req.Path})
	case r.Method != method(x.req.Path):
		w.Header().Set("Allow", method(x.req.Path))
		x.refuse(&problem{status: http.StatusMethodNotAllowed, message: "Method not allowed."})
	case x.req.Path == modelsPath:
		x.send(http.StatusOK, v.models())
	case x.req.Path == countPath:
		x.countTokens(c)
	default:
		x.infer(c)
	}
}

// serves reports whether the vendor's wire has the path.
func (v *Vendor) serves(path string) bool {
	if path == modelsPath {
		return true
	}
	if v.cfg.Wire == WireOpenAI {
		return path == chatPath
	}
	return path == messagesPath || path == countPath
}

func method(path string) string {
	if path == modelsPath {
		return http.MethodGet
	}
	return http.MethodPost
}

// exchange is one request being answered.
type exchange struct {
	v     *Vendor
	w     http.ResponseWriter
	ctx   context.Context
	req   *Request
	visit *visit
	step  Step
	pace  Model // the model's pace, nothing for an unknown one
}

// identify sets the request id under the wire's name for it.
func (x *exchange) identify() {
	name := "Request-Id"
	if x.v.cfg.Wire == WireOpenAI {
		name = "X-Request-Id"
	}
	x.w.Header().Set(name, x.requestID())
}

func (x *exchange) requestID() string {
	return fmt.Sprintf("req_sim%04x%08x", x.v.cfg.Seed&0xffff, x.req.Number)
}

// infer answers a request for an answer.
func (x *exchange) infer(c *call) {
	x.step = x.v.next(x.req)
	s := &x.step
	if m := x.v.model(x.req.Model); m != nil {
		x.pace = *m
	}
	if s.Status == statusNever {
		x.hang()
		return
	}
	if s.Status < 300 && s.Body == "" {
		if p := x.v.check(c); p != nil {
			x.refuse(p)
			return
		}
	}
	if !x.sleep(x.delay()) {
		return
	}
	for k, values := range s.Header {
		x.w.Header()[k] = values
	}
	x.rateHeaders()
	switch {
	case s.Body != "":
		x.verbatim()
	case s.Status >= 300:
		x.refuse(x.stepProblem())
	case c.Stream:
		x.stream(x.v.answer(c, s))
	default:
		x.whole(x.v.answer(c, s))
	}
}

// stepProblem is the error that the step asks for.
func (x *exchange) stepProblem() *problem {
	s := &x.step
	return &problem{status: s.Status, typ: s.ErrorType, code: s.ErrorCode, detail: s.ErrorCode,
		message: cmp.Or(s.Message, "Simulated failure: "+cmp.Or(http.StatusText(s.Status), "overloaded")+".")}
}

// rateHeaders adds the vendor's figures of what is left of the allowance.
func (x *exchange) rateHeaders() {
	h := x.w.Header()
	if x.v.cfg.Wire == WireOpenAI {
		h.Set("X-Ratelimit-Limit-Requests", "10000")
		h.Set("X-Ratelimit-Remaining-Requests", "9999")
		h.Set("X-Ratelimit-Reset-Requests", "6ms")
		return
	}
	h.Set("Anthropic-Ratelimit-Requests-Limit", "4000")
	h.Set("Anthropic-Ratelimit-Requests-Remaining", "3999")
	h.Set("Anthropic-Ratelimit-Requests-Reset", x.v.cfg.Clock.Wall().UTC().Add(time.Second).Format(time.RFC3339))
}

// send writes a whole JSON body.
func (x *exchange) send(status int, body []byte) {
	h := x.w.Header()
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/json")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.head(status)
	_, _ = x.w.Write(body) // a client that left is counted where the answer waits for it
}

// head writes the status line and counts it.
func (x *exchange) head(status int) {
	x.visit.answered(status)
	x.w.WriteHeader(status)
}

func (x *exchange) refuse(p *problem) {
	x.send(p.status, x.v.wire.problem(p, x.requestID()))
}

// countTokens answers a request to count a prompt.
func (x *exchange) countTokens(c *call) {
	if p := x.v.check(c); p != nil {
		x.refuse(p)
		return
	}
	x.send(http.StatusOK, fmt.Appendf(nil, `{"input_tokens":%d}`, c.promptTokens()))
}

// verbatim sends the step's body as it is, an event stream in the step's pieces.
func (x *exchange) verbatim() {
	s := &x.step
	status := cmp.Or(s.Status, http.StatusOK)
	if !strings.HasPrefix(x.w.Header().Get("Content-Type"), "text/event-stream") {
		x.send(status, []byte(s.Body))
		return
	}
	x.head(status)
	out := x.eventWriter()
	if out.write([]byte(s.Body)) {
		x.finish(nil, out)
	}
}

// whole sends a JSON answer, after as long as the same answer would stream.
func (x *exchange) whole(a *answer) {
	wait := x.firstContent()
	for i := range a.chunks {
		wait += x.gap(i)
	}
	if !x.sleep(wait) {
		return
	}
	body := x.v.wire.whole(a)
	switch x.step.End {
	case EndErrorEvent:
		body = x.v.wire.problem(x.eventProblem(), x.requestID())
	case EndSilent:
		body = body[:len(body)/2]
	case EndCut, EndStall:
		x.half(body)
		return
	}
	x.send(http.StatusOK, body)
}

// half sends half of a body that was announced whole.
func (x *exchange) half(body []byte) {
	x.w.Header().Set("Content-Type", "application/json")
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.head(http.StatusOK)
	if _, err := x.w.Write(body[:len(body)/2]); err != nil {
		x.v.ledger.gone.Add(1)
		return
	}
	x.finish(nil, x.eventWriter())
}

// sleep waits; false when the client left meanwhile.
func (x *exchange) sleep(d time.Duration) bool {
	if d <= 0 && x.ctx.Err() == nil {
		return true
	}
	if x.v.cfg.Clock.Sleep(x.ctx, d) != nil {
		x.v.ledger.gone.Add(1)
		return false
	}
	return true
}

// hang waits for the client to leave.
func (x *exchange) hang() {
	<-x.ctx.Done()
	x.v.ledger.gone.Add(1)
}

// The request's first content takes delay, up to the status line, and
// firstContent after it: a third and the rest of the model's time.

func (x *exchange) delay() time.Duration {
	if x.step.Delay != 0 {
		return x.step.Delay
	}
	return x.modelTime() / 3
}

func (x *exchange) firstContent() time.Duration {
	if x.step.FirstContent != 0 {
		return x.step.FirstContent
	}
	return x.modelTime() - x.modelTime()/3
}

func (x *exchange) modelTime() time.Duration {
	return vary(x.pace.FirstContent, 0.8, 1.3, x.v.draw(x.req.Number, drawFirst))
}

// gap is the time before chunk i; the first one has had its time.
func (x *exchange) gap(i int) time.Duration {
	if i == 0 {
		return 0
	}
	if x.step.Gap != 0 {
		return max(x.step.Gap, 0)
	}
	return vary(x.pace.PerChunk, 0.6, 1.6, x.v.draw(x.req.Number, drawChunk+i))
}

// vary scales d to somewhere between lo and hi.
func vary(d time.Duration, lo, hi, at float64) time.Duration {
	return time.Duration(float64(d) * (lo + (hi-lo)*at))
}
