package stream_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/sse"
	"github.com/spillway-llm/spillway/core/stream"
	"github.com/spillway-llm/spillway/core/wire/anthropic"
	"github.com/spillway-llm/spillway/core/wire/translate"
)

// What comes before content waits for it; what comes together leaves together;
// nothing after the end marker reaches the caller.
func TestPump_Writes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		source stream.Source
		want   []string
	}{
		"held until content":  {source(begin, ping, hello, end), []string{begin + hello, end}},
		"a ping after it":     {source(begin, hello, ping, end), []string{begin + hello, ping, end}},
		"together":            {source(begin + hello + hello + end), []string{begin + hello + hello + end}},
		"cut inside an event": {source(begin+hello[:20], hello[20:]+hello[:9], hello[9:], end), []string{begin + hello, hello, end}},
		"after the end":       {source(begin, hello, end+hello, hello), []string{begin + hello, end}},
		"no content at all":   {source(begin, end), []string{begin + end}},
		"chat":                {chat(chatHello, chatStop, chatUsage, chatDone), []string{chatHello, chatStop, chatUsage, chatDone}},
		"chat without DONE":   {chat(chatHello, chatStop), []string{chatHello, chatStop}},
		"CR and no space":     {source(strings.NewReplacer("\n", "\r\n", ": ", ":").Replace(begin + hello + end)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &caller{}
			_, a, err := run(tt.source, c)
			if err != nil {
				t.Fatal(err)
			}
			if tt.want != nil && !slices.Equal(c.writes, tt.want) {
				t.Errorf("wrote %q, want %q", c.writes, tt.want)
			}
			if tt.want == nil && c.text() != begin+hello+end {
				t.Errorf("wrote %q, want the common form", c.text())
			}
			if a.content != 1 || a.progress == 0 || c.early || c.afterEnd {
				t.Errorf("told %+v, early %v, after the end %v", a, c.early, c.afterEnd)
			}
		})
	}
}

// A failure before content reaches nobody, so that another target can answer; one
// after it keeps what came before.
func TestPump_Fails(t *testing.T) {
	t.Parallel()
	reset := errors.New("connection reset")
	cut := func(s stream.Source) stream.Source { s.Body.(*parts).end = reset; return s }
	for name, tt := range map[string]struct {
		source stream.Source
		kind   core.Kind
		cause  error
		want   string
	}{
		"error before content":   {source(begin, overloaded), core.KindOverloaded, nil, ""},
		"error after content":    {source(begin, hello, overloaded), core.KindOverloaded, nil, begin + hello},
		"error with content":     {source(begin + hello + overloaded), core.KindOverloaded, nil, begin + hello},
		"reset before content":   {cut(source(begin)), core.KindStreamCut, reset, ""},
		"reset after content":    {cut(source(begin, hello)), core.KindStreamCut, reset, begin + hello},
		"quiet end":              {source(begin, hello), core.KindStreamCut, nil, begin + hello},
		"quiet end, nothing":     {source(), core.KindStreamCut, nil, ""},
		"half an event":          {source(begin, hello, end[:30]), core.KindStreamCut, nil, begin + hello},
		"chat cut":               {chat(chatHello), core.KindStreamCut, nil, chatHello},
		"DONE without an end":    {chat(chatHello, chatDone), core.KindStreamCut, nil, chatHello},
		"no JSON":                {chat(chatHello, "data: {\n\n"), core.KindBadResponse, nil, chatHello},
		"an event too long":      {source(begin, hello, "data: "+strings.Repeat("x", 1<<17)), core.KindBadResponse, sse.ErrTooLarge, begin + hello},
		"a megabyte, no content": {source(strings.Repeat(begin, 6000)), core.KindBadResponse, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &caller{}
			_, a, err := run(tt.source, c)
			var e *core.Error
			if !errors.As(err, &e) || e.Kind != tt.kind || tt.cause != nil && !errors.Is(err, tt.cause) {
				t.Fatalf("%v, want %v because of %v", err, tt.kind, tt.cause)
			}
			if c.text() != tt.want || c.last {
				t.Errorf("wrote %q, last %v, want %q", c.text(), c.last, tt.want)
			}
			if (a.content == 1) != (tt.want != "") {
				t.Errorf("told %+v", a)
			}
		})
	}
}

// After the end marker nothing can go wrong any more.
func TestPump_ResetAfterTheEnd(t *testing.T) {
	t.Parallel()
	s := source(begin, hello, end)
	s.Body.(*parts).end = errors.New("connection reset")
	c := &caller{}
	if _, _, err := run(s, c); err != nil || !c.last {
		t.Errorf("%v, last %v", err, c.last)
	}
}

func TestPump_CallerLeaves(t *testing.T) {
	t.Parallel()
	gone := errors.New("broken pipe")
	s := source(begin, hello, hello, end)
	c := &caller{leaves: gone}
	_, _, err := run(s, c)
	if core.KindOf(err) != core.KindCallerGone || !errors.Is(err, gone) || len(c.writes) != 1 {
		t.Errorf("%v after %d writes", err, len(c.writes))
	}
	if len(s.Body.(*parts).left) == 0 {
		t.Error("the upstream was read on for a caller that is gone")
	}
	c = &caller{leaves: gone}
	if _, _, err := run(source(begin+hello+overloaded), c); core.KindOf(err) != core.KindCallerGone {
		t.Errorf("with a failure beside it: %v", err)
	}
}

