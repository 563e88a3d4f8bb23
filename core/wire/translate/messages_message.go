package translate

import (
	"bytes"
	"slices"
	"strings"

	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// messagesWriter writes the messages of a Chat Completions request as those of a
// Messages request. Neighbours of one role become one message; what tools said
// becomes blocks at the start of the user's.
type messagesWriter struct {
	d      *draft
	out    []byte // an open array
	system []part
	// inLoop reports that the conversation ends in tool results.
	inLoop bool

	role           string // of the turn that is gathered: user, assistant or ""
	parts, results []part
	calls          []toolCall // of the turn that is gathered
	open           openCalls  // of the one before
	markers        int        // cache markers so far
	speaker        string     // the role of the message that is read
	late           []part
	lateAt         string
}

// messages returns what becomes of the messages.
func (d *draft) messages(messages []byte) *messagesWriter {
	m := &messagesWriter{d: d, out: []byte{'['}}
	role, path := "", ""
	d.each(messages, "messages", func(at string, message []byte) {
		f := d.read(message, at+".", chatMessageField)
		role, path = string(walk.Bytes(f.get("role"))), at
		m.message(role, f, at)
	})
	if role == "assistant" {
		d.noPrefill(path)
		return m
	}
	m.inLoop = len(m.results) > 0
	m.endTurn("")
	if len(m.out) == 1 && len(d.blockers) == 0 {
		d.block("messages") // all of them are empty
	}
	return m
}

// chatMessageField is the fate of a field of a Chat Completions message.
func chatMessageField(name string) fate {
	switch name {
	case "role", "content", "refusal", "tool_calls", "function_call", "tool_call_id", "audio", "name":
		return carried
	case "annotations", "reasoning", "reasoning_content", "reasoning_details":
		return dropped
	default:
		return unknown
	}
}

func (m *messagesWriter) message(role string, f fields, at string) {
	m.speaker = role
	if f.get("name") != nil && role != "function" {
		m.d.drop("name", at+".name")
	}
	if f.get("audio") != nil {
		m.d.block(at + ".audio")
	}
	if role != "assistant" {
		for _, name := range []string{"tool_calls", "function_call", "refusal"} {
			if f.get(name) != nil {
				m.d.block(at + "." + name)
			}
		}
	}
	switch role {
	case "system", "developer":
		m.systemMessage(m.content(f.get("content"), at+".content"), at)
	case "user":
		m.turn("user")
		m.parts = append(m.parts, m.content(f.get("content"), at+".content")...)
	case "tool", "function":
		m.turn("user")
		m.result(role, f, at)
	case "assistant":
		m.turn("assistant")
		m.assistant(f, at)
	default:
		m.d.block(at + ".role=" + label([]byte(role)))
	}
}

// systemMessage keeps a system message for the system prompt, or where the model
// takes it there for its own place.
func (m *messagesWriter) systemMessage(parts []part, at string) {
	if slices.ContainsFunc(parts, func(p part) bool { return p.text == nil }) {
		m.d.block(at + ".content")
		return
	}
	switch {
	case len(parts) == 0:
	case m.role == "" && len(m.out) == 1:
		m.system = append(m.system, parts...)
	default:
		if len(m.late) == 0 {
			m.lateAt = at
		}
		m.late = append(m.late, parts...)
	}
}

// turn begins or goes on with a turn of the role.
func (m *messagesWriter) turn(role string) {
	if m.role == role && len(m.late) == 0 {
		return
	}
	m.endTurn(role)
	m.role = role
}

// endTurn writes the turn that was gathered. A system message that came behind
// it stays there where the vendor takes it: behind the user, and before the
// assistant or the end. Elsewhere it joins the system prompt, and the turn goes
// on if the next is of the same role.
func (m *messagesWriter) endTurn(next string) {
	late := m.late
	m.late = nil
	stays := len(late) > 0 && m.d.target.Traits.SystemTurns && m.role == "user" && next != "user" &&
		len(m.parts)+len(m.results) > 0
	if len(late) > 0 && !stays {
		m.d.change("system message", m.lateAt, "moved to the system prompt")
		m.system = append(m.system, late...)
	}
	if m.role == next {
		return
	}
	switch m.role {
	case "user":
		m.open.unanswered(m.d)
		m.write("user", append(m.results, m.parts...))
		m.open = openCalls{}
	case "assistant":
		m.write("assistant", m.parts)
		m.open = newOpenCalls(m.calls, func(c *toolCall) string { return c.own })
	}
	m.parts, m.results, m.calls = nil, nil, nil
	if stays {
		m.write("system", late)
	}
}

func (m *messagesWriter) write(role string, parts []part) {
	if len(parts) > 0 {
		m.out = append(appendContent(openMessage(m.out, role), parts), '}')
	}
}

// result gathers what one tool said.
func (m *messagesWriter) result(role string, f fields, at string) {
	field := "tool_call_id"
	if role == "function" {
		field = "name" // an older form: there is one call at most, and it has no id
	}
	call := m.open.answer(string(m.d.word(f, field, at+".")))
	if call == nil {
		m.d.block(at + "." + field + "=uncalled")
		return
	}
	content := m.content(f.get("content"), at+".content")
	b := quote.Append([]byte(`{"type":"tool_result","tool_use_id":`), call.id)
	failed := false
	if len(content) > 0 && content[0].text != nil {
		content[0].text, failed = withoutToolError(content[0].text)
		if blank(content[0].text) {
			content = content[1:]
		}
	}
	b = appendContent(append(b, `,"content":`...), content)
	if failed {
		b = append(b, `,"is_error":true`...)
	}
	m.results = append(m.results, part{object: append(b, '}')})
}

// withoutToolError takes the words that stand for an error's mark off a text.
func withoutToolError(literal []byte) ([]byte, bool) {
	marked := quote.Append(nil, toolError)
	rest, ok := bytes.CutPrefix(literal, marked[:len(marked)-1])
	if !ok {
		return literal, false
	}
	return append([]byte{'"'}, rest...), true
}

// assistant gathers an assistant's message.
func (m *messagesWriter) assistant(f fields, at string) {
	parts := m.content(f.get("content"), at+".content")
	for _, p := range parts {
		if p.text == nil {
			m.d.block(at + ".content")
		}
	}
	m.parts = append(m.parts, parts...)
	if v := f.get("refusal"); walk.IsString(v) && !blank(v) {
		m.d.change("refusal", at+".refusal", "carried as text")
		m.parts = append(m.parts, part{text: v})
	}
	if v := f.get("tool_calls"); v != nil {
		m.d.each(v, at+".tool_calls", func(at string, call []byte) {
			if typ := walk.Get(call, "type"); typ != nil && string(typ) != `"function"` {
				m.d.block(at + ".type=" + label(walk.Bytes(typ)))
				return
			}
			c := m.d.read(call, at+".", func(name string) fate {
				if name == "extra_content" {
					return dropped // a signature that only its own vendor reads
				}
				return only("type", "id", "function", "index")(name)
			})
			m.call(string(m.d.word(c, "id", at+".")), c.get("function"), at, at+".function")
		})
	}
	if v := f.get("function_call"); v != nil {
		m.call("", v, at, at+".function_call")
	}
}

// call gathers a tool call.
func (m *messagesWriter) call(own string, function []byte, at, path string) {
	f := m.d.read(function, path+".", only("name", "arguments"))
	if kind(function) != "object" {
		return
	}
	name := string(m.d.word(f, "name", path+"."))
	input, ok := arguments(f.get("arguments"))
	legacy := path == at+".function_call"
	switch {
	case own == "" && !legacy:
		m.d.block(at + ".id=absent")
		return
	case name == "":
		m.d.block(path + ".name=" + kind(f.get("name")))
		return
	case !ok:
		m.d.block(path + ".arguments")
		return
	}
	if legacy {
		own = name // by which its result names it
	}
	c := toolCall{own: own, name: name, id: m.d.ids.assign(own), path: at}
	b := quote.Append([]byte(`{"type":"tool_use","id":`), c.id)
	b = quote.Append(append(b, `,"name":`...), m.d.names.fit(name, maxMessagesToolName))
	b = append(append(append(b, `,"input":`...), input...), '}')
	m.parts = append(m.parts, part{object: b})
	m.calls = append(m.calls, c)
}

// arguments returns a call's arguments as an object: they come as JSON in a
// string, from some servers as an object, and empty for none.
func arguments(v []byte) (object []byte, ok bool) {
	switch kind(v) {
	case "absent", "null":
		return []byte("{}"), true
	case "object":
		return v, true
	case "string":
		if object = bytes.TrimSpace(walk.Bytes(v)); len(object) == 0 {
			return []byte("{}"), true
		}
		return object, isObject(object)
	}
	return nil, false
}

// isObject reports whether a document is one whole JSON object.
func isObject(doc []byte) bool {
	w := walk.New(doc)
	if w.Kind() != '{' {
		return false
	}
	w.Skip()
	return w.End()
}

// content reads a content of a Chat Completions message: a text, or parts.
func (m *messagesWriter) content(content []byte, path string) []part {
	switch kind(content) {
	case "absent", "null":
		return nil
	case "string":
		if blank(content) {
			return nil
		}
		return []part{{text: content}}
	}
	var parts []part
	m.d.each(content, path, func(at string, p []byte) {
		if block, ok := m.part(p, at); ok {
			parts = append(parts, block)
		}
	})
	return parts
}

// part writes one part as a block, which an empty text is not.
func (m *messagesWriter) part(doc []byte, at string) (part, bool) {
	d := m.d
	typ := string(walk.Bytes(walk.Get(doc, "type")))
	f := d.read(doc, at+".", func(name string) fate {
		if name == typ || name == "type" || name == "prompt_cache_breakpoint" {
			return carried
		}
		return unknown
	})
	var p part
	known := typ
	if typ == "refusal" && m.speaker != "assistant" {
		known = ""
	}
	switch known {
	case "text", "refusal":
		if !walk.IsString(f.get(typ)) {
			d.block(at + "." + typ + "=" + kind(f.get(typ)))
			return part{}, false
		}
		if typ == "refusal" {
			d.change("refusal", at+".refusal", "carried as text")
		}
		p.text = f.get(typ)
		if blank(p.text) {
			return part{}, false
		}
	case "image_url":
		p.object = d.image(f.get(typ), at+".image_url")
	case "file":
		p.object = d.pdf(f.get(typ), at+".file")
	default:
		d.block(at + ".type=" + label([]byte(typ)))
	}
	if marker := m.marker(f.get("prompt_cache_breakpoint"), at); marker != nil {
		p = marked(p, marker)
	}
	return p, p.text != nil || p.object != nil
}

// maxMarkers is how many cache markers Anthropic takes.
const maxMarkers = 4

// marker writes a cache breakpoint as a marker, with the nearer of the two
// lifetimes that there are.
func (m *messagesWriter) marker(v []byte, at string) []byte {
	if v == nil {
		return nil
	}
	if m.markers++; m.markers > maxMarkers {
		m.d.drop("prompt_cache_breakpoint", at+".prompt_cache_breakpoint")
		return nil
	}
	m.d.change("prompt_cache_breakpoint", at+".prompt_cache_breakpoint", "carried as cache_control: another price of writing")
	if strings.HasSuffix(string(walk.Bytes(walk.Get(v, "ttl"))), "h") {
		return []byte(`{"type":"ephemeral","ttl":"1h"}`)
	}
	return []byte(`{"type":"ephemeral"}`)
}

func marked(p part, marker []byte) part {
	if p.text != nil {
		p.marker = marker
	} else if p.object != nil {
		p.object = append(appendField(p.object[:len(p.object)-1], "cache_control", marker), '}')
	}
	return p
}
