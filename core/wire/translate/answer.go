package translate

import (
	"errors"
	"slices"
	"strings"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// Answer is a whole answer in the caller's form.
type Answer struct {
	Body []byte
	// Warnings say what of the answer the caller's form has no place for.
	Warnings []string
}

// Response puts a whole answer that came in one vendor's form into the other's.
// The model stays the one that answered; the id gets the other form's prefix.
// created, in seconds since 1970, is what Messages answers lack; names are those
// of the request's [Form]. An error is a [*core.Error] of KindBadResponse: the
// answer holds something that the other form has no word for, or a tool call
// that nobody could make.
func Response(from, to core.Wire, doc []byte, created int64, names Names) (Answer, error) {
	var a Answer
	var err *core.Error
	switch {
	case from == core.WireAnthropic && to == core.WireOpenAI:
		a, err = chatAnswer(doc, created, names)
	case from == core.WireOpenAI && to == core.WireAnthropic:
		a, err = messagesAnswer(doc, names)
	default:
		err = unfit("from " + string(from) + " to " + string(to))
	}
	if err != nil {
		return Answer{}, err
	}
	return a, nil
}

// unfit is an answer with something at the path that the other form can't say.
func unfit(path string) *core.Error {
	return &core.Error{Op: "translate the answer", Kind: core.KindBadResponse, Type: path, Err: errors.New(path)}
}

// losses are what was left out of an answer, each said once.
type losses []string

func (l *losses) add(what string) {
	if !slices.Contains(*l, what) {
		*l = append(*l, what)
	}
}

// What answers lose.
const (
	lostThinking    = "answer: thinking dropped"
	lostCitations   = "answer: citations dropped"
	lostWindow      = "answer: model_context_window_exceeded told as length"
	lostRefusal     = "answer: the refusal's details dropped"
	lostCutCall     = "answer: a tool call that was cut off is left out"
	lostAnnotations = "answer: annotations dropped"
)

// finishReason is the Chat Completions word for a stop reason, "" when there is
// none: a paused turn must be continued, which that form can't say.
func finishReason(stop []byte, l *losses) string {
	switch string(stop) {
	case "end_turn", "stop_sequence":
		return "stop"
	case "tool_use":
		return "tool_calls"
	case "model_context_window_exceeded":
		l.add(lostWindow)
		return "length"
	case "max_tokens":
		return "length"
	case "refusal":
		l.add(lostRefusal)
		return "content_filter"
	default:
		return ""
	}
}

// stopReason is the Messages word for a finish reason, "" when there is none. A
// refusal is an ordinary stop in the other form, and some servers end tool calls
// with one, too. That tools were called never overrides a limit or a refusal
// (field case R05).
func stopReason(finish []byte, refused, called bool) string {
	switch string(finish) {
	case "stop", "tool_calls", "function_call":
		switch {
		case refused:
			return "refusal"
		case called:
			return "tool_use"
		case string(finish) == "stop":
			return "end_turn"
		}
		return "" // calls that nobody sees
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

// appendFunction appends a call's function with its arguments as they are given,
// a JSON string.
func appendFunction(dst, name, arguments []byte) []byte {
	dst = quote.Append(append(dst, `"type":"function","function":{"name":`...), name)
	dst = append(append(dst, `,"arguments":`...), arguments...)
	return append(dst, '}')
}

// filled reports whether a value is an array or object that isn't empty.
func filled(v []byte) bool {
	w := walk.New(v)
	switch w.Kind() {
	case '[':
		return w.Enter() && w.Element()
	case '{':
		if !w.Enter() {
			return false
		}
		_, ok := w.Member()
		return ok
	}
	return false
}
