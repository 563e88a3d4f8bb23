package translate

import (
	"fmt"

	"github.com/spillway-llm/spillway/core/wire/body"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// messagesField is the fate of a field of a Messages request (wire.md 3.1).
func messagesField(name string) fate {
	switch name {
	case "messages", "system", "max_tokens", "stop_sequences", "temperature", "top_p", "stream", "metadata",
		"thinking", "output_config", "tools":
		return carried
	case "model":
		return silent
	case "cache_control", "top_k", "service_tier", "speed", "diagnostics", "betas":
		return dropped
	default:
		return unknown
	}
}

// messageField is the fate of a field of a message, in both forms' plain text.
func messageField(name string) fate {
	if name == "role" || name == "content" {
		return carried
	}
	return unknown
}

// messagesBlockField is the fate of a field of an Anthropic text block.
func messagesBlockField(name string) fate {
	switch name {
	case "text":
		return carried
	case "type":
		return silent
	case "cache_control", "citations":
		return dropped
	default:
		return unknown
	}
}

// toOpenAI writes a Messages request as a Chat Completions request.
func (d *draft) toOpenAI(doc []byte) {
	f := d.read(doc, "", messagesField)
	d.plainMessages(f)
	if d.err != nil {
		return
	}
	d.out = append(d.out, '{')
	d.field("model", quote.Append(nil, d.target.Model))
	d.field("messages", nil)
	d.openAIMessages(f)
	limit := "max_completion_tokens"
	if d.target.Labels["max_tokens_field"] == "max_tokens" {
		limit = "max_tokens"
	}
	d.maxTokens(f["max_tokens"], limit, "max_tokens", false)
	d.stops(f["stop_sequences"], "stop", "stop_sequences", maxStops)
	d.sampling(f, 2, true)
	if v := f["metadata"]; v != nil {
		d.identifier(d.read(v, "metadata.", func(name string) fate {
			if name == "user_id" {
				return carried
			}
			return unknown
		})["user_id"])
	}
	if d.flag(f, "stream") {
		d.field("stream", []byte("true"))
		d.field("stream_options", []byte(`{"include_usage":true}`))
	}
	d.out = append(d.out, '}')
}

// plainMessages blocks at what makes a Messages request more than plain text.
func (d *draft) plainMessages(f fields) {
	if v := f["tools"]; v != nil && (kind(v) != "array" || body.Filled(v)) {
		d.block("tools")
	}
	if v := f["thinking"]; v != nil {
		if typ := walk.Get(v, "type"); string(typ) != `"disabled"` {
			d.block("thinking.type=" + label(walk.Bytes(typ)))
		}
		d.drop("thinking", "thinking")
	}
	if v := f["output_config"]; v != nil {
		d.read(v, "output_config.", func(name string) fate {
			if name == "effort" {
				return dropped
			}
			return unknown
		})
	}
}

func (d *draft) openAIMessages(f fields) {
	d.out = append(d.out, '[')
	if sys := d.texts(f["system"], "system", messagesBlockField); len(sys) > 0 {
		d.out = appendMessage(d.out, "system", sys)
	}
	w := walk.New(f["messages"])
	w.Enter()
	role, path := "", ""
	for i := 0; w.Element() && d.err == nil; i++ {
		path = fmt.Sprintf("messages[%d]", i)
		m := d.read(w.Value(), path+".", messageField)
		role = string(walk.Bytes(m["role"]))
		if role != "user" && role != "assistant" && (role != "system" || i == 0) {
			d.block(path + ".role=" + label([]byte(role)))
		}
		d.out = appendMessage(d.out, role, d.texts(m["content"], path+".content", messagesBlockField))
	}
	d.noPrefill(role, path)
	d.out = append(d.out, ']')
}

// noPrefill blocks a conversation that ends with the assistant's words: one
// vendor goes on from them, where the model can, the other begins a new turn.
func (d *draft) noPrefill(role, path string) {
	if role == "assistant" {
		d.block(path + ".role=assistant")
	}
}
