package config

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/preset"
)

// maxPresets bounds a file of presets, in bytes.
const maxPresets = 1 << 20

// loadPresets puts the presets of a file before the shipped ones.
func (in *reader) loadPresets(top value) error {
	shipped, err := preset.Shipped()
	if err != nil {
		return fmt.Errorf("read the shipped presets: %w", err)
	}
	in.presets = shipped
	v, given := top.field("presets")
	if !given {
		return nil
	}
	name := v.text()
	if name == "" {
		return nil
	}
	doc, err := readRegular(name)
	if err == nil {
		in.presets, err = shipped.Extend(doc)
	}
	if err != nil {
		in.presets = shipped
		v.refuse("write a JSON file like core/wire/preset/profiles.json or models.json", "%v", err)
	}
	return nil
}

// readRegular reads a file of a sensible size; a device or a pipe might never end.
func readRegular(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, errors.New("the file can't be opened")
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxPresets {
		return nil, fmt.Errorf("no regular file of at most %d bytes", maxPresets)
	}
	return io.ReadAll(f)
}

// profile reads a preset's name, or a mapping that says what differs from one.
func (v value) profile() core.Profile {
	if v.node.Kind != yaml.MappingNode {
		return v.preset()
	}
	var p core.Profile
	if base, ok := v.field("base"); ok {
		p = base.preset()
	}
	v.object(fields{
		"base":             func(value) {},
		"as_of":            func(v value) { p.AsOf = v.date() },
		"max_tokens_field": func(v value) { p.MaxTokensField = v.oneOf("max_tokens", "max_completion_tokens") },
		"system_role":      func(v value) { p.SystemRole = v.oneOf("system", "developer") },
		"refuses":          func(v value) { p.Refuses = v.words(preset.Refusable()) },
		"takes":            func(v value) { p.Takes = v.words(preset.Takable()) },
		"tool_id":          func(v value) { p.ToolID = v.toolID() },
		"echo_reasoning":   func(v value) { p.EchoReasoning = v.oneOf("reasoning", "reasoning_content") },
		"no_content_parts": func(v value) { p.NoContentParts = v.yes() },
		"plain_texts":      func(v value) { p.PlainTexts = v.yes() },
		"no_late_system":   func(v value) { p.NoLateSystem = v.yes() },
		"no_files":         func(v value) { p.NoFiles = v.yes() },
		"no_image_urls":    func(v value) { p.NoImageURLs = v.yes() },
	})
	return p
}

func (v value) preset() core.Profile {
	p, _ := v.in.presets.Profile(v.oneOf(v.in.presets.Profiles()...))
	return p
}

func (v value) toolID() core.ToolIDRule {
	var r core.ToolIDRule
	v.object(fields{
		"least":        func(v value) { r.Least = v.whole(0, 64) },
		"most":         func(v value) { r.Most = v.whole(8, 1024) },
		"alphanumeric": func(v value) { r.Alphanumeric = v.yes() },
	})
	if r.Most > 0 && r.Least > r.Most {
		v.refuse("give most a larger number", "least is more than most")
	}
	return r
}

// traits reads what differs from what is known of the model.
func (v value) traits(t *core.Traits) {
	sampling := make([]string, 0, len(core.Samplings()))
	for _, s := range core.Samplings() {
		sampling = append(sampling, string(s))
	}
	v.object(fields{
		"as_of":                   func(v value) { t.AsOf = v.date() },
		"sampling":                func(v value) { t.Sampling = core.Sampling(v.oneOf(sampling...)) },
		"thinking":                func(v value) { t.Thinking = v.words(core.ThinkingTypes()) },
		"efforts":                 func(v value) { t.Efforts = v.words(core.Efforts()) },
		"no_forced_tools":         func(v value) { t.NoForcedTools = v.yes() },
		"system_turns":            func(v value) { t.SystemTurns = v.yes() },
		"no_stop":                 func(v value) { t.NoStop = v.yes() },
		"no_reasoning_with_tools": func(v value) { t.NoReasoningWithTools = v.yes() },
	})
}

// words reads a list of words from a closed list; an empty list is none.
func (v value) words(known []string) []string {
	var out []string
	if v.node.Kind == yaml.SequenceNode && len(v.node.Content) == 0 {
		return out
	}
	v.list(func(v value) {
		if w := v.oneOf(known...); w != "" {
			out = append(out, w)
		}
	})
	return out
}

// yes reads true or false.
func (v value) yes() bool { return v.oneOf("true", "false") == "true" }

// checkProfile tells where a server that is nobody's known one passes for
// OpenAI itself.
func (v value) checkProfile(p *core.Provider, given bool) {
	if p.Wire != core.WireOpenAI {
		if at, ok := v.field("profile"); ok {
			at.refuse("leave it out", "profiles are for servers that speak openai")
		}
		return
	}
	if given {
		return
	}
	for _, n := range p.Nodes {
		u, err := url.Parse(n.BaseURL)
		if err != nil {
			continue
		}
		if host := u.Hostname(); host != "api.openai.com" && !strings.HasSuffix(host, ".openai.azure.com") {
			v.warn(`name one, for example "profile: openai-compatible"`,
				"no profile: requests from callers of the other format are written as for OpenAI itself")
			return
		}
	}
}
