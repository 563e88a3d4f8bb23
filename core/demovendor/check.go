package demovendor

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// problem is a refusal in neither wire's words yet.
type problem struct {
	status             int
	typ, code, message string
	param              string
	// detail is the error code in Anthropic's words, whose errors mostly have none.
	detail string
}

func invalid(param, format string, args ...any) *problem {
	return &problem{status: http.StatusBadRequest, param: param, message: fmt.Sprintf(format, args...)}
}

// admit says why the request would not be let in, or nil.
func (v *Vendor) admit(r *http.Request) *problem {
	if v.cfg.RequireKey == "" {
		return nil
	}
	if key := r.Header.Get("X-Api-Key"); v.cfg.Wire != WireOpenAI && key == v.cfg.RequireKey {
		return nil
	}
	if r.Header.Get("Authorization") == "Bearer "+v.cfg.RequireKey {
		return nil
	}
	return &problem{status: http.StatusUnauthorized, message: "invalid API key"}
}

// check says why the real service would refuse the call, or nil.
func (v *Vendor) check(c *call) *problem {
	switch {
	case c.syntax != nil:
		return invalid("", "The request body is not valid JSON: %v", c.syntax)
	case c.fieldErr != nil:
		return invalid("", "The request body has a field of the wrong type: %v", c.fieldErr)
	}
	if p := v.wire.check(c, v.cfg.Strict); p != nil {
		return p
	}
	return v.checkModel(c)
}

// checkModel refuses models that are not served and what is too much for one.
func (v *Vendor) checkModel(c *call) *problem {
	m := v.model(c.Model)
	if m == nil {
		return &problem{status: http.StatusNotFound, code: "model_not_found", param: "model",
			message: fmt.Sprintf("model: %s does not exist here", c.Model)}
	}
	prompt, want := c.promptTokens(), c.maxTokens()
	if m.MaxOutput > 0 && want > m.MaxOutput {
		return invalid("max_tokens", "max_tokens: %d > %d, the most that %s gives", want, m.MaxOutput, m.Name)
	}
	if m.ContextTokens > 0 && prompt > m.ContextTokens {
		p := invalid("messages", "prompt is too long: %d tokens > %d maximum", prompt, m.ContextTokens)
		p.code = "context_length_exceeded"
		return p
	}
	return nil
}

// checkMessages refuses an empty conversation and unknown roles.
func checkMessages(c *call, roles ...string) *problem {
	if !c.has("messages") {
		return invalid("messages", "messages: field required")
	}
	if len(c.body.Messages) == 0 {
		return invalid("messages", "messages: at least one message is required")
	}
	for i, m := range c.body.Messages {
		if !slices.Contains(roles, m.Role) {
			return invalid("messages", "messages.%d.role: must be one of %s", i, strings.Join(roles, ", "))
		}
	}
	return nil
}

// unknown returns the path of the first key, in alphabetical order, that is not
// in the allowed list, or "".
func unknown(raw json.RawMessage, path, allowed string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return ""
	}
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(strings.Fields(allowed), k) {
			return path + k
		}
	}
	return ""
}

// unknownIn is unknown for each object of a list, and below for each of them.
func unknownIn(raw json.RawMessage, path, allowed string, below func(item json.RawMessage, path string) string) string {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return ""
	}
	for i, item := range items {
		at := fmt.Sprintf("%s[%d].", path, i)
		if p := unknown(item, at, allowed); p != "" {
			return p
		}
		if below == nil {
			continue
		}
		if p := below(item, at); p != "" {
			return p
		}
	}
	return ""
}
