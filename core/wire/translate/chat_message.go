package translate

import (
	"fmt"

	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// chatWriter writes the messages of a Messages request as those of a Chat
// Completions request. Neighbours of one role are one turn, as Anthropic reads
// them: a turn is gathered, and written when another role follows.
type chatWriter struct {
	d   *draft
	out []byte // an open array

	assistant assistantTurn
	// results and users are what a user turn holds: what tools said comes first,
	// right behind the calls, whatever stands before it.
	results []toolResult
	users   [][]byte // whole messages
	// open are the calls of the last assistant turn.
	open openCalls
	// attached counts what was moved out of tool results.
	attached int
}

// assistantTurn is what an assistant's turn holds.
type assistantTurn struct {
	texts     [][]byte
	calls     []toolCall
	reasoning [][]byte
	thoughts  []string // the paths of thinking blocks
	behind    string   // the path of a text behind a call
}

// toolResult is what one tool said.
type toolResult struct {
	own, path string
	content   []byte
}

// chatMessages returns the messages with the system prompt before them.
func (d *draft) chatMessages(f fields) []byte {
	c := &chatWriter{d: d, out: []byte{'['}}
	if v := f.get("system"); v != nil {
		c.system(d.texts(v, "system"))
	}
	role, path := "", ""
	d.each(f.get("messages"), "messages", func(at string, message []byte) {
		m := d.read(message, at+".", only("role", "content"))
		role, path = string(walk.Bytes(m.get("role"))), at
		if role == "system" && at == "messages[0]" {
			d.block(at + ".role=system") // its own vendor refuses it, too
			return
		}
		c.message(role, m.get("content"), at)
	})
	switch {
	case role == "assistant":
		d.noPrefill(path)
	default:
		c.endUser()
	}
	return append(c.out, ']')
}

// noPrefill blocks a conversation that ends with the assistant's words: one
// vendor goes on from them, where the model can, the other begins a new turn.
func (d *draft) noPrefill(path string) { d.block(path + ".role=assistant") }

func (c *chatWriter) message(role string, content []byte, at string) {
	switch role {
	case "assistant":
		c.endUser()
		c.assistantBlocks(content, at)
	case "user":
		c.endAssistant()
		c.user(content, at)
	case "system":
		c.endAssistant()
		c.endUser()
		if c.d.target.Profile.NoLateSystem {
			c.d.block(at + ".role=system")
		}
		c.system(c.d.texts(content, at+".content"))
	default:
		c.d.block(at + ".role=" + label([]byte(role)))
	}
}

// texts reads a content that may hold texts only.
func (d *draft) texts(content []byte, path string) [][]byte {
	switch kind(content) {
	case "string":
		return nonEmpty(nil, content)
	case "absent":
		return nil
	}
	var all [][]byte
	d.each(content, path, func(at string, block []byte) {
		if typ := walk.Get(block, "type"); string(typ) != `"text"` {
			d.block(at + ".type=" + label(walk.Bytes(typ)))
			return
		}
		all = nonEmpty(all, d.text(block, at))
	})
	return all
}

// text reads an Anthropic text block.
func (d *draft) text(block []byte, at string) []byte {
	f := d.read(block, at+".", only("type", "text", "citations"))
	if v := f.get("citations"); v != nil {
		d.drop("citations", at+".citations")
	}
	if !walk.IsString(f.get("text")) {
		d.block(at + ".text=" + kind(f.get("text")))
		return nil
	}
	return f.get("text")
}

// nonEmpty appends a text that is not empty.
func nonEmpty(all [][]byte, literal []byte) [][]byte {
	if len(literal) <= 2 {
		return all
	}
	return append(all, literal)
}

// system writes a system message.
func (c *chatWriter) system(texts [][]byte) {
	if len(texts) == 0 {
		return
	}
	role := c.d.target.Profile.SystemRole
	if role == "" {
		role = "system"
	}
	c.out = append(c.content(openMessage(c.out, role), textParts(texts)), '}')
}

func textParts(texts [][]byte) []part {
	parts := make([]part, len(texts))
	for i, t := range texts {
		parts[i].text = t
	}
	return parts
}

// content appends a content as the target takes it: texts alone as one string
// where parts might not be read.
func (c *chatWriter) content(dst []byte, parts []part) []byte {
	var texts [][]byte
	for _, p := range parts {
		if p.text != nil {
			texts = append(texts, p.text)
		}
	}
	if c.plain() && len(texts) == len(parts) {
		return appendJoined(dst, texts, `\n\n`)
	}
	return appendContent(dst, parts)
}

// plain reports whether a content of texts is written as one string.
func (c *chatWriter) plain() bool {
	return c.d.target.Profile.PlainTexts || c.d.target.Profile.NoContentParts
}

// assistantBlocks gathers an assistant's message.
func (c *chatWriter) assistantBlocks(content []byte, path string) {
	t := &c.assistant
	if kind(content) == "string" {
		t.texts = nonEmpty(t.texts, content)
		return
	}
	c.d.each(content, path+".content", func(at string, block []byte) {
		switch typ := string(walk.Bytes(walk.Get(block, "type"))); typ {
		case "text":
			n := len(t.texts)
			t.texts = nonEmpty(t.texts, c.d.text(block, at))
			if len(t.texts) > n && len(t.calls) > 0 && t.behind == "" {
				t.behind = at
			}
		case "tool_use":
			c.call(block, at)
		case "thinking":
			if text := walk.Get(block, "thinking"); walk.IsString(text) {
				t.reasoning = nonEmpty(t.reasoning, text)
			}
			t.thoughts = append(t.thoughts, at)
		case "redacted_thinking":
			c.d.drop("redacted_thinking", at+".type=redacted_thinking")
		default:
			c.d.block(at + ".type=" + label([]byte(typ)))
		}
	})
}

// call gathers a tool call.
func (c *chatWriter) call(block []byte, at string) {
	d := c.d
	f := d.read(block, at+".", only("type", "id", "name", "input", "caller"))
	own, name := d.word(f, "id", at+"."), d.word(f, "name", at+".")
	input := f.get("input")
	switch {
	case len(own) == 0:
		d.block(at + ".id=" + kind(f.get("id")))
		return
	case len(name) == 0:
		d.block(at + ".name=" + kind(f.get("name")))
		return
	case kind(input) != "object":
		d.block(at + ".input=" + kind(input))
		return
	}
	if v := f.get("caller"); v != nil && string(walk.Get(v, "type")) != `"direct"` {
		d.block(at + ".caller.type=" + label(walk.Bytes(walk.Get(v, "type"))))
	}
	call := toolCall{own: string(own), id: d.ids.assign(string(own)), path: at}
	b := quote.Append([]byte(`{"id":`), call.id)
	b = quote.Append(append(b, `,"type":"function","function":{"name":`...), d.names.fit(string(name), maxToolName))
	b = quote.Append(append(b, `,"arguments":`...), compacted(input))
	call.object = append(b, "}}"...)
	c.assistant.calls = append(c.assistant.calls, call)
}

// endAssistant writes the assistant's turn, if there is one.
func (c *chatWriter) endAssistant() {
	t := c.assistant
	c.assistant = assistantTurn{}
	if len(t.calls) == 0 || c.d.target.Profile.EchoReasoning == "" {
		for _, at := range t.thoughts {
			c.d.drop("thinking", at+".type=thinking")
		}
	}
	if len(t.texts) == 0 && len(t.calls) == 0 {
		return // nothing but thinking
	}
	if t.behind != "" {
		c.d.change("text", t.behind+".type=text", "moved before the tool calls")
	}
	b := openMessage(c.out, "assistant")
	switch {
	case len(t.texts) == 0:
		b = append(b, "null"...)
	case c.plain():
		b = appendJoined(b, t.texts, "")
	default:
		b = appendContent(b, textParts(t.texts))
	}
	b = c.echo(b, &t)
	for i, call := range t.calls {
		if i == 0 {
			b = append(b, `,"tool_calls":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, call.object...)
	}
	if len(t.calls) > 0 {
		b = append(b, ']')
	}
	c.out = append(b, '}')
	c.open = newOpenCalls(t.calls, func(call *toolCall) string { return call.own })
}

// echo brings the reasoning back where a turn with calls is refused without it.
func (c *chatWriter) echo(dst []byte, t *assistantTurn) []byte {
	name := c.d.target.Profile.EchoReasoning
	switch {
	case name == "" || len(t.calls) == 0:
		return dst
	case len(t.reasoning) == 0:
		c.d.block(t.calls[0].path + ".reasoning=absent")
		return dst
	}
	return appendJoined(appendField(dst, name, nil), t.reasoning, `\n`)
}

// user gathers a user's message.
func (c *chatWriter) user(content []byte, path string) {
	if kind(content) == "string" {
		c.users = append(c.users, append(append(openMessage([]byte{'['}, "user"), content...), '}')[1:])
		return
	}
	results := len(c.results)
	var parts, moved []part
	c.d.each(content, path+".content", func(at string, block []byte) {
		switch typ := string(walk.Bytes(walk.Get(block, "type"))); typ {
		case "tool_result":
			moved = append(moved, c.result(block, at)...)
		default:
			parts = append(parts, c.d.chatPart(block, at, typ)...)
		}
	})
	if parts = append(moved, parts...); len(parts) == 0 && len(c.results) > results {
		return // what tools said, and nothing else
	}
	c.users = append(c.users, append(c.content(openMessage([]byte{'['}, "user"), parts), '}')[1:])
}

// result gathers what one tool said, and returns what goes into the user's own
// message because tool messages hold text only.
func (c *chatWriter) result(block []byte, at string) (moved []part) {
	d := c.d
	f := d.read(block, at+".", only("type", "tool_use_id", "content", "is_error"))
	r := toolResult{own: string(d.word(f, "tool_use_id", at+".")), path: at}
	var texts [][]byte
	say := func(text string) { texts = append(texts, quote.Append(nil, text)) }
	switch kind(f.get("content")) {
	case "absent":
	case "string":
		texts = nonEmpty(texts, f.get("content"))
	default:
		d.each(f.get("content"), at+".content", func(at string, block []byte) {
			typ := string(walk.Bytes(walk.Get(block, "type")))
			for _, p := range d.chatPart(block, at, typ) {
				if p.text != nil {
					texts = append(texts, p.text)
					continue
				}
				c.attached++
				say(fmt.Sprintf("[%s %d: see the next user message]", typ, c.attached))
				d.change(typ, at+".type="+typ, "moved into the next user message")
				moved = append(moved, p)
			}
		})
	}
	between := `\n`
	if d.flag(f, "is_error", at+".") {
		d.change("is_error", at+".is_error", "carried as the words [tool error]")
		texts = append([][]byte{quote.Append(nil, toolError)}, texts...)
		r.content = appendJoined(nil, [][]byte{texts[0], appendJoined(nil, texts[1:], between)}, "")
	} else {
		r.content = appendJoined(nil, texts, between)
	}
	c.results = append(c.results, r)
	return moved
}

// endUser writes a user's turn: what the tools said, then the user's words.
// Calls and results must pair up, or the vendor refuses the conversation.
func (c *chatWriter) endUser() {
	for _, r := range c.results {
		call := c.open.answer(r.own)
		if call == nil {
			c.d.block(r.path + ".tool_use_id=uncalled")
			continue
		}
		b := append(openMessage(c.out, "tool"), r.content...)
		b = quote.Append(append(b, `,"tool_call_id":`...), call.id)
		c.out = append(b, '}')
	}
	c.open.unanswered(c.d)
	for _, m := range c.users {
		if c.out[len(c.out)-1] != '[' {
			c.out = append(c.out, ',')
		}
		c.out = append(c.out, m...)
	}
	c.open, c.results, c.users = openCalls{}, nil, nil
}
