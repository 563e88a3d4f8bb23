package translate

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// toolField is the fate of a field of an Anthropic custom tool.
func toolField(name string) fate {
	switch name {
	case "name", "description", "input_schema", "strict", "allowed_callers", "defer_loading":
		return carried
	case "type":
		return silent
	case "cache_control", "input_examples", "eager_input_streaming":
		return dropped
	default:
		return unknown
	}
}

// chatTools writes tool definitions and the choice among them as functions, and
// reports whether there are any.
func (d *draft) chatTools(tools, choice []byte) bool {
	var functions [][]byte
	if tools != nil {
		d.each(tools, "tools", func(at string, tool []byte) {
			if f := d.function(tool, at); f != nil {
				functions = append(functions, f)
			}
		})
	}
	if len(functions) > 0 {
		if !d.target.Capabilities.Tools || d.refuses("tools") {
			d.block("tools")
		}
		d.field("tools", array(functions))
	}
	d.chatChoice(choice, len(functions) > 0)
	return len(functions) > 0
}

// function writes one tool, nil for one that is left out or blocks.
func (d *draft) function(tool []byte, at string) []byte {
	switch typ := string(walk.Bytes(walk.Get(tool, "type"))); {
	case typ == "" || typ == "custom":
	case strings.HasPrefix(typ, "tool_search_tool_"):
		d.change("type", at+".type", "dropped: all tools are declared at once")
		return nil
	default:
		d.block(at + ".type=" + label([]byte(typ)))
		return nil
	}
	f := d.read(tool, at+".", toolField)
	name, schema := d.word(f, "name", at+"."), f.get("input_schema")
	switch {
	case len(name) == 0:
		d.block(at + ".name=" + kind(f.get("name")))
		return nil
	case schema != nil && kind(schema) != "object":
		d.block(at + ".input_schema=" + kind(schema))
		return nil
	}
	d.callers(f.get("allowed_callers"), at)
	if d.flag(f, "defer_loading", at+".") {
		d.drop("defer_loading", at+".defer_loading")
	}
	b := append([]byte(`{"type":"function","function":{"name":`), quote.Append(nil, d.names.fit(string(name), maxToolName))...)
	if v := f.get("description"); walk.IsString(v) {
		b = append(append(b, `,"description":`...), v...)
	}
	b = append(append(b, `,"parameters":`...), objectSchema(schema)...)
	if d.flag(f, "strict", at+".") {
		strict := `,"strict":true`
		if !strictlyOpenAI(schema, true) {
			strict = `,"strict":false`
			d.drop("strict", at+".strict")
		}
		b = append(b, strict...)
	}
	return append(b, "}}"...)
}

// callers blocks a tool that something else than the model may call.
func (d *draft) callers(v []byte, at string) {
	if v == nil {
		return
	}
	d.each(v, at+".allowed_callers", func(at string, caller []byte) {
		if string(caller) != `"direct"` {
			d.block(at + "=" + label(walk.Bytes(caller)))
		}
	})
}

// chatChoice writes the choice among tools.
func (d *draft) chatChoice(choice []byte, tools bool) {
	if choice == nil {
		return
	}
	f := d.read(choice, "tool_choice.", only("type", "name", "disable_parallel_tool_use"))
	alone := d.flag(f, "disable_parallel_tool_use", "tool_choice.")
	typ := string(walk.Bytes(f.get("type")))
	var word []byte
	switch typ {
	case "auto", "none":
		word = quote.Append(nil, typ)
	case "any":
		word = []byte(`"required"`)
	case "tool":
		name := d.word(f, "name", "tool_choice.")
		word = append([]byte(`{"type":"function","function":{"name":`), quote.Append(nil, d.names.fit(string(name), maxToolName))...)
		word = append(word, "}}"...)
	default:
		d.block("tool_choice.type=" + label([]byte(typ)))
		return
	}
	forced := typ == "any" || typ == "tool"
	switch {
	case forced && (!tools || d.target.Traits.NoForcedTools), tools && typ != "auto" && d.refuses("tool_choice"):
		d.block("tool_choice.type=" + typ)
		return
	case !tools:
		return // there is nothing to choose
	case !d.refuses("tool_choice"):
		d.field("tool_choice", word)
	}
	switch {
	case !alone:
	case d.refuses("parallel_tool_calls"):
		d.drop("disable_parallel_tool_use", "tool_choice.disable_parallel_tool_use")
	default:
		d.field("parallel_tool_calls", []byte("false"))
	}
}

// compacted returns JSON without white space.
func compacted(doc []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, doc) != nil {
		return doc
	}
	return b.Bytes()
}
