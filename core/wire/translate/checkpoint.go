package translate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// checkpoint looks at a finished body just before it is sent and returns the
// path of the first key, at any depth, that the target's form does not have, ""
// when there is none: one vendor's markers make the other refuse the request,
// and the fallback would be dead exactly when it is needed (R7.2). It shares no
// code with what wrote the body. What is the caller's own below a key, the
// arguments of a call or a schema, is not looked into.
func checkpoint(to core.Wire, doc []byte, p *core.Profile) string {
	w := walk.New(doc)
	path := left(&w, &border{to: to, profile: p}, "")
	if path == "" && !w.End() {
		path = w.Err().Error()
	}
	return path
}

// border is what may cross to one target.
type border struct {
	to      core.Wire
	profile *core.Profile
}

// left returns the path, from here, of the first key that does not belong. The
// place is the path from the top without its indices.
func left(w *walk.Walker, b *border, place string) string {
	switch w.Kind() {
	case '{':
		w.Enter()
		for name, ok := w.Member(); ok; name, ok = w.Member() {
			in := string(name)
			if place != "" {
				in = place + "." + in
			}
			switch {
			case len(name) == 0:
				return `""` // no form has it, and an empty path would say that all is well
			case !b.allows(in):
				return string(name)
			}
			if free(in) {
				w.Skip()
				continue
			}
			if found := left(w, b, in); found != "" {
				return below(string(name), found)
			}
		}
	case '[':
		w.Enter()
		for i := 0; w.Element(); i++ {
			if found := left(w, b, place); found != "" {
				return below(fmt.Sprintf("[%d]", i), found)
			}
		}
	default:
		w.Skip()
	}
	return ""
}

func below(at, path string) string {
	if path[0] == '[' {
		return at + path
	}
	return at + "." + path
}

// free reports whether what stands below a key is the caller's own.
func free(place string) bool {
	switch place {
	case "tools.function.parameters", "response_format.json_schema.schema",
		"tools.input_schema", "messages.content.input", "output_config.format.schema":
		return true
	}
	return false
}

func (b *border) allows(place string) bool {
	if b.to == core.WireAnthropic {
		return anthropicPlace(place)
	}
	return !slices.Contains(b.profile.Refuses, place) &&
		(openAIPlace(place) || slices.Contains(b.profile.Takes, place) ||
			b.profile.EchoReasoning != "" && place == "messages."+b.profile.EchoReasoning)
}

// openAIPlace reports whether Chat Completions has a key at the place.
func openAIPlace(place string) bool {
	switch place {
	case "model", "max_tokens", "max_completion_tokens", "temperature", "top_p", "stop", "stream",
		"stream_options", "stream_options.include_usage", "safety_identifier", "user", "reasoning_effort", "parallel_tool_calls",
		"messages", "messages.role", "messages.content", "messages.content.type", "messages.content.text",
		"messages.content.image_url", "messages.content.image_url.url",
		"messages.content.file", "messages.content.file.filename", "messages.content.file.file_data",
		"messages.tool_call_id", "messages.tool_calls", "messages.tool_calls.id", "messages.tool_calls.type",
		"messages.tool_calls.function", "messages.tool_calls.function.name", "messages.tool_calls.function.arguments",
		"tools", "tools.type", "tools.function", "tools.function.name", "tools.function.description",
		"tools.function.parameters", "tools.function.strict",
		"tool_choice", "tool_choice.type", "tool_choice.function", "tool_choice.function.name",
		"response_format", "response_format.type", "response_format.json_schema", "response_format.json_schema.name",
		"response_format.json_schema.schema", "response_format.json_schema.strict":
		return true
	}
	return false
}

// anthropicPlace reports whether Messages has a key at the place.
func anthropicPlace(place string) bool {
	switch place {
	case "model", "max_tokens", "temperature", "top_p", "stop_sequences", "stream", "service_tier",
		"metadata", "metadata.user_id", "thinking", "thinking.type", "thinking.budget_tokens",
		"output_config", "output_config.effort", "output_config.format", "output_config.format.type", "output_config.format.schema",
		"system", "system.type", "system.text", "messages", "messages.role", "messages.content",
		"tools", "tools.name", "tools.description", "tools.input_schema", "tools.strict",
		"tool_choice", "tool_choice.type", "tool_choice.name", "tool_choice.disable_parallel_tool_use":
		return true
	}
	if in, ok := strings.CutPrefix(place, "system.cache_control"); ok {
		return in == "" || in == ".type" || in == ".ttl"
	}
	if in, ok := strings.CutPrefix(place, "messages.content.content."); ok {
		return blockPlace(in) // inside a tool result
	}
	in, ok := strings.CutPrefix(place, "messages.content.")
	return ok && blockPlace(in)
}

// blockPlace reports whether a content block has a key at the place.
func blockPlace(place string) bool {
	switch place {
	case "type", "text", "cache_control", "cache_control.type", "cache_control.ttl",
		"source", "source.type", "source.media_type", "source.data", "source.url", "title",
		"id", "name", "input", "tool_use_id", "content", "is_error":
		return true
	}
	return false
}
