package preset

import (
	"fmt"
	"path"
	"slices"

	"github.com/spillway-llm/spillway/core"
)

// Refusable returns the fields that a profile may refuse: those of a Chat
// Completions body that a request does without.
func Refusable() []string {
	return []string{
		"stream_options", "parallel_tool_calls", "safety_identifier", "user", "reasoning_effort", "response_format",
		"stop", "temperature", "top_p", "tools", "tool_choice",
	}
}

// Takable returns the fields beyond the API that a profile may take.
func Takable() []string { return []string{"top_k"} }

func checkProfile(p *core.Profile) error {
	switch {
	case !oneOf(p.MaxTokensField, "", "max_tokens", "max_completion_tokens"):
		return fmt.Errorf("max_tokens_field %q: %w", p.MaxTokensField, ErrData)
	case !oneOf(p.SystemRole, "", "system", "developer"):
		return fmt.Errorf("system_role %q: %w", p.SystemRole, ErrData)
	case !oneOf(p.EchoReasoning, "", "reasoning", "reasoning_content"):
		return fmt.Errorf("echo_reasoning %q: %w", p.EchoReasoning, ErrData)
	case p.ToolID.Least < 0 || p.ToolID.Most < 0 || p.ToolID.Most > 0 && (p.ToolID.Least > p.ToolID.Most || p.ToolID.Most < shortestID):
		return fmt.Errorf("tool_id from %d to %d letters; at least %d must be allowed: %w", p.ToolID.Least, p.ToolID.Most, shortestID, ErrData)
	}
	if err := words("refuses", p.Refuses, Refusable()); err != nil {
		return err
	}
	return words("takes", p.Takes, Takable())
}

// shortestID is how many letters keep rewritten ids apart.
const shortestID = 8

func checkModel(m *Model) error {
	if len(m.Match) == 0 {
		return fmt.Errorf("no match: %w", ErrData)
	}
	for _, pattern := range m.Match {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return fmt.Errorf("match %q is no pattern: %w", pattern, ErrData)
		}
	}
	if m.ContextTokens < 0 || m.MaxOutput < 0 {
		return fmt.Errorf("tokens below 0: %w", ErrData)
	}
	if err := words("capabilities", m.Capabilities, CapabilityNames()); err != nil {
		return err
	}
	return CheckTraits(&m.Traits)
}

// CheckTraits reports a word that traits must not hold.
func CheckTraits(t *core.Traits) error {
	if t.Sampling != core.SamplingDefault && !slices.Contains(core.Samplings(), t.Sampling) {
		return fmt.Errorf("sampling %q: %w", t.Sampling, ErrData)
	}
	if err := words("thinking", t.Thinking, core.ThinkingTypes()); err != nil {
		return err
	}
	return words("efforts", t.Efforts, core.Efforts())
}

func oneOf(s string, allowed ...string) bool { return slices.Contains(allowed, s) }

func words(field string, got, allowed []string) error {
	for _, w := range got {
		if !slices.Contains(allowed, w) {
			return fmt.Errorf("%s: %q is not one of %q: %w", field, w, allowed, ErrData)
		}
	}
	return nil
}
