package translate

import (
	"bytes"
	"slices"

	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// definition is one tool that a Chat Completions caller declares.
type definition struct {
	name   string
	object []byte // as the target has it
}

// messagesTools writes functions and the choice among them as tools, and reports
// whether the model is forced to call one.
func (d *draft) messagesTools(f fields) (forced bool) {
	var tools []definition
	declared := "tools"
	if v := f.get("tools"); v != nil {
		d.each(v, "tools", func(at string, tool []byte) {
			if typ := walk.Bytes(walk.Get(tool, "type")); string(typ) != "function" {
				d.block(at + ".type=" + label(typ))
				return
			}
			t := d.read(tool, at+".", only("type", "function"))
			tools = append(tools, d.tool(t.get("function"), at+".function"))
		})
	}
	if v := f.get("functions"); v != nil {
		declared = "functions"
		d.each(v, "functions", func(at string, function []byte) {
			tools = append(tools, d.tool(function, at))
		})
	}
	c := d.choice(f)
	if c.allowed != nil {
		tools = d.allowedOnly(tools, c.allowed)
	}
	if len(tools) > 0 {
		if !d.target.Capabilities.Tools {
			d.block(declared)
		}
		objects := make([][]byte, len(tools))
		for i := range tools {
			objects[i] = tools[i].object
		}
		d.field("tools", array(objects))
	}
	d.messagesChoice(c, len(tools) > 0, f)
	return c.typ == "any" || c.typ == "tool"
}

// tool writes one function.
func (d *draft) tool(function []byte, at string) definition {
	f := d.read(function, at+".", only("name", "description", "parameters", "strict"))
	if kind(function) != "object" {
		return definition{}
	}
	name, schema := d.word(f, "name", at+"."), f.get("parameters")
	switch {
	case len(name) == 0:
		d.block(at + ".name=" + kind(f.get("name")))
		return definition{}
	case schema != nil && kind(schema) != "object":
		d.block(at + ".parameters=" + kind(schema))
		return definition{}
	}
	b := quote.Append([]byte(`{"name":`), d.names.fit(string(name), maxMessagesToolName))
	if v := f.get("description"); walk.IsString(v) {
		b = append(append(b, `,"description":`...), v...)
	}
	b = append(append(b, `,"input_schema":`...), objectSchema(schema)...)
	if d.flag(f, "strict", at+".") {
		if d.enforceable(schema) {
			b = append(b, `,"strict":true`...)
		} else {
			d.drop("strict", at+".strict")
		}
	}
	return definition{string(name), append(b, '}')}
}

// maxMessagesToolName is Anthropic's limit.
const maxMessagesToolName = 128

// enforceable reports whether Anthropic enforces a tool's schema as it stands.
func (d *draft) enforceable(schema []byte) bool {
	if !d.target.Capabilities.JSONSchema || schema == nil {
		return false
	}
	_, s := simplify(schema)
	return s.blocker == "" && len(s.moved) == 0 && !s.closed && !bytes.Contains(schema, []byte(`"oneOf"`))
}

// allowedOnly keeps the tools that may be called. Where one of them isn't
// declared all are kept: the choice is not what it seems.
func (d *draft) allowedOnly(tools []definition, allowed []string) []definition {
	declared, may := map[string]bool{}, map[string]bool{}
	for _, t := range tools {
		declared[t.name] = true
	}
	for _, name := range allowed {
		if may[name] = true; !declared[name] {
			d.warn("tool_choice.allowed_tools dropped: it names a tool that is not declared")
			return tools
		}
	}
	d.warn("tool_choice.allowed_tools carried: other tools are not declared")
	return slices.DeleteFunc(tools, func(t definition) bool { return !may[t.name] })
}

// choice is the choice among tools in Anthropic's words.
type choice struct {
	typ, name string
	path      string
	allowed   []string // nil for all
}

// choice reads tool_choice, or function_call, its older name.
func (d *draft) choice(f fields) choice {
	v, path := f.get("tool_choice"), "tool_choice"
	if v == nil {
		v, path = f.get("function_call"), "function_call"
	}
	c := choice{path: path}
	switch kind(v) {
	case "absent":
		return c
	case "string":
		switch string(walk.Bytes(v)) {
		case "auto", "none":
			c.typ = string(walk.Bytes(v))
		case "required":
			c.typ, c.path = "any", path+"=required"
		default:
			d.block(path + "=" + label(walk.Bytes(v)))
		}
		return c
	case "object":
		return d.choiceObject(v, c)
	}
	d.block(path + "=" + kind(v))
	return c
}

func (d *draft) choiceObject(v []byte, c choice) choice {
	d.read(v, c.path+".", only("type", "function", "allowed_tools", "custom", "name"))
	typ := string(walk.Bytes(walk.Get(v, "type")))
	name := walk.Get(v, "function", "name")
	if c.path == "function_call" {
		typ, name = "function", walk.Get(v, "name")
	}
	switch typ {
	case "function":
		if !walk.IsString(name) {
			d.block(c.path + ".function.name=" + kind(name))
		}
		c.typ, c.name, c.path = "tool", string(walk.Bytes(name)), c.path+".type=function"
	case "allowed_tools":
		c.typ = "auto"
		if string(walk.Bytes(walk.Get(v, "allowed_tools", "mode"))) == "required" {
			c.typ, c.path = "any", c.path+".allowed_tools.mode=required"
		}
		c.allowed = []string{}
		d.each(walk.Get(v, "allowed_tools", "tools"), "tool_choice.allowed_tools.tools", func(at string, tool []byte) {
			if t := walk.Bytes(walk.Get(tool, "type")); string(t) != "function" {
				d.block(at + ".type=" + label(t))
			}
			c.allowed = append(c.allowed, string(walk.Bytes(walk.Get(tool, "function", "name"))))
		})
	default:
		d.block(c.path + ".type=" + label([]byte(typ)))
	}
	return c
}

// messagesChoice writes the choice among tools.
func (d *draft) messagesChoice(c choice, tools bool, f fields) {
	parallel := f.get("parallel_tool_calls")
	if k := kind(parallel); k != "absent" && k != "boolean" {
		d.block("parallel_tool_calls=" + k)
	}
	forced := c.typ == "any" || c.typ == "tool"
	if forced && (!tools || d.target.Traits.NoForcedTools) {
		d.block(c.path)
	}
	alone := string(parallel) == "false"
	if !tools || c.typ == "" && !alone {
		return // there is nothing to choose, or nothing was chosen
	}
	if c.typ == "" {
		c.typ = "auto"
	}
	b := quote.Append([]byte(`{"type":`), c.typ)
	if c.typ == "tool" {
		b = quote.Append(append(b, `,"name":`...), d.names.fit(c.name, maxMessagesToolName))
	}
	if alone && c.typ != "none" {
		b = append(b, `,"disable_parallel_tool_use":true`...)
	}
	d.field("tool_choice", append(b, '}'))
}
