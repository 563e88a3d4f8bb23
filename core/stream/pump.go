package stream

import (
	"errors"
	"io"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/core/sse"
	"github.com/spillway-llm/spillway/core/wire"
)

// readSize is how much of an upstream stream is read at a time.
const readSize = 8 << 10

// maxHeld bounds the events that are held back before content; vendors send a
// few hundred bytes of them.
const maxHeld = 1 << 20

// keepBuffer is the largest buffer that is used again: above it one large event
// would pin its memory for all later small ones.
const keepBuffer = 64 << 10

// Attempt hears how far the answer has come; [core.Attempt] is one.
type Attempt interface {
	// FirstContent is the commit point, told before the caller sees content.
	FirstContent()
	// Progress is told whenever bytes arrive.
	Progress()
}

// Caller takes the answer's events.
type Caller interface {
	// Events takes whole events, in the caller's form and never empty; last says
	// that the answer's end marker is among them. It must not keep b. An error
	// means that the caller is gone.
	Events(b []byte, last bool) error
}

// Converter puts the vendor's events into the caller's form.
type Converter interface {
	// Append appends what one event becomes, which may be nothing.
	Append(dst []byte, ev *sse.Event) []byte
	// End appends what still follows once the answer came to its proper end.
	End(dst []byte) []byte
	// Err is why the answer can't be carried on, nil while it can.
	Err() *core.Error
}

// Source is one streamed answer.
type Source struct {
	Body io.Reader
	// Node names the vendor's node in errors.
	Node string
	// Follower follows the vendor's format; the pump resets it.
	Follower wire.Follower
	// Converter is nil when vendor and caller speak the same format.
	Converter Converter
	// DropUsage hides the usage that the caller did not ask for (R25).
	DropUsage bool
}

// Pump carries streamed answers, one at a time. Until the first content it holds
// everything back, so that a failure can still fall back (R6.2); after it each
// event leaves as soon as it is complete, those that came together together.
// Once it runs it allocates nothing per event. It is not safe for concurrent use.
type Pump struct {
	scanner *sse.Scanner
	read    []byte // one read of the upstream's
	out     []byte // events not yet passed on
	// event is the one that is looked at: a field, because a variable would be
	// allocated for each event.
	event sse.Event

	source  Source
	attempt Attempt
	caller  Caller
	content bool // the caller may have content
	ended   bool // the end marker was seen
	deltas  int64
}

// NewPump returns a pump for events of up to maxEvent bytes.
func NewPump(maxEvent int) *Pump {
	return &Pump{scanner: sse.NewScanner(maxEvent), read: make([]byte, readSize)}
}

// Run carries one answer and returns at the upstream's end: nil for a whole
// answer, a [*core.Error] otherwise. An end that comes before the end marker is
// a KindStreamCut whatever its reason: who ended the context knows better.
func (p *Pump) Run(s Source, a Attempt, c Caller) error {
	p.source, p.attempt, p.caller = s, a, c
	p.content, p.ended, p.deltas = false, false, 0
	p.out = p.out[:0]
	p.scanner.Reset()
	s.Follower.Reset()
	err := p.carry()
	p.event = sse.Event{}
	return err
}

// Seen returns what the last answer said of itself. Where the vendor told no
// usage an estimate stands in, marked as one: about a token a delta, and prompt
// tokens for the input. The answer wasn't free (R25).
func (p *Pump) Seen(prompt int) (usage price.Usage, model, id string) {
	usage, model, id = p.source.Follower.Seen()
	if !usage.Known && p.content {
		usage.Output, usage.Estimated = max(usage.Output, p.deltas), true
	}
	if usage.Estimated && usage.Prompt() == 0 {
		usage.Input = int64(prompt)
	}
	return usage, model, id
}

// Release drops what the pump points to, for a pump that is kept.
func (p *Pump) Release() {
	p.source, p.attempt, p.caller = Source{}, nil, nil
	p.out = kept(p.out)
}

func kept(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}

