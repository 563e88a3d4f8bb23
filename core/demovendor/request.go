package demovendor

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// maxBody is the largest body that the real services take.
const maxBody = 32 << 20

// Request is one request as it arrived. It holds the caller's prompt and key.
type Request struct {
	// Number counts the vendor's requests from 0, in order of arrival.
	Number              uint64
	Method, Path, Query string
	Header              http.Header
	Body                []byte
	// Model and Stream are what the body asks for, when it can be read.
	Model  string
	Stream bool
}

// Credentials returns the names of the headers that carry, or might carry, a
// caller's identity: whatever travels here was sent to a third party.
func (r *Request) Credentials() []string {
	var names []string
	for _, k := range []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Cookie", "Proxy-Authorization", "X-Forwarded-For"} {
		if r.Header.Get(k) != "" {
			names = append(names, k)
		}
	}
	return names
}

// call is what a request's body says, as far as an answer depends on it.
type call struct {
	*Request
	fields   map[string]json.RawMessage // nil when the body is no JSON object
	syntax   error                      // why it is none
	body     callBody
	fieldErr error // a known field of the wrong type
}

// callBody is the part of both wires' bodies that answers depend on.
type callBody struct {
	Model               string          `json:"model"`
	Stream              bool            `json:"stream"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Messages            []message       `json:"messages"`
	System              json.RawMessage `json:"system"`
	Tools               []tool          `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	ResponseFormat      struct {
		Type string `json:"type"`
	} `json:"response_format"`
	OutputConfig struct {
		Format json.RawMessage `json:"format"`
	} `json:"output_config"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type tool struct {
	Name     string `json:"name"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

// name is the tool's name in whichever wire's place it stands.
func (t tool) name() string {
	if t.Name != "" {
		return t.Name
	}
	return t.Function.Name
}

// newCall reads the body as far as it can be read.
func newCall(r *Request) *call {
	c := &call{Request: r}
	if c.syntax = json.Unmarshal(r.Body, &c.fields); c.syntax != nil {
		c.fields = nil
		return c
	}
	c.fieldErr = json.Unmarshal(r.Body, &c.body)
	r.Model, r.Stream = c.body.Model, c.body.Stream
	return c
}

// has reports whether the body has the field, with a value that is not null.
func (c *call) has(field string) bool {
	v, ok := c.fields[field]
	return ok && string(v) != "null"
}

// promptTokens estimates the prompt at four bytes per token.
func (c *call) promptTokens() int {
	n := 0
	for _, field := range []string{"messages", "system", "tools"} {
		n += len(c.fields[field])
	}
	return (n + 3) / 4
}

// maxTokens is the output limit asked for, 0 when absent.
func (c *call) maxTokens() int {
	for _, p := range []*int{c.body.MaxCompletionTokens, c.body.MaxTokens} {
		if p != nil {
			return *p
		}
	}
	return 0
}

// forcedTool is the tool that the answer must call, "" for none.
func (c *call) forcedTool() string {
	if len(c.body.Tools) == 0 || len(c.body.ToolChoice) == 0 {
		return ""
	}
	var word string
	if json.Unmarshal(c.body.ToolChoice, &word) == nil {
		if word == "required" {
			return c.body.Tools[0].name()
		}
		return ""
	}
	var choice struct {
		Type string `json:"type"`
		tool
	}
	if json.Unmarshal(c.body.ToolChoice, &choice) != nil {
		return ""
	}
	if choice.Type == "any" {
		return c.body.Tools[0].name()
	}
	return choice.name()
}

// wantsJSON reports whether the answer's text must be a JSON document.
func (c *call) wantsJSON() bool {
	return len(c.body.OutputConfig.Format) > 4 ||
		c.body.ResponseFormat.Type == "json_object" || c.body.ResponseFormat.Type == "json_schema"
}

// cached estimates the part of the prompt that a cache would have held.
func (c *call) cached(w Wire) int {
	n := c.promptTokens()
	if w == WireOpenAI {
		if n < 1024 {
			return 0
		}
		return n * 3 / 4 / 128 * 128
	}
	if bytes.Contains(c.Body, []byte(`"cache_control"`)) {
		return n * 3 / 4
	}
	return 0
}
