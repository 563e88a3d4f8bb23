package translate_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/translate"
)

type object = map[string]any

// word draws a text that is not blank, with what JSON must escape.
func word(t *rapid.T, name string) string {
	return rapid.StringMatching(`[a-zA-Z0-9"\\/\n é日]{0,12}x`).Draw(t, name)
}

func chance(t *rapid.T, name string) bool { return rapid.Bool().Draw(t, name) }

func textBlock(s string) object { return object{"type": "text", "text": s} }

const pixel = "iVBORw0KGgo="

// portable draws a Messages request that both forms can say.
func portable(t *rapid.T) object {
	body := object{"model": "claude", "max_tokens": rapid.IntRange(1, 90).Draw(t, "max"), "messages": conversation(t)}
	if chance(t, "system?") {
		body["system"] = word(t, "system")
	}
	if n := rapid.IntRange(0, 4).Draw(t, "stops"); n > 0 {
		body["stop_sequences"] = rapid.SliceOfN(rapid.StringMatching(`[A-Z]{1,4}`), n, n).Draw(t, "stop")
	}
	if chance(t, "sampling?") {
		body["temperature"] = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "temperature")
		body["top_p"] = rapid.SampledFrom([]float64{0.1, 1}).Draw(t, "top_p")
	}
	if chance(t, "user?") {
		body["metadata"] = object{"user_id": rapid.StringMatching(`[a-z]{1,100}`).Draw(t, "user")}
	}
	if chance(t, "stream?") {
		body["stream"] = true
	}
	if chance(t, "format?") {
		body["output_config"] = object{"format": object{"type": "json_schema", "schema": closedSchema(t)}}
	}
	tools(t, body)
	return body
}

