package translate

import (
	"strings"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// chatField is the fate of a field of a Chat Completions request (wire.md 3.2).
func chatField(name string) fate {
	switch name {
	case "messages", "max_tokens", "max_completion_tokens", "stop", "temperature", "top_p", "stream", "safety_identifier",
		"user", "n", "logprobs", "top_logprobs", "tools", "functions", "tool_choice", "function_call",
		"parallel_tool_calls", "response_format", "reasoning_effort", "modalities", "service_tier", "store", "logit_bias":
		return carried
	case "model", "stream_options":
		return silent
	case "frequency_penalty", "presence_penalty", "seed", "verbosity", "prediction", "metadata",
		"moderation", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention":
		return dropped
	default:
		return unknown
	}
}

// toAnthropic writes a Chat Completions request as a Messages request.
func (d *draft) toAnthropic(doc []byte) {
	f := d.read(doc, "", chatField)
	d.onlyOneAnswer(f)
	m := d.messages(f.get("messages"))
	d.out = append(d.out, '{')
	d.field("model", quote.Append(nil, d.target.Model))
	limit, name := f.get("max_completion_tokens"), "max_completion_tokens"
	if limit == nil && f.get("max_tokens") != nil {
		limit, name = f.get("max_tokens"), "max_tokens"
	}
	s := situation{limit: d.maxTokens(limit, "max_tokens", name, true), inLoop: m.inLoop}
	if len(m.system) > 0 {
		d.field("system", appendContent(nil, m.system))
	}
	d.field("messages", append(m.out, ']'))
	s.forced = d.messagesTools(f)
	effort, on := d.thinkingFor(f.get("reasoning_effort"), s)
	d.outputConfig(effort, f.get("response_format"))
	d.stops(f.get("stop"), "stop_sequences", "stop", 0)
	mode := d.target.Traits.Sampling
	if mode == core.SamplingDefault || mode == core.SamplingUnlessReasoning || on {
		mode = core.SamplingNone
	}
	d.sampling(f, mode, 1)
	d.userID(f)
	d.tier(f.get("service_tier"))
	if d.flag(f, "stream", "") {
		d.field("stream", []byte("true"))
	}
	d.out = append(d.out, '}')
}

// onlyOneAnswer blocks what asks for more than one answer of text and calls, and
// drops loudly what changes it. A value that asks for nothing special is as good
// as none.
func (d *draft) onlyOneAnswer(f fields) {
	for _, x := range [][2]string{{"n", "1"}, {"logprobs", "false"}, {"top_logprobs", "0"}, {"modalities", `["text"]`}} {
		if v := f.get(x[0]); v != nil && string(compacted(v)) != x[1] {
			d.block(x[0] + "=" + label(v))
		}
	}
	if d.flag(f, "store", "") {
		d.warn("store dropped: the answer is not stored at the vendor")
	}
	if v := f.get("logit_bias"); v != nil && len(compacted(v)) > 2 {
		d.warn("logit_bias dropped: the target weighs tokens as it likes")
	}
}

// outputConfig writes the effort and the output format.
func (d *draft) outputConfig(effort string, format []byte) {
	config := []byte{'{'}
	if effort != "" {
		config = appendField(config, "effort", quote.Append(nil, effort))
	}
	if schema := d.outputSchema(format); schema != nil {
		config = append(appendField(config, "format", nil), `{"type":"json_schema","schema":`...)
		config = append(append(config, schema...), '}')
	}
	if len(config) > 1 {
		d.field("output_config", append(config, '}'))
	}
}

// outputSchema returns the schema that a response_format asks for, nil for none.
// There is no word for JSON of any kind: a free schema would be closed, and force
// an empty object.
func (d *draft) outputSchema(format []byte) []byte {
	if format == nil {
		return nil
	}
	const path = "response_format"
	d.read(format, path+".", only("type", "json_schema"))
	switch typ := walk.Bytes(walk.Get(format, "type")); string(typ) {
	case "text":
		return nil
	case "json_schema":
	default:
		d.block(path + ".type=" + label(typ))
		return nil
	}
	f := d.read(walk.Get(format, "json_schema"), path+".json_schema.", func(name string) fate {
		switch name {
		case "schema", "strict":
			return carried
		case "name":
			return silent
		case "description":
			return dropped
		}
		return unknown
	})
	switch {
	case kind(walk.Get(format, "json_schema")) != "object":
		return nil
	case !d.target.Capabilities.JSONSchema:
		d.block(path + ".json_schema")
		return nil
	case kind(f.get("schema")) != "object":
		d.block(path + ".json_schema.schema=" + kind(f.get("schema")))
		return nil
	}
	schema, s := simplify(f.get("schema"))
	if s.blocker != "" {
		d.block(path + ".json_schema.schema." + s.blocker)
		return nil
	}
	if len(s.moved) > 0 {
		rules := make([]string, len(s.moved))
		for i, r := range s.moved {
			rules[i] = label([]byte(r))
		}
		d.warn("response_format.json_schema.schema: %s moved to descriptions", strings.Join(rules, ", "))
	}
	if s.closed {
		d.warn("response_format.json_schema.schema: objects closed to further properties")
	}
	return schema
}
