package core

import (
	"fmt"
	"strings"
)

// noteMistake remembers what is the caller's own fault: it stays the answer
// whatever a later step says, because the caller alone can mend it (R09 of the
// field failures). It reports that the one more target which policy may grant
// such a request has failed too.
func (f *flight) noteMistake(step int, err *Error) (enough bool) {
	if f.mistake != nil {
		return true
	}
	if !err.Kind.CallerFault() {
		return false
	}
	f.mistake = err
	if err.Kind == KindContextExceeded {
		f.tooLong, f.window = true, f.w.rev.Catalog.Targets[f.plan.Steps[step].Index].ContextTokens
	}
	return false
}

// tooSmall reports that a step's window is not known to be larger than the one
// that was too small: where policy lets such a request go on at all, only more room helps.
func (f *flight) tooSmall(step int) bool {
	return f.tooLong && f.w.rev.Catalog.Targets[f.plan.Steps[step].Index].ContextTokens <= f.window
}

// untried completes the error of a request that no target was tried for. It is
// the caller's mistake if none of the use case's targets could ever serve it: a
// caller who is told to try again would do so for ever, one who is told that the
// prompt is too long shortens it. If waiting for rate limits is all there is to
// do, it says that.
func (f *flight) untried(out *Error) {
	facts := &f.d.Facts
	unable, window, foreign, cooling := 0, 0, 0, 0
	for i, served := range f.w.rev.Tables.Served[f.uc] {
		t := &f.w.rev.Catalog.Targets[i]
		switch {
		case !served:
		case !t.Able(facts):
			unable++
			window = max(window, t.windowFor(facts))
		case f.skippedFor(t.ID, KindNotPortable):
			foreign++
		case f.d.Snapshot.Targets[i].CoolingDown || f.skippedFor(t.ID, KindCoolingDown):
			cooling++
		default:
			return
		}
	}
	switch {
	case cooling > 0:
		out.Kind = KindCoolingDown
	case foreign > 0:
		out.Kind = KindNotPortable
	case unable > 0:
		out.Kind, out.Message = cannot(facts, window)
	}
}

// windowFor is the target's window in tokens if nothing but its size stands
// between target and request, otherwise 0.
func (t *Target) windowFor(f *Facts) int {
	roomy := *t
	roomy.ContextTokens = 0
	if !roomy.Able(f) {
		return 0
	}
	return t.ContextTokens
}

// cannot says why no target can serve a request; window is the largest of those
// that are only too small, 0 for none.
func cannot(f *Facts, window int) (Kind, string) {
	switch {
	case window == 0:
		return KindInvalidRequest, "no model of this use case can serve the request, which needs " + needed(f.Needs)
	case f.InputTokens > window:
		return KindContextExceeded, fmt.Sprintf("prompt is too long: %d tokens > %d maximum (estimated)", f.InputTokens, window)
	default:
		return KindContextExceeded, fmt.Sprintf("prompt and max_tokens are too long: %d + %d tokens > %d maximum (estimated)",
			f.InputTokens, f.MaxTokens, window)
	}
}

// needed lists needs in words.
func needed(n Needs) string {
	var words []string
	for _, w := range [...]struct {
		need bool
		word string
	}{
		{n.Tools, "tools"},
		{n.Images, "images"},
		{n.Documents, "documents"},
		{n.JSONSchema, "a JSON schema"},
		{n.Thinking, "thinking"},
		{n.Prefill, "a prefilled answer"},
	} {
		if w.need {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, ", ")
}

// skippedFor reports that a target was skipped for a reason.
func (f *flight) skippedFor(target string, k Kind) bool {
	for i := range f.d.Skips {
		if f.d.Skips[i].Target == target && f.d.Skips[i].Kind == k {
			return true
		}
	}
	return false
}