// The caller's form is another one: every event goes through the converter, and
// what it can't carry fails before the commit.
func TestPump_Converts(t *testing.T) {
	t.Parallel()
	convert := func(s stream.Source) stream.Source {
		s.Converter = translate.NewStream(core.WireAnthropic, core.WireOpenAI, true, 7, nil)
		return s
	}
	c := &caller{}
	if _, _, err := run(convert(source(begin, ping, hello, end)), c); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"content":"Hello"`, `"finish_reason":"stop"`, `"completion_tokens":5`, "data: [DONE]\n\n"} {
		if strings.Count(c.text(), part) != 1 {
			t.Errorf("%q is not once in %q", part, c.text())
		}
	}
	tool := "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"server_tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}}\n\n"
	c = &caller{}
	_, a, err := run(convert(source(begin, tool, end)), c)
	if core.KindOf(err) != core.KindBadResponse || a.content != 0 || len(c.writes) != 0 {
		t.Errorf("a tool of the vendor: %v, %+v, wrote %q", err, a, c.writes)
	}
	if _, _, err := run(convert(source(begin, hello)), &caller{}); core.KindOf(err) != core.KindStreamCut {
		t.Errorf("a cut: %v", err)
	}
}

// An error field that means no error would end official clients.
func TestPump_CleansHarmlessErrors(t *testing.T) {
	t.Parallel()
	c := &caller{}
	dirty := strings.Replace(chatHello, `"id"`, `"error":null,"id"`, 1)
	if _, _, err := run(chat(dirty, chatStop, chatDone), c); err != nil || c.writes[0] != chatHello {
		t.Errorf("%v, wrote %q", err, c.writes)
	}
}

func TestPump_DropsUsage(t *testing.T) {
	t.Parallel()
	s := chat(chatHello, chatStop, chatUsage, chatDone)
	s.DropUsage = true
	c := &caller{}
	p, _, err := run(s, c)
	if err != nil || c.text() != chatHello+chatStop+chatDone {
		t.Errorf("%v, wrote %q", err, c.text())
	}
	if u, model, id := p.Seen(0); u.Output != 5 || u.Input != 12 || !u.Known || model != "m-1" || id != "c-1" {
		t.Errorf("saw %+v of %q %q, although the caller doesn't", u, model, id)
	}
}

// A stream without usage was not free (R25).
func TestPump_EstimatesUsage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		source               stream.Source
		input, output        int64
		known, estimated, ok bool
	}{
		"told":         {source(begin, hello, end), 12, 5, true, false, true},
		"cut":          {source(begin, hello), 12, 2, true, true, false},
		"chat, told":   {chat(chatHello, chatStop, chatUsage, chatDone), 12, 5, true, false, true},
		"chat, silent": {chat(chatHello, chatHello, chatStop, chatDone), 40, 2, false, true, true},
		"nothing came": {chat(), 0, 0, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _, err := run(tt.source, &caller{})
			u, _, _ := p.Seen(40)
			if (err == nil) != tt.ok || u.Input != tt.input || u.Output != tt.output || u.Known != tt.known || u.Estimated != tt.estimated {
				t.Errorf("%v, saw %+v, want %+v", err, u, tt)
			}
		})
	}
}

// A pump that failed carries the next answer as if it were new.
func TestPump_UsedAgain(t *testing.T) {
	t.Parallel()
	p := stream.NewPump(1 << 16)
	for _, broken := range []stream.Source{source(begin, hello[:30]), source(begin, overloaded), source("data: " + strings.Repeat("x", 1<<17))} {
		a := &attempt{}
		if err := p.Run(broken, a, &caller{attempt: a}); err == nil {
			t.Fatal("no failure")
		}
		p.Release()
		a = &attempt{}
		c := &caller{attempt: a}
		if err := p.Run(source(begin, hello, end), a, c); err != nil || c.text() != begin+hello+end {
			t.Errorf("%v, wrote %q", err, c.text())
		}
	}
}

// TestPump_Allocations holds that no event costs an allocation: a long answer has
// thousands.
func TestPump_Allocations(t *testing.T) {
	f := anthropic.New().NewFollower()
	p, a := stream.NewPump(1<<16), &attempt{}
	c := discard{}
	long := begin + strings.Repeat(hello, 500) + end
	body := strings.NewReader(long)
	const perStream = 4 // the names in the follower
	if got := testing.AllocsPerRun(50, func() {
		body.Reset(long)
		if err := p.Run(stream.Source{Body: body, Follower: f}, a, c); err != nil {
			t.Fatal(err)
		}
	}); got > perStream {
		t.Errorf("%v allocations for 500 events, at most %d for the stream", got, perStream)
	}
}

type discard struct{}

func (discard) Events([]byte, bool) error { return nil }

// FuzzPump holds for any bytes of a vendor's: how they were cut into reads makes
// no difference, nothing reaches the caller before the commit, and an answer is
// whole only with its end.
func FuzzPump(f *testing.F) {
	for _, s := range []string{begin + hello + end, begin + ping + overloaded, begin + hello, "", ": c\n\n", "data: [DONE]\n\n", hello + end + end} {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		size = max(1, size)
		whole, cut := &caller{}, &caller{}
		_, a, err := run(source(text), whole)
		_, _, err2 := run(stream.Source{
			Body: chopped{strings.NewReader(text), size}, Node: "n1", Follower: anthropic.New().NewFollower(),
		}, cut)
		if whole.text() != cut.text() || core.KindOf(err) != core.KindOf(err2) {
			t.Errorf("in one read %q %v, in reads of %d %q %v", whole.text(), err, size, cut.text(), err2)
		}
		if whole.early || cut.early || a.content > 1 {
			t.Error("events before the commit, or two commits")
		}
		if err == nil && !strings.Contains(whole.text(), "message_stop") {
			t.Errorf("a clean end without its marker: %q", whole.text())
		}
	})
}

// chopped reads in pieces.
type chopped struct {
	r    io.Reader
	size int
}

func (c chopped) Read(p []byte) (int, error) { return c.r.Read(p[:min(len(p), c.size)]) }
