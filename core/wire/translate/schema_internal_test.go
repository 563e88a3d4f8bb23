package translate

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestObjectSchema(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``:                                    `{"type":"object","properties":{}}`,
		`{}`:                                  `{"type":"object","properties":{}}`,
		` { "a" : 1 }`[1:]:                    `{"type":"object","properties":{},"a" : 1 }`,
		`{"type":"object"}`:                   `{"properties":{},"type":"object"}`,
		`{"properties":{"a":{}}}`:             `{"type":"object","properties":{"a":{}}}`,
		`{"properties":{},"type":"object"}`:   `{"properties":{},"type":"object"}`,
		`{"type":"object","properties":null}`: `{"type":"object","properties":null}`,
	} {
		got := string(objectSchema([]byte(in)))
		if got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

// TestStrictlyOpenAI has what OpenAI takes with strict: closed objects whose
// properties are all required, at every depth, and nothing that it won't enforce.
func TestStrictlyOpenAI(t *testing.T) {
	t.Parallel()
	object := func(properties, required, rest string) string {
		return `{"type":"object","properties":{` + properties + `},"required":[` + required + `],"additionalProperties":false` + rest + `}`
	}
	closed := object(`"a":{"type":"string"}`, `"a"`, "")
	for schema, want := range map[string]bool{
		closed:                           true,
		object("", "", ""):               true,
		object(`"o":`+closed, `"o"`, ""): true,
		object(`"l":{"type":"array","items":`+closed+`}`, `"l"`, ""):                                     true,
		object(`"n":{"type":["object","null"],"properties":{},"additionalProperties":false}`, `"n"`, ""): true,
		object(`"u":{"anyOf":[{"type":"null"},`+closed+`]}`, `"u"`, ""):                                  true,
		object(`"r":{"$ref":"#/$defs/d"}`, `"r"`, `,"$defs":{"d":`+closed+`}`):                           true,
		`{}`:                false,
		`true`:              false,
		`{"type":"string"}`: false,
		`{"type":"object","properties":{"a":{}},"required":["a"]}`:                             false,
		`{"type":"object","properties":{"a":{}},"additionalProperties":false}`:                 false,
		`{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":true}`: false,
		object(`"a":{"type":"string"},"b":{"type":"string"}`, `"a"`, ""):                       false,
		object(`"o":{"type":"object","properties":{"x":{}}}`, `"o"`, ""):                       false,
		object(`"n":{"type":["object","null"]}`, `"n"`, ""):                                    false,
		object(`"l":{"type":"array","items":{"type":"object"}}`, `"l"`, ""):                    false,
		object(`"l":{"type":"array","items":true}`, `"l"`, ""):                                 false,
		object(`"u":{"anyOf":[{"type":"object"}]}`, `"u"`, ""):                                 false,
		object(`"u":{"oneOf":[{"type":"null"}]}`, `"u"`, ""):                                   false,
		object(`"a":{"type":"string","default":"x"}`, `"a"`, ""):                               false,
		object(`"r":{"$ref":"#/$defs/d"}`, `"r"`, `,"$defs":{"d":{"type":"object"}}`):          false,
		object("", "", `,"anyOf":[]`):                                                          false,
		object("", "", `,"patternProperties":{}`):                                              false,
		object(`"long":{"description":"`+strings.Repeat("x", maxSchema)+`"}`, `"long"`, ""):    false,
	} {
		if got := strictlyOpenAI([]byte(schema), true); got != want {
			t.Errorf("%.120s: %v, want %v", schema, got, want)
		}
	}
}

// TestSimplify has what Anthropic takes as an output format (wire.md 1.7).
func TestSimplify(t *testing.T) {
	t.Parallel()
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(`,"p` + strings.Repeat("x", i) + `":{"type":"string"}`)
		}
		return `{"type":"object","properties":{` + b.String()[1:] + `}}`
	}
	for _, tt := range []struct{ in, want, blocker string }{
		{`{"type":"string","maxLength":5}`, `{"type":"string","description":"{maxLength: 5}"}`, ""},
		{`{"type":"string","description":"d","pattern":"a\"b"}`, `{"type":"string","description":"d\n\n{pattern: \"a\\\"b\"}"}`, ""},
		{`{"type":"string","format":"uuid"}`, `{"type":"string","format":"uuid"}`, ""},
		{`{"type":"array","items":{"type":"integer","multipleOf":2},"minItems":1,"maxItems":3}`,
			`{"type":"array","items":{"type":"integer","description":"{multipleOf: 2}"},"minItems":1,"description":"{maxItems: 3}"}`, ""},
		{`{"type":"array","items":[{"type":"string"}]}`, `{"type":"array","description":"{items: [{\"type\":\"string\"}]}"}`, ""},
		{`{"oneOf":[{"type":"string"},{"type":"null"}]}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`, ""},
		{`{"anyOf":[{"type":"string"}],"oneOf":[{"type":"null"}]}`, `{"anyOf":[{"type":"string"}],"description":"{oneOf: [{\"type\":\"null\"}]}"}`, ""},
		{`{"allOf":[{"type":"object","properties":{"a":{}}}]}`, `{"allOf":[{"type":"object","properties":{"a":{}},"additionalProperties":false}]}`, ""},
		{`{"type":"object","properties":{"a":true},"additionalProperties":{"type":"string"}}`, `{"type":"object","properties":{"a":true},"additionalProperties":false}`, ""},
		{`{"type":["object","null"],"additionalProperties":{"type":"number","minimum":0}}`, `{"type":["object","null"],"additionalProperties":{"type":"number","description":"{minimum: 0}"}}`, ""},
		{`{"type":"object","additionalProperties":false}`, `{"type":"object","additionalProperties":false}`, ""},
		{`{"$ref":"#/definitions/a","definitions":{"a":{"type":"null"}}}`, `{"$ref":"#/$defs/a"}`, ""},
		{`{"type":"object"}`, "", "additionalProperties"},
		{`{"type":"object","additionalProperties":true}`, "", "additionalProperties"},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"items":{"$ref":"#/$defs/a"}}}}`, "", "$ref"},
		{`{"$ref":"https://example.com/schema"}`, "", "$ref"},
		{`{"properties":{"a":{"$ref":"#/properties/b"}}}`, "", "$ref"},
		{many(25), "", "properties"},
		{`{"description":"` + strings.Repeat("x", maxSchema) + `"}`, "", "length"},
	} {
		got, s := simplify([]byte(tt.in))
		if s.blocker != tt.blocker || tt.blocker == "" && string(got) != tt.want {
			t.Errorf("%.120s\n became %s (blocked at %q)\n want %s (%q)", tt.in, got, s.blocker, tt.want, tt.blocker)
		}
		if tt.blocker == "" && !json.Valid(got) {
			t.Errorf("not JSON: %s", got)
		}
	}
	if _, s := simplify([]byte(many(24))); s.blocker != "" {
		t.Errorf("24 optional properties are blocked at %q", s.blocker)
	}
}
