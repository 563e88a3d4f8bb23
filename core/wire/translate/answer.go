package translate

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/core/wire/anthropic"
	"github.com/spillway-llm/spillway/core/wire/openai"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// Response puts a whole answer that came in one vendor's form into the other's.
// The model stays the one that answered; the id gets the other form's prefix.
// created, in seconds since 1970, is what Messages answers lack. An error is a
// [*core.Error] of KindBadResponse: the answer to a plain text request holds
// something else than text.
func Response(from, to core.Wire, doc []byte, created int64) ([]byte, error) {
	var out []byte
	var err *core.Error
	switch {
	case from == core.WireAnthropic && to == core.WireOpenAI:
		out, err = chatAnswer(doc, created)
	case from == core.WireOpenAI && to == core.WireAnthropic:
		out, err = messagesAnswer(doc)
	default:
		err = unfit("from " + string(from) + " to " + string(to))
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// unfit is an answer with something at the path that plain text does not have.
func unfit(path string) *core.Error {
	return &core.Error{Op: "translate the answer", Kind: core.KindBadResponse, Type: path, Err: errors.New(path)}
}

// chatAnswer writes a Messages answer as a Chat Completions answer.
func chatAnswer(doc []byte, created int64) ([]byte, *core.Error) {
	var u price.Usage
	anthropic.ReadUsage(walk.Get(doc, "usage"), &u)
	said, err := messagesTexts(walk.Get(doc, "content"))
	if err != nil {
		return nil, err
	}
	reason := finishReason(walk.Bytes(walk.Get(doc, "stop_reason")))
	if reason == "" {
		return nil, unfit("stop_reason=" + label(walk.Bytes(walk.Get(doc, "stop_reason"))))
	}
	out := append([]byte(nil), `{"id":`...)
	out = quote.Append(out, chatID(walk.Bytes(walk.Get(doc, "id"))))
	out = append(out, `,"object":"chat.completion","created":`...)
	out = strconv.AppendInt(out, created, 10)
	out = append(out, `,"model":`...)
	out = quote.Append(out, walk.Bytes(walk.Get(doc, "model")))
	out = append(out, `,"choices":[{"index":0,"message":{"role":"assistant","content":`...)
	out = appendJoined(out, said)
	out = append(out, `,"refusal":null,"annotations":[]},"logprobs":null,"finish_reason":`...)
	out = quote.Append(out, reason)
	out = append(out, `}],"usage":`...)
	return append(appendChatUsage(out, u), '}'), nil
}

// messagesTexts reads the content of a Messages answer. Thinking is left out:
// the other form has no place for it.
func messagesTexts(content []byte) (texts, *core.Error) {
	var all texts
	w := walk.New(content)
	w.Enter()
	for i := 0; w.Element(); i++ {
		block := w.Value()
		switch typ := string(walk.Bytes(walk.Get(block, "type"))); typ {
		case "text":
			text := walk.Get(block, "text")
			if !walk.IsString(text) {
				return nil, unfit("content[" + strconv.Itoa(i) + "].text=" + kind(text))
			}
			all = append(all, text)
		case "thinking", "redacted_thinking":
		default:
			return nil, unfit("content[" + strconv.Itoa(i) + "].type=" + label([]byte(typ)))
		}
	}
	return all, nil
}

// messagesAnswer writes a Chat Completions answer as a Messages answer.
func messagesAnswer(doc []byte) ([]byte, *core.Error) {
	var u price.Usage
	openai.ReadUsage(walk.Get(doc, "usage"), &u)
	choices := walk.New(walk.Get(doc, "choices"))
	if choices.Kind() != '[' || !choices.Enter() || !choices.Element() {
		return nil, unfit("choices")
	}
	choice := choices.Value()
	said, refused, err := chatTexts(walk.Get(choice, "message"))
	if err != nil {
		return nil, err
	}
	reason := stopReason(walk.Bytes(walk.Get(choice, "finish_reason")), refused)
	if reason == "" {
		return nil, unfit("choices[0].finish_reason=" + label(walk.Bytes(walk.Get(choice, "finish_reason"))))
	}
	out := append([]byte(nil), `{"id":`...)
	out = quote.Append(out, messageID(walk.Bytes(walk.Get(doc, "id"))))
	out = append(out, `,"type":"message","role":"assistant","model":`...)
	out = quote.Append(out, walk.Bytes(walk.Get(doc, "model")))
	out = append(out, `,"content":[`...)
	if len(said) > 0 {
		out = append(out, `{"type":"text","text":`...)
		out = append(appendJoined(out, said), '}')
	}
	out = append(out, `],`...)
	out = appendStop(out, reason)
	out = append(out, `,"usage":`...)
	return append(appendMessagesUsage(out, u), '}'), nil
}

// chatTexts reads a Chat Completions message: its content, and its refusal,
// which the other form tells as text and by the stop reason.
func chatTexts(message []byte) (all texts, refused bool, err *core.Error) {
	for _, name := range []string{"tool_calls", "function_call", "audio"} {
		if v := walk.Get(message, name); len(v) > 2 && !walk.IsNull(v) {
			return nil, false, unfit("choices[0].message." + name)
		}
	}
	for _, name := range []string{"content", "refusal"} {
		switch v := walk.Get(message, name); kind(v) {
		case "string":
			if len(v) > 2 {
				all = append(all, v)
				refused = name == "refusal"
			}
		case "null", "absent":
		default:
			return nil, false, unfit("choices[0].message." + name + "=" + kind(v))
		}
	}
	return all, refused, nil
}

// finishReason is the Chat Completions word for a stop reason, "" when there is
// none: a paused turn must be continued, which that form can't say.
func finishReason(stop []byte) string {
	switch string(stop) {
	case "end_turn", "stop_sequence":
		return "stop"
	case "max_tokens", "model_context_window_exceeded":
		return "length"
	case "refusal":
		return "content_filter"
	default:
		return ""
	}
}

// stopReason is the Messages word for a finish reason, "" when there is none. A
// refusal is an ordinary stop in the other form.
func stopReason(finish []byte, refused bool) string {
	switch string(finish) {
	case "stop":
		if refused {
			return "refusal"
		}
		return "end_turn"
	case "length":
		return "max_tokens"
	case "content_filter":
		return "refusal"
	default:
		return ""
	}
}

func chatID(id []byte) string { return "chatcmpl-" + strings.TrimPrefix(string(id), "msg_") }

func messageID(id []byte) string { return "msg_" + strings.TrimPrefix(string(id), "chatcmpl-") }

// appendStop appends the fields that say why a Messages answer ended.
func appendStop(dst []byte, reason string) []byte {
	dst = append(dst, `"stop_reason":`...)
	dst = quote.Append(dst, reason)
	dst = append(dst, `,"stop_sequence":null`...)
	if reason == "refusal" {
		dst = append(dst, `,"stop_details":{"type":"refusal","category":null,"explanation":null}`...)
	}
	return dst
}

// appendChatUsage appends a usage object: the prompt includes what was cached.
func appendChatUsage(dst []byte, u price.Usage) []byte {
	dst = append(dst, `{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, u.Prompt(), 10)
	dst = append(dst, `,"completion_tokens":`...)
	dst = strconv.AppendInt(dst, u.Output, 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, u.Prompt()+u.Output, 10)
	dst = append(dst, `,"prompt_tokens_details":{"cached_tokens":`...)
	dst = strconv.AppendInt(dst, u.CacheRead, 10)
	dst = append(dst, `,"cache_write_tokens":`...)
	dst = strconv.AppendInt(dst, u.CacheWrite+u.CacheWrite1h, 10)
	dst = append(dst, `},"completion_tokens_details":{"reasoning_tokens":`...)
	dst = strconv.AppendInt(dst, u.Reasoning, 10)
	return append(dst, `}}`...)
}

// appendMessagesUsage appends a usage object: the input excludes what was cached.
func appendMessagesUsage(dst []byte, u price.Usage) []byte {
	dst = append(dst, `{"input_tokens":`...)
	dst = strconv.AppendInt(dst, u.Input, 10)
	dst = append(dst, `,"cache_creation_input_tokens":`...)
	dst = strconv.AppendInt(dst, u.CacheWrite+u.CacheWrite1h, 10)
	dst = append(dst, `,"cache_read_input_tokens":`...)
	dst = strconv.AppendInt(dst, u.CacheRead, 10)
	dst = append(dst, `,"output_tokens":`...)
	dst = strconv.AppendInt(dst, u.Output, 10)
	if u.Reasoning > 0 {
		dst = append(dst, `,"output_tokens_details":{"thinking_tokens":`...)
		dst = append(strconv.AppendInt(dst, u.Reasoning, 10), '}')
	}
	return append(dst, '}')
}
