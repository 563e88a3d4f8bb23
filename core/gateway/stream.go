package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/sse"
	"github.com/spillway-llm/spillway/core/upstream"
	"github.com/spillway-llm/spillway/core/wire"
	"github.com/spillway-llm/spillway/core/wire/translate"
)

// maxHeld bounds the events that are held back before content; vendors send a
// few hundred bytes of them.
const maxHeld = 1 << 20

// pump carries one streamed answer to the caller. Until the first content it
// holds everything back, so that a failure can still fall back (R6.2); after it
// each event leaves as soon as it is complete, those that came together
// together.
type pump struct {
	x        *exchange
	a        *core.Attempt
	ctx      context.Context
	follower wire.Follower
	conv     *translate.Stream // nil when both sides speak the same format
	// dropUsage hides the usage that only the gateway asked for (R25).
	dropUsage bool
	content   bool // the caller may have content
	ended     bool // the end marker was seen
	deltas    int64
}

// cleaner is a follower whose format has chunks that clients take for a failure
// although they are none.
type cleaner interface {
	// Clean appends the data of the event followed last without what is harmful;
	// false when there is nothing to clean.
	Clean(dst, data []byte) ([]byte, bool)
}

// stream passes a streamed answer on.
func (x *exchange) stream(ctx context.Context, a *core.Attempt, res *http.Response) error {
	if !isEventStream(res.Header) {
		return x.noStream(a, res)
	}
	p := pump{x: x, a: a, ctx: ctx, follower: x.followers[a.Provider.Wire]}
	if x.native() {
		p.dropUsage = !x.peek.WantsUsage
	} else {
		p.conv = translate.NewStream(a.Provider.Wire, x.format.Wire(), x.peek.WantsUsage, x.req.Decision.At.Unix(), x.form.names)
	}
	p.follower.Reset()
	x.scanner.Reset()
	x.out = x.out[:0]
	err := p.run(res.Body)
	if p.conv != nil {
		x.form.lost = p.conv.Warnings()
	}
	p.note()
	return err
}

// noStream is a vendor that answers a request for a stream with JSON: an error
// in a 200, or something nobody asked for.
func (x *exchange) noStream(a *core.Attempt, res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if err == nil {
		if _, _, _, e := x.g.format(a.Provider.Wire).Answer(body); e != nil {
			return e
		}
	}
	return badResponse(a, res, errors.New("no event stream, and one was asked for"))
}

// run reads until the upstream's end. It reads on after the end marker, so that
// the connection can be used again.
func (p *pump) run(body io.Reader) error {
	for {
		n, err := body.Read(p.x.read)
		if n > 0 {
			p.a.Progress()
			if e := p.feed(p.x.read[:n]); e != nil {
				return e
			}
		}
		if err != nil {
			return p.finish(err)
		}
	}
}

// feed takes what one read brought.
func (p *pump) feed(chunk []byte) error {
	s := p.x.scanner
	s.Feed(chunk)
	for {
		ev, ok := s.Next()
		if !ok {
			break
		}
		if e := p.take(&ev); e != nil {
			return e
		}
	}
	if err := s.Err(); err != nil {
		return p.broken(err)
	}
	if !p.content && len(p.x.out) > maxHeld {
		return p.broken(errors.New("no content in the first megabyte of events"))
	}
	return p.flush()
}

// take takes one event.
func (p *pump) take(ev *sse.Event) error {
	if p.ended {
		return nil // nothing belongs to an answer after its end
	}
	mark := p.follower.Follow(ev)
	switch mark {
	case wire.MarkError:
		return p.failed(p.follower.Err())
	case wire.MarkPing:
		if !p.content {
			return nil // the keeper's own pings tell the caller enough
		}
	case wire.MarkUsage:
		if p.dropUsage {
			return nil
		}
	}
	p.append(ev)
	if p.conv != nil && p.conv.Err() != nil {
		// Before the commit, so that another target can still answer.
		return p.failed(p.conv.Err())
	}
	switch mark {
	case wire.MarkContent:
		p.deltas++
		p.commit()
	case wire.MarkEnd:
		p.ended = true
		p.commit() // a whole answer, even one without content
	}
	return nil
}

// commit is the point of no return.
func (p *pump) commit() {
	if !p.content {
		p.content = true
		p.a.FirstContent()
	}
}

// append readies an event for the caller.
func (p *pump) append(ev *sse.Event) {
	if p.conv != nil {
		p.x.out = p.conv.Append(p.x.out, ev)
		return
	}
	if c, ok := p.follower.(cleaner); ok {
		if data, dirty := c.Clean(nil, ev.Data); dirty {
			p.x.out = sse.AppendEvent(p.x.out, ev.Name, data)
			return
		}
	}
	if ev.Canonical {
		p.x.out = append(p.x.out, ev.Raw...)
		return
	}
	// Legal, but in a form that some clients can't read (R19).
	p.x.out = sse.AppendEvent(p.x.out, ev.Name, ev.Data)
}

// flush writes what is ready, once there is content.
func (p *pump) flush() error {
	if !p.content || len(p.x.out) == 0 {
		return nil
	}
	err := p.x.reply.events(p.x.out, p.ended)
	p.x.out = kept(p.x.out)
	return p.x.sent(err)
}

// failed ends the stream with a failure; what came before it still belongs to
// the caller.
func (p *pump) failed(e *core.Error) error {
	if err := p.flush(); err != nil {
		return err
	}
	return e
}

// broken ends a stream whose form can't be followed.
func (p *pump) broken(err error) error {
	return p.failed(&core.Error{Op: "read answer of node " + p.a.Node.ID, Kind: core.KindBadResponse, Err: err})
}

// finish takes the upstream's end, proper or not. After the end marker nothing
// can go wrong any more.
func (p *pump) finish(err error) error {
	if !p.ended {
		if !errors.Is(err, io.EOF) {
			return upstream.ReadFailure(p.ctx, p.a.Node.ID, core.KindStreamCut, err)
		}
		if e := p.follower.Err(); e != nil {
			return e
		}
	}
	p.commit()
	if p.conv != nil {
		p.x.out = p.conv.End(p.x.out)
	}
	return p.flush()
}

// note leaves what was seen in the attempt's record. Where the vendor told no
// usage an estimate stands in, marked as one: about a token a delta, and the
// prompt's own estimate. The answer wasn't free (R25).
func (p *pump) note() {
	usage, model, id := p.follower.Seen()
	if !usage.Known && p.content {
		usage.Output, usage.Estimated = max(usage.Output, p.deltas), true
	}
	if usage.Estimated && usage.Prompt() == 0 {
		usage.Input = int64(p.x.peek.InputTokens)
	}
	p.a.Usage, p.a.Model = usage, model
	if p.a.UpstreamID == "" {
		p.a.UpstreamID = id
	}
}
