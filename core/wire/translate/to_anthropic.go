package translate

import (
	"fmt"

	"github.com/spillway-llm/spillway/core/wire/body"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// chatField is the fate of a field of a Chat Completions request (wire.md 3.2).
func chatField(name string) fate {
	switch name {
	case "messages", "max_tokens", "max_completion_tokens", "stop", "temperature", "top_p", "stream", "safety_identifier",
		"user", "n", "logprobs", "top_logprobs", "tools", "functions", "response_format", "reasoning_effort", "modalities":
		return carried
	case "model", "stream_options":
		return silent
	case "frequency_penalty", "presence_penalty", "logit_bias", "seed", "verbosity", "prediction", "store", "metadata",
		"moderation", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "service_tier",
		"parallel_tool_calls":
		return dropped
	default:
		return unknown
	}
}

// chatMessageField is the fate of a field of a Chat Completions message.
func chatMessageField(name string) fate {
	switch name {
	case "role", "content", "refusal", "tool_calls", "function_call", "audio":
		return carried
	case "name", "annotations", "reasoning", "reasoning_content", "reasoning_details":
		return dropped
	default:
		return unknown
	}
}

// chatPartField is the fate of a field of a text part.
func chatPartField(name string) fate {
	switch name {
	case "text":
		return carried
	case "type":
		return silent
	case "prompt_cache_breakpoint":
		return dropped
	default:
		return unknown
	}
}

// toAnthropic writes a Chat Completions request as a Messages request.
func (d *draft) toAnthropic(doc []byte) {
	f := d.read(doc, "", chatField)
	d.plainChat(f)
	c := d.conversation(f["messages"])
	if d.err != nil {
		return
	}
	d.out = append(d.out, '{')
	d.field("model", quote.Append(nil, d.target.Model))
	limit, name := f["max_completion_tokens"], "max_completion_tokens"
	if limit == nil && f["max_tokens"] != nil {
		limit, name = f["max_tokens"], "max_tokens"
	}
	d.maxTokens(limit, "max_tokens", name, true)
	if len(c.system) > 0 {
		d.field("system", appendContent(nil, c.system))
	}
	d.field("messages", append(c.messages, ']'))
	d.stops(f["stop"], "stop_sequences", "stop", 0)
	d.sampling(f, 1, false)
	d.userID(f)
	if d.flag(f, "stream") {
		d.field("stream", []byte("true"))
	}
	d.out = append(d.out, '}')
}

func (d *draft) userID(f fields) {
	for _, name := range []string{"safety_identifier", "user"} {
		id := f[name]
		if id == nil {
			continue
		}
		if !walk.IsString(id) {
			d.block(name + "=" + kind(id))
			return
		}
		d.field("metadata", append(append([]byte(`{"user_id":`), id...), '}'))
		return
	}
}

// plainChat blocks at what makes a Chat Completions request more than plain
// text. A value that asks for nothing special is as good as none.
func (d *draft) plainChat(f fields) {
	for _, name := range []string{"tools", "functions"} {
		if v := f[name]; v != nil && (kind(v) != "array" || body.Filled(v)) {
			d.block(name)
		}
	}
	for _, x := range [][2]string{{"n", "1"}, {"logprobs", "false"}, {"top_logprobs", "0"}, {"modalities", `["text"]`}} {
		if v := f[x[0]]; v != nil && string(v) != x[1] {
			d.block(x[0] + "=" + label(v))
		}
	}
	if v := f["response_format"]; v != nil {
		if typ := walk.Get(v, "type"); string(typ) != `"text"` {
			d.block("response_format.type=" + label(walk.Bytes(typ)))
		}
	}
	if v := f["reasoning_effort"]; v != nil {
		if string(v) != `"none"` {
			d.block("reasoning_effort=" + label(walk.Bytes(v)))
		}
		d.drop("reasoning_effort", "reasoning_effort")
	}
}

// conversation is a chat taken apart: this vendor has its system prompt outside.
type conversation struct {
	system   texts
	messages []byte // an open array
}

func (d *draft) conversation(messages []byte) conversation {
	c := conversation{messages: []byte{'['}}
	w := walk.New(messages)
	w.Enter()
	role, path := "", ""
	for i := 0; w.Element() && d.err == nil; i++ {
		path = fmt.Sprintf("messages[%d]", i)
		m := d.read(w.Value(), path+".", chatMessageField)
		role = string(walk.Bytes(m["role"]))
		d.plainMessage(m, path)
		t := d.texts(m["content"], path+".content", chatPartField)
		switch role {
		case "system", "developer":
			if len(c.messages) > 1 && len(t) > 0 {
				d.warn("%s moved to the system prompt", path)
			}
			c.system = append(c.system, t...)
		case "user", "assistant":
			if len(t) > 0 {
				c.messages = appendMessage(c.messages, role, t)
			}
		default:
			d.block(path + ".role=" + label([]byte(role)))
		}
	}
	d.noPrefill(role, path)
	if len(c.messages) == 1 {
		d.block("messages") // all of them are empty
	}
	return c
}

func (d *draft) plainMessage(m fields, path string) {
	for _, name := range []string{"refusal", "function_call", "audio"} {
		if m[name] != nil {
			d.block(path + "." + name)
		}
	}
	if v := m["tool_calls"]; v != nil && (kind(v) != "array" || body.Filled(v)) {
		d.block(path + ".tool_calls")
	}
}
