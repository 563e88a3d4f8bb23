package translate

import (
	"fmt"
	"strings"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// checkpoint looks at a finished body just before it is sent and refuses it when
// any key is left, at any depth, that the target's form of plain text does not
// have: one vendor's markers make the other refuse the request, and the
// fallback would be dead exactly when it is needed (R7.2). It names the key's
// path. It shares no code with what wrote the body.
func checkpoint(to core.Wire, doc []byte) *core.Error {
	w := walk.New(doc)
	path := left(&w, to, "", "")
	if path == "" && !w.End() {
		path = w.Err().Error()
	}
	if path == "" {
		return nil
	}
	return notPortable(path)
}

// left returns the path of the first key that does not belong. The place is the
// path without its indices.
func left(w *walk.Walker, to core.Wire, path, place string) string {
	switch w.Kind() {
	case '{':
		w.Enter()
		for name, ok := w.Member(); ok; name, ok = w.Member() {
			at, in := strings.TrimPrefix(path+"."+string(name), "."), strings.TrimPrefix(place+"."+string(name), ".")
			if !belongs(to, in) {
				return at
			}
			if found := left(w, to, at, in); found != "" {
				return found
			}
		}
	case '[':
		w.Enter()
		for i := 0; w.Element(); i++ {
			if found := left(w, to, fmt.Sprintf("%s[%d]", path, i), place); found != "" {
				return found
			}
		}
	default:
		w.Skip()
	}
	return ""
}

func belongs(to core.Wire, place string) bool {
	switch place {
	case "model", "messages", "messages.role", "messages.content", "messages.content.type", "messages.content.text",
		"max_tokens", "temperature", "top_p", "stream":
		return true
	case "max_completion_tokens", "stop", "stream_options", "stream_options.include_usage", "safety_identifier":
		return to == core.WireOpenAI
	case "system", "system.type", "system.text", "stop_sequences", "metadata", "metadata.user_id":
		return to == core.WireAnthropic
	}
	return false
}