// carry reads until the upstream's end. It reads on after the end marker, so
// that the connection can be used again.
func (p *Pump) carry() error {
	for {
		n, err := p.source.Body.Read(p.read)
		if n > 0 {
			p.attempt.Progress()
			if e := p.feed(p.read[:n]); e != nil {
				return e
			}
		}
		if err != nil {
			return p.finish(err)
		}
	}
}

// feed takes what one read brought.
func (p *Pump) feed(chunk []byte) error {
	p.scanner.Feed(chunk)
	for {
		var ok bool
		if p.event, ok = p.scanner.Next(); !ok {
			break
		}
		if e := p.take(&p.event); e != nil {
			return e
		}
	}
	if err := p.scanner.Err(); err != nil {
		return p.broken(err)
	}
	if !p.content && len(p.out) > maxHeld {
		return p.broken(errors.New("no content in the first megabyte of events"))
	}
	return p.flush()
}

// take takes one event.
func (p *Pump) take(ev *sse.Event) error {
	if p.ended {
		return nil // nothing belongs to an answer after its end
	}
	mark := p.source.Follower.Follow(ev)
	switch mark {
	case wire.MarkError:
		return p.failed(p.source.Follower.Err())
	case wire.MarkPing:
		if !p.content {
			return nil // who waits for the answer gives its own signs of life
		}
	case wire.MarkUsage:
		if p.source.DropUsage {
			return nil
		}
	}
	p.append(ev)
	if c := p.source.Converter; c != nil && c.Err() != nil {
		// Before the commit, so that another target can still answer.
		return p.failed(c.Err())
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
func (p *Pump) commit() {
	if !p.content {
		p.content = true
		p.attempt.FirstContent()
	}
}

// cleaner is a follower whose format has chunks that clients take for a failure
// although they are none.
type cleaner interface {
	// Clean appends the data of the event followed last without what is harmful;
	// false when there is nothing to clean.
	Clean(dst, data []byte) ([]byte, bool)
}

// append readies an event for the caller.
func (p *Pump) append(ev *sse.Event) {
	if p.source.Converter != nil {
		p.out = p.source.Converter.Append(p.out, ev)
		return
	}
	if c, ok := p.source.Follower.(cleaner); ok {
		if data, dirty := c.Clean(nil, ev.Data); dirty {
			p.out = sse.AppendEvent(p.out, ev.Name, data)
			return
		}
	}
	if ev.Canonical {
		p.out = append(p.out, ev.Raw...)
		return
	}
	// Legal, but in a form that some clients can't read (R19).
	p.out = sse.AppendEvent(p.out, ev.Name, ev.Data)
}

// flush passes on what is ready, once there is content.
func (p *Pump) flush() error {
	if !p.content || len(p.out) == 0 {
		return nil
	}
	err := p.caller.Events(p.out, p.ended)
	p.out = kept(p.out)
	if err != nil {
		return &core.Error{Op: "write answer", Kind: core.KindCallerGone, Err: err}
	}
	return nil
}

// failed ends the stream with a failure; what came before it still belongs to
// the caller.
func (p *Pump) failed(e *core.Error) error {
	if err := p.flush(); err != nil {
		return err
	}
	return e
}

// broken ends a stream whose form can't be followed.
func (p *Pump) broken(err error) error {
	return p.failed(p.failure(core.KindBadResponse, err))
}

func (p *Pump) failure(k core.Kind, err error) *core.Error {
	return &core.Error{Op: "read answer of node " + p.source.Node, Kind: k, Err: err}
}

// finish takes the upstream's end, proper or not. After the end marker nothing
// can go wrong any more.
func (p *Pump) finish(err error) error {
	if !p.ended {
		if !errors.Is(err, io.EOF) {
			return p.failure(core.KindStreamCut, err)
		}
		if e := p.source.Follower.Err(); e != nil {
			return e
		}
	}
	p.commit()
	if p.source.Converter != nil {
		p.out = p.source.Converter.End(p.out)
	}
	return p.flush()
}
