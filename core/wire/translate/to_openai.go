package translate

import (
	"slices"
	"strings"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// messagesField is the fate of a field of a Messages request (wire.md 3.1).
func messagesField(name string) fate {
	switch name {
	case "messages", "system", "max_tokens", "stop_sequences", "temperature", "top_p", "top_k", "stream", "metadata",
		"thinking", "output_config", "output_format", "tools", "tool_choice", "context_management":
		return carried
	case "model":
		return silent
	case "cache_control", "service_tier", "speed", "diagnostics", "betas":
		return dropped
	default:
		return unknown
	}
}

// toOpenAI writes a Messages request as a Chat Completions request.
func (d *draft) toOpenAI(doc []byte) {
	f := d.read(doc, "", messagesField)
	p := &d.target.Profile
	config := fields{}
	if v := f.get("output_config"); v != nil {
		config = d.read(v, "output_config.", only("effort", "format"))
	}
	d.out = append(d.out, '{')
	d.field("model", quote.Append(nil, d.target.Model))
	d.field("messages", d.chatMessages(f))
	limit := p.MaxTokensField
	if limit == "" {
		limit = "max_completion_tokens"
	}
	d.maxTokens(f.get("max_tokens"), limit, "max_tokens", false)
	if v := f.get("stop_sequences"); v != nil {
		n := len(d.out)
		if d.stops(v, "stop", "stop_sequences", maxStops); len(d.out) > n {
			d.warn("stop_sequences carried as stop: which of them ended an answer is not told")
		}
	}
	tools := d.chatTools(f.get("tools"), f.get("tool_choice"))
	d.chatFormat(config.get("format"), f.get("output_format"))
	effort := d.reasoningEffort(d.thinking(f.get("thinking"), config.get("effort")), tools)
	d.chatSampling(f, effort)
	d.noContextEdits(f.get("context_management"))
	d.safetyIdentifier(f.get("metadata"))
	if d.flag(f, "stream", "") {
		d.field("stream", []byte("true"))
		if !d.refuses("stream_options") {
			d.field("stream_options", []byte(`{"include_usage":true}`))
		}
	}
	d.out = append(d.out, '}')
}

// chatSampling writes temperature, top_p and top_k.
func (d *draft) chatSampling(f fields, effort string) {
	mode := d.target.Traits.Sampling
	switch mode {
	case core.SamplingDefault:
		mode = core.SamplingBoth
	case core.SamplingUnlessReasoning:
		if mode = core.SamplingNone; effort == "none" {
			mode = core.SamplingBoth
		}
	}
	d.sampling(f, mode, 2)
	v := f.get("top_k")
	_, number := walk.Int(v)
	switch {
	case v == nil:
	case number && slices.Contains(d.target.Profile.Takes, "top_k"):
		d.field("top_k", v)
	default:
		d.drop("top_k", "top_k")
	}
}

// chatFormat writes an output format as response_format.
func (d *draft) chatFormat(format, old []byte) {
	path := "output_config.format"
	if format == nil {
		format, path = old, "output_format"
	}
	if format == nil {
		return
	}
	f := d.read(format, path+".", only("type", "schema"))
	switch typ := walk.Bytes(f.get("type")); {
	case string(typ) != "json_schema":
		d.block(path + ".type=" + label(typ))
		return
	case kind(f.get("schema")) != "object":
		d.block(path + ".schema=" + kind(f.get("schema")))
		return
	case !d.target.Capabilities.JSONSchema || d.refuses("response_format"):
		d.block(path)
		return
	}
	strict := "true"
	if !strictlyOpenAI(f.get("schema"), true) {
		strict = "false"
		d.warn("%s.schema is not enforced: the target enforces closed objects whose properties are all required", path)
	}
	b := append([]byte(`{"type":"json_schema","json_schema":{"name":"response","schema":`), f.get("schema")...)
	d.field("response_format", append(b, `,"strict":`+strict+`}}`...))
}

// noContextEdits drops edits of the context that change nothing; any other would
// give the target another conversation than the caller's.
func (d *draft) noContextEdits(v []byte) {
	if v == nil {
		return
	}
	edits := d.read(v, "context_management.", only("edits")).get("edits")
	if edits != nil {
		d.each(edits, "context_management.edits", func(at string, e []byte) {
			f := d.read(e, at+".", only("type", "keep"))
			keep := walk.Bytes(f.get("keep"))
			if kind(f.get("keep")) == "object" {
				keep = walk.Bytes(walk.Get(f.get("keep"), "type"))
			}
			typ := walk.Bytes(f.get("type"))
			if !strings.HasPrefix(string(typ), "clear_thinking_") || string(keep) != "all" {
				d.block(at + ".type=" + label(typ))
			}
		})
	}
	d.drop("context_management", "context_management")
}
