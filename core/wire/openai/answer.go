package openai

import (
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/core/wire/classify"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// Answer looks at a whole Chat Completions answer.
func (*Format) Answer(doc []byte) (u price.Usage, model, id string, err *core.Error) {
	w := walk.New(doc)
	var choices, failed bool
	w.Enter()
	for name, ok := w.Member(); ok; name, ok = w.Member() {
		switch v := w.Value(); string(name) {
		case "id":
			id = string(walk.Bytes(v))
		case "model":
			model = string(walk.Bytes(v))
		case "choices":
			choices = len(v) > 0 && v[0] == '['
		case "usage":
			ReadUsage(v, &u)
		case "error":
			failed = truthy(v)
		}
	}
	switch {
	case !w.End():
		return price.Usage{}, "", "", notAnAnswer(w.Err())
	case failed:
		return price.Usage{}, "", "", classify.Inside(table, 200, doc, core.KindServerError)
	case !choices:
		return price.Usage{}, "", "", notAnAnswer(nil)
	}
	return u, model, id, nil
}

func notAnAnswer(cause *walk.SyntaxError) *core.Error {
	e := &core.Error{Op: "read the answer", Kind: core.KindBadResponse, Status: 200}
	if cause != nil {
		e.Err = cause
	}
	return e
}

// truthy reports whether an error field means an error: compatible servers send
// null, false and empty texts in healthy answers.
func truthy(v []byte) bool {
	if len(v) == 0 {
		return false
	}
	switch v[0] {
	case '{', '[':
		return true
	case '"':
		return len(v) > 2
	default:
		return false
	}
}

// ReadUsage replaces the usage by what a usage object says, and leaves it alone
// when there is none. Cached and cache-writing tokens are part of prompt_tokens
// here and are taken out, so that nothing is paid for twice (R21).
func ReadUsage(doc []byte, u *price.Usage) {
	w := walk.New(doc)
	if w.Kind() != '{' || !w.Enter() {
		return
	}
	var prompt int64
	var next price.Usage
	for name, ok := w.Member(); ok; name, ok = w.Member() {
		switch v := w.Value(); string(name) {
		case "prompt_tokens":
			n, is := walk.Int(v)
			prompt, next.Known = n, next.Known || is
		case "completion_tokens":
			n, is := walk.Int(v)
			next.Output, next.Known = n, next.Known || is
		case "prompt_tokens_details":
			next.CacheRead = part(v, "cached_tokens")
			next.CacheWrite = part(v, "cache_write_tokens")
		case "completion_tokens_details":
			next.Reasoning = part(v, "reasoning_tokens")
		}
	}
	if !next.Known {
		return
	}
	next.Input = max(prompt-next.CacheRead-next.CacheWrite, 0)
	*u = next
}

// part reads one figure of an object, 0 without it.
func part(doc []byte, name string) int64 {
	n, _ := walk.Int(walk.Get(doc, name))
	return n
}
