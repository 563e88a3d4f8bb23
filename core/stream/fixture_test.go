package stream_test

import (
	"io"
	"strings"

	"github.com/spillway-llm/spillway/core/stream"
	"github.com/spillway-llm/spillway/core/wire/anthropic"
	"github.com/spillway-llm/spillway/core/wire/openai"
)

// attempt notes what the engine is told.
type attempt struct{ content, progress int }

func (a *attempt) FirstContent() { a.content++ }
func (a *attempt) Progress()     { a.progress++ }

// caller notes what it gets, and may leave.
type caller struct {
	attempt  *attempt
	writes   []string
	last     bool  // the last write had the end marker
	early    bool  // something came before the commit
	leaves   error // what the first write returns
	afterEnd bool
}

func (c *caller) Events(b []byte, last bool) error {
	c.early = c.early || c.attempt.content == 0
	c.afterEnd = c.afterEnd || c.last
	c.writes, c.last = append(c.writes, string(b)), last
	return c.leaves
}

func (c *caller) text() string { return strings.Join(c.writes, "") }

// parts is a body that brings one part a read, and then ends.
type parts struct {
	left []string
	end  error
}

func (p *parts) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, p.end
	}
	n := copy(b, p.left[0])
	if p.left[0] = p.left[0][n:]; p.left[0] == "" {
		p.left = p.left[1:]
	}
	return n, nil
}

// source is a stream in Messages format that ends well after its parts.
func source(part ...string) stream.Source {
	return stream.Source{Body: &parts{part, io.EOF}, Node: "n1", Follower: anthropic.New().NewFollower()}
}

func chat(part ...string) stream.Source {
	s := source(part...)
	s.Follower = openai.New().NewFollower()
	return s
}

// run carries a source with a new pump.
func run(s stream.Source, c *caller) (*stream.Pump, *attempt, error) {
	p, a := stream.NewPump(1<<16), &attempt{}
	c.attempt = a
	return p, a, p.Run(s, a, c)
}

// The parts of a Messages stream.
const (
	begin = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"m-1\",\"usage\":{\"input_tokens\":12,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
	ping  = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
	hello = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n"
	end   = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}\n\n"
)

// The parts of a Chat Completions stream.
const (
	chatHello = `data: {"id":"c-1","model":"m-1","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}` + "\n\n"
	chatStop  = `data: {"id":"c-1","model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	chatUsage = `data: {"id":"c-1","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":5}}` + "\n\n"
	chatDone  = "data: [DONE]\n\n"
)
