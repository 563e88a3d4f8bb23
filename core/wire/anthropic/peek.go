package anthropic

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
	fieldStream
	fieldSystem
	fieldTools
	fieldToolChoice
	fieldThinking
	fieldOutputConfig
	fieldOutputFormat
	fieldMetadata
)

// Peek looks at a Messages request. The model may be absent: the routing policy
// chooses one then (R2.6).
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
		r.Fail("The field \"messages\" is missing. Send the conversation as an array of messages.")
	}
	if !r.Has(fieldMaxTokens) {
		r.Fail("The field \"max_tokens\" is missing. Set it to the most tokens that the answer may have.")
	}
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
		m := r.Messages(doc, "image", "document")
		p.Prefix[1] = m.First
		p.Needs.Images, p.Needs.Documents = m.Types[0], m.Types[1]
		p.Needs.Prefill = string(m.LastRole) == "assistant"
		return len(m.All)
	case "max_tokens":
		r.Once(fieldMaxTokens, "max_tokens")
		p.MaxTokens = r.Count("max_tokens", 0)
	case "stream":
		r.Once(fieldStream, "stream")
		p.Stream = r.Bool("stream")
	case "system":
		r.Once(fieldSystem, "system")
		p.Prefix[0] = system(r)
		return len(p.Prefix[0])
	case "tools":
		r.Once(fieldTools, "tools")
		tools := r.Array("tools")
		p.Needs.Tools = p.Needs.Tools || body.Filled(tools)
		return len(tools)
	default:
		need(r, name, p)
	}
	return 0
}

// need reads the fields that only say what a target must be able to do.
func need(r *body.Reader, name []byte, p *wire.Peek) {
	switch string(name) {
	case "tool_choice":
		r.Once(fieldToolChoice, "tool_choice")
		p.Needs.Tools = r.Object("tool_choice") != nil || p.Needs.Tools
	case "thinking":
		r.Once(fieldThinking, "thinking")
		if v := r.Object("thinking"); v != nil {
			p.Needs.Thinking = string(walk.Get(v, "type")) != `"disabled"`
		}
	case "output_config":
		r.Once(fieldOutputConfig, "output_config")
		format := walk.Get(r.Object("output_config"), "format")
		p.Needs.JSONSchema = p.Needs.JSONSchema || format != nil && !walk.IsNull(format)
	case "output_format":
		r.Once(fieldOutputFormat, "output_format")
		p.Needs.JSONSchema = r.Object("output_format") != nil || p.Needs.JSONSchema
	case "metadata":
		r.Once(fieldMetadata, "metadata")
		if id := walk.Get(r.Object("metadata"), "user_id"); walk.IsString(id) {
			p.User = walk.Bytes(id)
		}
	default:
		r.Skip()
	}
}

// system reads the system prompt: a text or blocks of it.
func system(r *body.Reader) []byte {
	k := r.Kind()
	v := r.Value()
	switch k {
	case '"', '[':
		return v
	case 'n':
		return nil
	}
	r.Fail("\"system\" must be a string or an array of text blocks. Correct it or leave it out.")
	return nil
}
