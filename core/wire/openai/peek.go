package openai

import (
	"github.com/spillway-llm/spillway/core/wire"
	"github.com/spillway-llm/spillway/core/wire/body"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// The fields that decisions depend on, each allowed once.
const (
	fieldModel uint = iota
	fieldMessages
	fieldMaxTokens
	fieldMaxCompletionTokens
	fieldStream
	fieldStreamOptions
	fieldTools
	fieldFunctions
	fieldResponseFormat
	fieldReasoningEffort
	fieldSafetyIdentifier
	fieldUser
	fieldInput
)

// Peek looks at a Chat Completions request. The model may be absent: the routing
// policy chooses one then (R2.6). A body with input in place of messages is no
// error but a Responses request on the wrong path, for the gateway to explain.
func (*Format) Peek(doc []byte, p *wire.Peek) error {
	*p = wire.Peek{}
	r := body.NewReader(doc)
	p.Open = r.Open
	prompt := 0
	for name, ok := r.Next(); ok; name, ok = r.Next() {
		prompt += field(&r, doc, name, p)
	}
	if err := r.Done(); err != nil {
		return err
	}
	if !r.Has(fieldMessages) {
		p.Responses = r.Has(fieldInput)
		if !p.Responses {
			r.Fail("The field \"messages\" is missing. Send the conversation as an array of messages.")
		}
	}
	p.WantsUsage = p.WantsUsage && p.Stream
	p.InputTokens = (prompt + 3) / 4
	return r.Done()
}

// field reads one field and returns how many bytes of prompt it holds.
func field(r *body.Reader, doc, name []byte, p *wire.Peek) (prompt int) {
	switch string(name) {
	case "model":
		r.Once(fieldModel, "model")
		text, span := r.Text("model")
		p.Model, p.ModelSpan = string(text), span
	case "messages":
		r.Once(fieldMessages, "messages")
		m := r.Messages(doc, "image_url", "file", "input_audio")
		p.Prefix = [2][]byte{m.System, m.First}
		p.Needs.Images, p.Needs.Documents = m.Types[0], m.Types[1] || m.Types[2]
		p.Needs.Prefill = string(m.LastRole) == "assistant"
		return len(m.All)
	case "max_tokens":
		r.Once(fieldMaxTokens, "max_tokens")
		p.MaxTokens = max(p.MaxTokens, r.Count("max_tokens", 1))
	case "max_completion_tokens":
		r.Once(fieldMaxCompletionTokens, "max_completion_tokens")
		p.MaxTokens = max(p.MaxTokens, r.Count("max_completion_tokens", 1))
	case "stream":
		r.Once(fieldStream, "stream")
		p.Stream = r.Bool("stream")
	case "stream_options":
		r.Once(fieldStreamOptions, "stream_options")
		streamOptions(r, p)
	case "tools":
		r.Once(fieldTools, "tools")
		return tools(r, "tools", p)
	case "functions":
		r.Once(fieldFunctions, "functions")
		return tools(r, "functions", p)
	case "input":
		r.Once(fieldInput, "input")
		r.Skip()
	default:
		need(r, name, p)
	}
	return 0
}

func tools(r *body.Reader, name string, p *wire.Peek) (prompt int) {
	v := r.Array(name)
	p.Needs.Tools = p.Needs.Tools || body.Filled(v)
	return len(v)
}

func streamOptions(r *body.Reader, p *wire.Peek) {
	start := r.Pos()
	v := r.Object("stream_options")
	p.StreamOptionsSpan = [2]int{start, r.Pos()}
	p.WantsUsage = string(walk.Get(v, "include_usage")) == "true"
}

// need reads the fields that only say what a target must be able to do, or who
// is asking.
func need(r *body.Reader, name []byte, p *wire.Peek) {
	switch string(name) {
	case "response_format":
		r.Once(fieldResponseFormat, "response_format")
		switch string(walk.Get(r.Object("response_format"), "type")) {
		case `"json_schema"`, `"json_object"`:
			p.Needs.JSONSchema = true
		}
	case "reasoning_effort":
		r.Once(fieldReasoningEffort, "reasoning_effort")
		text, _ := r.Text("reasoning_effort")
		p.Needs.Thinking = len(text) > 0 && string(text) != "none"
	case "safety_identifier":
		r.Once(fieldSafetyIdentifier, "safety_identifier")
		if text, _ := r.Text("safety_identifier"); len(text) > 0 {
			p.User = text
		}
	case "user":
		r.Once(fieldUser, "user")
		if text, _ := r.Text("user"); len(p.User) == 0 {
			p.User = text // safety_identifier replaces it, in whichever order they come
		}
	default:
		r.Skip()
	}
}
