package translate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// nearest returns the strongest effort that the target takes and that is no
// stronger than the one asked for; where all are stronger, the weakest. To think
// a little is not to think not at all, so that none is chosen only where it was
// asked for or nothing else is there. "" is a word that is no effort.
func nearest(asked string, taken []string) string {
	order := core.Efforts()
	at := slices.Index(order, asked)
	if at < 0 {
		return ""
	}
	for i := at; i >= 0; i-- {
		if slices.Contains(taken, order[i]) && (i > 0 || at == 0) {
			return order[i]
		}
	}
	for _, word := range order[at:] {
		if slices.Contains(taken, word) {
			return word
		}
	}
	return taken[0]
}

// budgets are the thinking budgets, in tokens, up to which an effort reaches;
// more is the effort that no budget bounds. They are ours: no vendor says how
// the two compare.
var budgets = [...]struct {
	effort string
	tokens int64
}{{"low", 4096}, {"medium", 16_384}, {"high", 32_768}}

const beyondBudgets = "xhigh"

// thinks is what a Messages request says about thinking.
type thinks struct {
	asked string   // the effort, "" for the target's own
	from  []string // the fields that say so
}

// drop tells that none of it is carried.
func (t thinks) drop(d *draft) {
	for _, name := range t.from {
		d.drop(name, name)
	}
}

// thinking reads how much a Messages request wants its model to think.
func (d *draft) thinking(thinking, effort []byte) thinks {
	t := thinks{}
	if thinking != nil {
		t.from = []string{"thinking"}
		of := only("type", "budget_tokens", "display")
		f := d.read(thinking, "thinking.", of)
		switch typ := string(walk.Bytes(f.get("type"))); typ {
		case "disabled":
			t.asked = "none"
		case "enabled":
			t.asked = d.budget(f.get("budget_tokens"))
		case "adaptive", "between_tools":
		default:
			d.block("thinking.type=" + label([]byte(typ)))
		}
		if f.get("display") != nil {
			d.drop("thinking.display", "thinking.display")
		}
	}
	if effort == nil {
		return t
	}
	if !walk.IsString(effort) || nearest(string(walk.Bytes(effort)), []string{"low"}) == "" {
		d.block("output_config.effort=" + label(walk.Bytes(effort)))
		return t
	}
	if t.asked == "none" {
		d.drop("output_config.effort", "output_config.effort")
		return t
	}
	return thinks{asked: string(walk.Bytes(effort)), from: append(t.from, "output_config.effort")}
}

func (d *draft) budget(v []byte) string {
	n, ok := walk.Int(v)
	if !ok {
		d.block("thinking.budget_tokens=" + kind(v))
	}
	for _, b := range budgets {
		if n <= b.tokens {
			return b.effort
		}
	}
	return beyondBudgets
}

// reasoningEffort writes a Messages request's thinking as an effort and returns
// it, "" when none is said. Tools with reasoning are what some models refuse.
func (d *draft) reasoningEffort(t thinks, tools bool) (said string) {
	taken := d.target.Traits.Efforts
	if tools && d.target.Traits.NoReasoningWithTools {
		if !slices.Contains(taken, "none") || d.refuses("reasoning_effort") {
			d.block("tools") // the model takes none here at all
			return ""
		}
		if t.asked != "none" {
			d.warn("reasoning_effort set to none: the target takes tools only so")
		}
		if t.asked != "none" {
			t.drop(d)
		}
		said = "none"
	} else if len(t.from) > 0 {
		said = d.effort(t, taken)
	}
	if said != "" {
		d.field("reasoning_effort", quote.Append(nil, said))
	}
	return said
}

func (d *draft) effort(t thinks, taken []string) (said string) {
	from := strings.Join(t.from, " and ")
	switch {
	case len(taken) == 0 || d.refuses("reasoning_effort") || !d.target.Capabilities.Thinking:
		t.drop(d)
	case t.asked == "":
		d.warn("%s left to the target's usual effort", from)
	default:
		said = nearest(t.asked, taken)
		d.warn("%s carried as reasoning_effort %s", from, said)
	}
	return said
}

// leastBudget is the smallest thinking budget that Anthropic takes.
const leastBudget = 1024

// situation is what else decides how an Anthropic model may think.
type situation struct {
	limit  int64 // max_tokens
	forced bool  // a tool must be called
	inLoop bool  // the conversation ends in tool results
}

// thinkingFor writes a Chat Completions effort as thinking, and returns the
// effort for output_config and whether thinking was turned on.
func (d *draft) thinkingFor(asked []byte, s situation) (effort string, on bool) {
	if asked == nil {
		return "", false
	}
	word := string(walk.Bytes(asked))
	if !walk.IsString(asked) || nearest(word, []string{"low"}) == "" {
		d.block("reasoning_effort=" + label(walk.Bytes(asked)))
		return "", false
	}
	modes, taken := d.target.Traits.Thinking, d.target.Traits.Efforts
	can := func(mode string) bool { return slices.Contains(modes, mode) }
	switch {
	case len(modes) == 0 && len(taken) == 0 || !d.target.Capabilities.Thinking && word != "none":
		d.drop("reasoning_effort", "reasoning_effort")
	case word == "none" && can("disabled"):
		d.field("thinking", []byte(`{"type":"disabled"}`))
		d.warn("reasoning_effort carried as thinking disabled")
	case len(taken) > 0:
		effort = nearest(word, taken)
		mode := "adaptive"
		if word == "none" && can("between_tools") {
			mode = "between_tools"
		}
		if on = can(mode) && !s.forced; on {
			d.field("thinking", append(quote.Append([]byte(`{"type":`), mode), '}'))
		}
		d.warn("reasoning_effort carried as output_config.effort %s", effort)
	case word != "none" && can("enabled"):
		return "", d.thinkByBudget(word, s)
	default:
		d.drop("reasoning_effort", "reasoning_effort")
	}
	return effort, on
}

// thinkByBudget turns thinking on for a model that knows budgets only. Such a
// model refuses to be forced to a tool meanwhile, and wants its own thinking
// back in a running tool loop, which a caller of the other form can't bring.
func (d *draft) thinkByBudget(word string, s situation) bool {
	n := budgets[0].tokens / 2
	for _, b := range budgets[1:] {
		if nearest(word, []string{"low", b.effort}) == b.effort {
			n = b.tokens / 2
		}
	}
	n = min(n, s.limit/2)
	if s.forced || s.inLoop || n < leastBudget {
		d.drop("reasoning_effort", "reasoning_effort")
		return false
	}
	d.field("thinking", append(strconv.AppendInt([]byte(`{"type":"enabled","budget_tokens":`), n, 10), '}'))
	d.warn("reasoning_effort carried as a thinking budget of %d tokens", n)
	return true
}
