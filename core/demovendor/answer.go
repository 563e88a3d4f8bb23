package demovendor

import (
	"encoding/json"
	"fmt"
	"strings"
)

// answer is what the vendor will say, in neither wire's form yet.
type answer struct {
	id      string // without the wire's prefix
	model   string
	created int64
	chunks  []string
	tool    *ToolCall
	usage   *Usage // nil: none is reported
	asked   bool   // the caller of a stream asked for usage
	cutOff  bool   // max tokens were reached
	reason  string // replaces the wire's stop reason
}

func (a *answer) text() string { return strings.Join(a.chunks, "") }

// tokens estimates a text at four bytes per token.
func tokens(s string) int { return (len(s) + 3) / 4 }

// answer makes up the answer to a call under a step.
func (v *Vendor) answer(c *call, s *Step) *answer {
	a := &answer{
		id: fmt.Sprintf("sim%04x%08x", v.cfg.Seed&0xffff, c.Number), model: c.Model,
		created: v.cfg.Clock.Wall().Unix(), tool: s.Tool, reason: s.StopReason,
		asked: c.body.StreamOptions.IncludeUsage,
	}
	if s.Model != "" {
		a.model = s.Model
	}
	a.chunks = s.Chunks
	if a.chunks == nil {
		a.chunks = v.ownWords(c, a)
	}
	if s.EventBytes > 0 && len(a.chunks) > 0 {
		a.chunks = append([]string{a.chunks[0] + strings.Repeat("x", s.EventBytes)}, a.chunks[1:]...)
	}
	switch {
	case s.NoUsage:
	case s.Usage != nil:
		a.usage = s.Usage
	default:
		a.usage = v.count(c, a)
	}
	return a
}

// count is the usage of an answer.
func (v *Vendor) count(c *call, a *answer) *Usage {
	u := &Usage{CacheRead: c.cached(v.cfg.Wire)}
	u.Input = c.promptTokens() - u.CacheRead
	for _, chunk := range a.chunks {
		u.Output += tokens(chunk)
	}
	if a.tool != nil {
		u.Output += tokens(a.tool.Name + strings.Join(a.tool.Arguments, ""))
	}
	return u
}

// ownWords are the chunks of the vendor's own answer, no longer than the call
// allows. A forced tool is called with no arguments and no text.
func (v *Vendor) ownWords(c *call, a *answer) []string {
	if name := c.forcedTool(); name != "" && a.tool == nil {
		a.tool = &ToolCall{ID: "call_" + a.id, Name: name, Arguments: []string{"{}"}}
		return nil
	}
	text := v.prose(c, a.model)
	if c.wantsJSON() {
		b, _ := json.Marshal(map[string]any{"simulated": true, "model": a.model, "note": text})
		text = string(b)
	}
	chunks, left := split(text), c.maxTokens()
	if left == 0 {
		return chunks
	}
	for i, chunk := range chunks {
		if left -= tokens(chunk); left < 0 {
			a.cutOff = true
			return chunks[:i]
		}
	}
	return chunks
}

// split cuts a text into chunks of three words.
func split(text string) []string {
	var chunks []string
	start, words := 0, 0
	for i := range len(text) {
		if text[i] != ' ' {
			continue
		}
		if words++; words%3 == 0 {
			chunks = append(chunks, text[start:i])
			start = i
		}
	}
	return append(chunks, text[start:])
}

// prose says that the answer is simulated and what the request looked like. It
// quotes nothing of the prompt.
func (v *Vendor) prose(c *call, model string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Simulated answer from %s: no model was asked. ", model)
	fmt.Fprintf(&b, "The request held %s and %s, about %d tokens in all, and ",
		counted(len(c.body.Messages), "message"), counted(len(c.body.Tools), "tool"), c.promptTokens())
	if n := c.maxTokens(); n > 0 {
		fmt.Fprintf(&b, "allowed %d tokens of answer.", n)
	} else {
		b.WriteString("set no limit to the answer.")
	}
	remarks := remarks()
	first := int(v.draw(c.Number, drawText) * float64(len(remarks)))
	for i := range 3 {
		b.WriteString(" " + remarks[(first+i*3)%len(remarks)])
	}
	return b.String()
}

func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func remarks() []string {
	return []string{
		"A real vendor would think before it speaks; this one only waits as long as one would.",
		"Break it in the console and watch the next request take another way.",
		"An open circuit saves everybody the wait for an answer that will not come.",
		"A retry is a promise to the vendor that there won't be too many of them.",
		"The pieces of this text arrive at the pace of the model that it stands in for.",
		"When the first choice fails before its first word, nobody needs to notice.",
		"Waiting exactly as long as one was told to is the politest form of retry.",
		"What was decided, and why, is written down; look for this request among the decisions.",
		"A fallback that has never fired is a guess.",
		"Set a vendor key in the environment to put a real model in this place.",
	}
}
