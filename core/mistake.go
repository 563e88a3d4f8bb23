package core

import (
	"fmt"
	"strings"
)

// noteMistake remembers what is the caller's own fault. It stays the answer
// whatever a later step says, because the caller alone can mend it (R09 of the
// field failures).
func (f *flight) noteMistake(step int, err *Error) {
	if !err.Kind.CallerFault() {
		return
	}
	if f.mistake == nil {
		f.mistake = err
	}
	if err.Kind == KindContextExceeded {
		f.tooLong = true
		f.window = max(f.window, f.w.rev.Catalog.Targets[f.plan.Steps[step].Index].ContextTokens)
	}
}

// tooSmall reports that a step's window is not known to be larger than one that
// was too small: where policy lets such a request go on at all, only more room helps.
func (f *flight) tooSmall(step int) bool {
	return f.tooLong && f.w.rev.Catalog.Targets[f.plan.Steps[step].Index].ContextTokens <= f.window
}

// impossible turns the error of a request that no target was tried for into
// the caller's mistake, if none of the use case's targets could ever serve it.
// A caller who is told to try again would do so for ever; one who is told that
// the prompt is too long shortens it.
func (f *flight) impossible(out *Error) {
	facts, some, window, portable := &f.d.Facts, false, 0, true
	for i, served := range f.w.rev.Tables.Served[f.uc] {
		if !served {
			continue
		}
		some = true
		t := &f.w.rev.Catalog.Targets[i]
		if t.Able(facts) {
			if !f.notPortable(t.ID) {
				return
			}
			portable = false
			continue
		}
		if roomy := *t; roomy.ContextTokens > 0 {
			roomy.ContextTokens = 0
			if roomy.Able(facts) {
				window = max(window, t.ContextTokens)
			}
		}
	}
	switch {
	case !some:
	case !portable:
		out.Kind = KindNotPortable
	case window == 0:
		out.Kind = KindInvalidRequest
		out.Message = "no model of this use case can serve the request: it needs " + needed(facts.Needs)
	case facts.InputTokens > window:
		out.Kind = KindContextExceeded
		out.Message = fmt.Sprintf("prompt is too long: %d tokens > %d maximum (estimated)", facts.InputTokens, window)
	default:
		out.Kind = KindContextExceeded
		out.Message = fmt.Sprintf("prompt and max_tokens are too long: %d + %d tokens > %d maximum (estimated)",
			facts.InputTokens, facts.MaxTokens, window)
	}
}

// needed lists needs in words.
func needed(n Needs) string {
	var words []string
	for _, w := range [...]struct {
		need bool
		word string
	}{
		{n.Tools, "tools"}, {n.Images, "images"}, {n.Documents, "documents"},
		{n.JSONSchema, "a JSON schema"}, {n.Thinking, "thinking"}, {n.Prefill, "a prefilled answer"},
	} {
		if w.need {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, ", ")
}

// notPortable reports that a target was skipped because the request can't be
// put in its form.
func (f *flight) notPortable(target string) bool {
	for i := range f.d.Skips {
		if f.d.Skips[i].Target == target && f.d.Skips[i].Kind == KindNotPortable {
			return true
		}
	}
	return false
}