func closedSchema(t *rapid.T) object {
	properties, required := object{}, []string{}
	for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,5}`), 1, 4, rapid.ID).Draw(t, "properties") {
		properties[name] = object{"type": rapid.SampledFrom([]string{"string", "integer", "boolean"}).Draw(t, "type")}
		required = append(required, name)
	}
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// toolNames are the names that calls and definitions use, one of them too long
// for one of the vendors.
func toolNames() []string { return []string{"f", "get-weather_2", strings.Repeat("long_", 20)} }

func tools(t *rapid.T, body object) {
	if !chance(t, "tools?") {
		return
	}
	var all []object
	for _, name := range toolNames() {
		tool := object{"name": name, "input_schema": closedSchema(t)}
		if chance(t, "described?") {
			tool["description"] = word(t, "description")
		}
		if chance(t, "strict?") {
			tool["strict"] = true
		}
		all = append(all, tool)
	}
	body["tools"] = all
	choice := object{"type": rapid.SampledFrom([]string{"auto", "any", "none", "tool"}).Draw(t, "choice")}
	if choice["type"] == "tool" {
		choice["name"] = rapid.SampledFrom(toolNames()).Draw(t, "chosen")
	}
	if choice["type"] != "none" && chance(t, "alone?") {
		choice["disable_parallel_tool_use"] = true
	}
	body["tool_choice"] = choice
}

// conversation draws turns that begin and end with the user; calls have results.
func conversation(t *rapid.T) []object {
	all := []object{{"role": "user", "content": userBlocks(t, nil)}}
	calls := 0
	for range rapid.IntRange(0, 3).Draw(t, "turns") {
		var blocks, results []object
		for range rapid.IntRange(0, 2).Draw(t, "texts") {
			blocks = append(blocks, textBlock(word(t, "said")))
		}
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			id := fmt.Sprintf("toolu_%d", calls)
			calls++
			blocks = append(blocks, object{
				"type": "tool_use", "id": id, "name": rapid.SampledFrom(toolNames()).Draw(t, "tool"),
				"input": object{"a": word(t, "argument"), "n": rapid.IntRange(0, 9).Draw(t, "n")},
			})
			result := object{"type": "tool_result", "tool_use_id": id, "content": word(t, "result")}
			if chance(t, "failed?") {
				result["is_error"] = true
			}
			results = append(results, result)
		}
		if len(blocks) == 0 {
			blocks = append(blocks, textBlock("ok"))
		}
		slices.Reverse(results) // their order is free
		all = append(all, object{"role": "assistant", "content": blocks}, object{"role": "user", "content": userBlocks(t, results)})
	}
	return all
}

func userBlocks(t *rapid.T, results []object) []object {
	blocks := results
	for range rapid.IntRange(0, 3).Draw(t, "blocks") {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			blocks = append(blocks, object{"type": "image", "source": object{"type": "base64", "media_type": "image/png", "data": pixel}})
		case 1:
			blocks = append(blocks, object{"type": "image", "source": object{"type": "url", "url": "https://example.com/" + rapid.StringMatching(`[a-z]{1,5}`).Draw(t, "path")}})
		default:
			blocks = append(blocks, textBlock(word(t, "asked")))
		}
	}
	if len(blocks) == len(results) {
		blocks = append(blocks, textBlock("go on"))
	}
	return blocks
}

// meaning is what a Messages request says, whichever of the ways to write it was
// chosen: contents as blocks, schemas without empty rests.
func meaning(t *rapid.T, doc []byte, names translate.Names) object {
	var body object
	if err := json.Unmarshal(doc, &body); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	delete(body, "model")
	given := func(v any) any {
		if s, ok := v.(string); ok && names[s] != "" {
			return names[s]
		}
		return v
	}
	for _, m := range body["messages"].([]any) {
		m := m.(object)
		m["content"] = blocksOf(m["content"])
		for _, b := range m["content"].([]any) {
			if b := b.(object); b["name"] != nil {
				b["name"] = given(b["name"])
			}
		}
	}
	if v := body["system"]; v != nil {
		body["system"] = blocksOf(v)
	}
	for _, tool := range asList(body["tools"]) {
		tool := tool.(object)
		tool["name"] = given(tool["name"])
	}
	if choice, ok := body["tool_choice"].(object); ok && choice["name"] != nil {
		choice["name"] = given(choice["name"])
	}
	return body
}

func asList(v any) []any { l, _ := v.([]any); return l }

func blocksOf(content any) any {
	if s, ok := content.(string); ok {
		return []any{object{"type": "text", "text": s}}
	}
	return content
}

// exact are targets that take everything as it is said.
func exact(model string) *core.Target {
	t := able()
	t.Model = model
	t.Traits.Sampling = core.SamplingBoth
	return t
}

// TestProperty_ThereAndBack holds that a portable request that went to the other
// vendor's form and back says what it said, and that nothing is warned of that
// is not a matter of the forms.
func TestProperty_ThereAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc, err := json.Marshal(portable(t))
		if err != nil {
			t.Fatal(err)
		}
		there, err := translate.Request(core.WireAnthropic, core.WireOpenAI, doc, exact("gpt"))
		if err != nil {
			t.Fatalf("there: %v\n%s", err, doc)
		}
		back, err := translate.Request(core.WireOpenAI, core.WireAnthropic, there.Body, exact("claude"))
		if err != nil {
			t.Fatalf("back: %v\n%s", err, there.Body)
		}
		if want, got := meaning(t, doc, nil), meaning(t, back.Body, there.Names); !reflect.DeepEqual(got, want) {
			t.Fatalf("came back as\n%s\nfrom\n%s\nover\n%s", back.Body, doc, there.Body)
		}
		for _, w := range slices.Concat(there.Warnings, back.Warnings) {
			if !strings.Contains(w, "is_error") && !strings.Contains(w, "stop_sequences") {
				t.Fatalf("warned of %q:\n%s", w, doc)
			}
		}
	})
}

// droppable are changes that add something which the other form has no place
// for, and the word that a warning must have.
func droppable() map[string]func(body object) {
	ephemeral := object{"type": "ephemeral"}
	block := func(body object) object { return body["messages"].([]object)[0]["content"].([]object)[0] }
	return map[string]func(body object){
		"cache_control":      func(b object) { b["cache_control"] = ephemeral },
		"cache_control ":     func(b object) { block(b)["cache_control"] = ephemeral },
		"cache_control  ":    func(b object) { b["system"] = []object{{"type": "text", "text": "s", "cache_control": ephemeral}} },
		"cache_control   ":   func(b object) { b["tools"] = []object{{"name": "f", "cache_control": ephemeral}} },
		"top_k":              func(b object) { b["top_k"] = 5 },
		"service_tier":       func(b object) { b["service_tier"] = "auto" },
		"speed":              func(b object) { b["speed"] = "fast" },
		"diagnostics":        func(b object) { b["diagnostics"] = object{} },
		"betas":              func(b object) { b["betas"] = []string{"x"} },
		"thinking":           func(b object) { b["thinking"] = object{"type": "adaptive"} },
		"effort":             func(b object) { b["output_config"] = object{"effort": "high"} },
		"input_examples":     func(b object) { b["tools"] = []object{{"name": "f", "input_examples": []any{}}} },
		"defer_loading":      func(b object) { b["tools"] = []object{{"name": "f", "defer_loading": true}} },
		"eager_input":        func(b object) { b["tools"] = []object{{"name": "f", "eager_input_streaming": true}} },
		"context_management": func(b object) { b["context_management"] = object{"edits": []any{}} },
		"max_tokens":         func(b object) { b["max_tokens"] = 1000 },
		"type=thinking": func(b object) {
			b["messages"] = append(b["messages"].([]object),
				object{"role": "assistant", "content": []object{{"type": "thinking", "thinking": "t", "signature": "s"}, textBlock("x")}},
				object{"role": "user", "content": []object{textBlock("x")}})
		},
	}
}

// blocking are changes that make a request not portable, by the path.
func blocking() map[string]func(body object) {
	add := func(block object) func(object) {
		return func(b object) {
			b["messages"] = append([]object{{"role": "user", "content": []object{block}}}, b["messages"].([]object)...)
		}
	}
	return map[string]func(body object){
		"inference_geo":                         func(b object) { b["inference_geo"] = "eu" },
		"container":                             func(b object) { b["container"] = "c" },
		"mcp_servers":                           func(b object) { b["mcp_servers"] = []object{{"type": "url"}} },
		"thread":                                func(b object) { b["thread"] = object{} },
		"tools[0].type=code_execution_20260521": func(b object) { b["tools"] = []object{{"type": "code_execution_20260521", "name": "c"}} },
		"messages[0].content[0].type=container_upload": add(object{"type": "container_upload"}),
		"messages[0].content[0].source.type=file":      add(object{"type": "image", "source": object{"type": "file", "file_id": "f"}}),
		"messages[0].content[0].citations.enabled": add(object{"type": "document", "citations": object{"enabled": true},
			"source": object{"type": "text", "media_type": "text/plain", "data": "x"}}),
	}
}

// some draws a few of the changes and makes them.
func some(t *rapid.T, changes map[string]func(object), body object) []string {
	var names []string
	for name := range changes {
		names = append(names, name)
	}
	slices.Sort(names)
	made := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 4, rapid.ID).Draw(t, "changes")
	slices.Sort(made)
	for _, name := range made {
		changes[name](body)
	}
	return made
}

// TestProperty_WhatIsDroppedIsTold holds that no field vanishes without a word.
func TestProperty_WhatIsDroppedIsTold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := portable(t)
		delete(body, "tool_choice") // the changes replace the tools
		delete(body, "output_config")
		made := some(t, droppable(), body)
		doc, _ := json.Marshal(body)
		form, err := translate.Request(core.WireAnthropic, core.WireOpenAI, doc, exact("gpt"))
		if err != nil {
			t.Fatalf("%v: %v", made, err)
		}
		told := strings.Join(form.Warnings, "\n")
		for _, name := range made {
			if strings.Contains(string(doc), strings.TrimPrefix(strings.TrimSpace(name), "type=")) && !strings.Contains(told, strings.TrimSpace(name)) {
				t.Fatalf("%q is not told in\n%s\nof %s", name, told, doc)
			}
		}
		if strings.Contains(string(form.Body), "cache_control") {
			t.Fatalf("a marker is left: %s", form.Body)
		}
	})
}

// TestProperty_WhatCannotGoBlocks holds that what is not portable blocks, by its
// own path and together with everything else that does.
func TestProperty_WhatCannotGoBlocks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := portable(t)
		delete(body, "tool_choice")
		made := some(t, blocking(), body)
		doc, _ := json.Marshal(body)
		form, err := translate.Request(core.WireAnthropic, core.WireOpenAI, doc, exact("gpt"))
		if core.KindOf(err) != core.KindNotPortable || form.Body != nil {
			t.Fatalf("%v: %v", made, err)
		}
		told := strings.Join(form.Blockers, "\n")
		for _, path := range made {
			if _, rest, _ := strings.Cut(path, "messages[0]"); rest != "" {
				path = rest // other changes may stand before it
			}
			if !strings.Contains(told, path) {
				t.Fatalf("%q does not block in\n%s\nof %s", path, told, doc)
			}
		}
	})
}
