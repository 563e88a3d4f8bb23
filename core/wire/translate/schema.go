package translate

import (
	"bytes"
	"slices"
	"strings"

	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// objectSchema returns a tool's schema as the schema of an object, which both
// vendors ask for and callers leave out.
func objectSchema(schema []byte) []byte {
	if len(schema) == 0 {
		return []byte(`{"type":"object","properties":{}}`)
	}
	var extra []byte
	if walk.Get(schema, "type") == nil {
		extra = append(extra, `"type":"object",`...)
	}
	if walk.Get(schema, "properties") == nil {
		extra = append(extra, `"properties":{},`...)
	}
	if extra == nil {
		return schema
	}
	rest := bytes.TrimLeft(schema[1:], " \t\r\n")
	if rest[0] == '}' {
		extra = extra[:len(extra)-1]
	}
	return append(append([]byte{'{'}, extra...), rest...)
}

// member is one field of a schema, in the order of the document: models write
// their answers in that order.
type member struct {
	name  string
	value []byte
}

func members(object []byte) []member {
	var all []member
	w := walk.New(object)
	if w.Kind() != '{' || !w.Enter() {
		return nil
	}
	for name, ok := w.Member(); ok; name, ok = w.Member() {
		all = append(all, member{string(name), w.Value()})
	}
	return all
}

func elements(array []byte) [][]byte {
	var all [][]byte
	w := walk.New(array)
	if w.Kind() != '[' || !w.Enter() {
		return nil
	}
	for w.Element() {
		all = append(all, w.Value())
	}
	return all
}

// strictlyOpenAI reports whether OpenAI takes a schema with strict: every object
// is closed and needs all of its properties, and no rule is of a kind that it
// does not enforce.
func strictlyOpenAI(schema []byte, root bool) bool {
	if kind(schema) != "object" || len(schema) > maxSchema {
		return false
	}
	if root && string(walk.Bytes(walk.Get(schema, "type"))) != "object" {
		return false
	}
	for _, m := range members(schema) {
		switch m.name {
		case "allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas",
			"patternProperties", "unevaluatedProperties", "default":
			return false
		case "properties", "$defs", "definitions":
			if slices.ContainsFunc(members(m.value), func(p member) bool { return !strictlyOpenAI(p.value, false) }) {
				return false
			}
		case "items":
			if !strictlyOpenAI(m.value, false) {
				return false
			}
		case "anyOf":
			if root || slices.ContainsFunc(elements(m.value), func(e []byte) bool { return !strictlyOpenAI(e, false) }) {
				return false
			}
		}
	}
	return closedAndComplete(schema)
}

// closedAndComplete reports whether an object's schema, if it is one, allows no
// further properties and requires all that it has.
func closedAndComplete(schema []byte) bool {
	properties := members(walk.Get(schema, "properties"))
	if !isObjectSchema(schema) {
		return true
	}
	if string(walk.Get(schema, "additionalProperties")) != "false" {
		return false
	}
	required := requiredNames(schema)
	return !slices.ContainsFunc(properties, func(m member) bool { return !required[m.name] })
}

func requiredNames(schema []byte) map[string]bool {
	names := map[string]bool{}
	for _, e := range elements(walk.Get(schema, "required")) {
		names[string(walk.Bytes(e))] = true
	}
	return names
}

// isObjectSchema reports whether a schema describes an object, also one that may
// be null.
func isObjectSchema(schema []byte) bool {
	typ := walk.Get(schema, "type")
	if kind(typ) == "array" {
		return slices.ContainsFunc(elements(typ), func(e []byte) bool { return string(e) == `"object"` })
	}
	return string(typ) == `"object"` || typ == nil && walk.Get(schema, "properties") != nil
}

// simplifier writes a schema so that Anthropic takes it as an output format
// (wire.md 1.7): objects closed, oneOf as anyOf, and rules that are not enforced
// moved into the descriptions, where the model reads them.
type simplifier struct {
	moved    []string // rules that went into descriptions
	closed   bool     // an object was closed
	optional int      // properties that are not required
	blocker  string   // what Anthropic refuses, "" for nothing
}

// maxOptional is how many optional properties a schema may have.
const maxOptional = 24

// maxSchema is how long a schema may be that has to be looked into, in bytes;
// both vendors allow less. It bounds the work, because each level is walked anew.
const maxSchema = 256 << 10

// simplify returns the schema, or what stands in its way.
func simplify(schema []byte) (out []byte, s simplifier) {
	if len(schema) > maxSchema {
		s.blocker = "length"
		return nil, s
	}
	if recursive(schema) {
		s.blocker = "$ref"
		return nil, s
	}
	out = s.schema(nil, schema)
	if s.optional > maxOptional {
		s.blocker = "properties"
	}
	return out, s
}

// schema appends one schema.
func (s *simplifier) schema(dst, doc []byte) []byte {
	if kind(doc) != "object" {
		return append(dst, doc...) // true and false are schemas
	}
	if ref := walk.Get(doc, "$ref"); walk.IsString(ref) {
		ref = bytes.Replace(ref, []byte("#/definitions/"), []byte("#/$defs/"), 1)
		return append(append(append(dst, `{"$ref":`...), ref...), '}')
	}
	var description []byte
	var extras []string
	both := walk.Get(doc, "anyOf") != nil
	dst = append(dst, '{')
	for _, m := range members(doc) {
		if m.name == "oneOf" && both || m.name == "items" && kind(m.value) != "object" {
			extras = s.move(extras, m)
			continue
		}
		switch m.name {
		case "type", "title", "enum", "const", "required":
			dst = appendField(dst, m.name, m.value)
		case "description":
			description = m.value
		case "$schema", "$id", "$comment", "additionalProperties":
		case "properties", "$defs", "definitions":
			dst = s.named(dst, m)
		case "anyOf", "oneOf", "allOf":
			dst = s.several(dst, m)
		case "items":
			dst = s.schema(appendField(dst, m.name, nil), m.value)
		default:
			if s.enforced(m) {
				dst = appendField(dst, m.name, m.value)
				continue
			}
			extras = s.move(extras, m)
		}
	}
	dst = s.closeObject(dst, doc)
	if description = describe(description, extras); description != nil {
		dst = appendField(dst, "description", description)
	}
	return append(dst, '}')
}

// move puts a rule among those for the description.
func (s *simplifier) move(extras []string, rule member) []string {
	if !slices.Contains(s.moved, rule.name) {
		s.moved = append(s.moved, rule.name)
	}
	return append(extras, rule.name+": "+string(rule.value))
}

// enforced reports whether Anthropic enforces a rule.
func (s *simplifier) enforced(m member) bool {
	switch m.name {
	case "minItems":
		return string(m.value) == "0" || string(m.value) == "1"
	case "format":
		switch string(walk.Bytes(m.value)) {
		case "date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid":
			return true
		}
	}
	return false
}

// named appends schemas that have names.
func (s *simplifier) named(dst []byte, of member) []byte {
	name := of.name
	if name == "definitions" {
		name = "$defs"
	}
	dst = append(appendField(dst, name, nil), '{')
	for _, m := range members(of.value) {
		dst = s.schema(appendField(dst, m.name, nil), m.value)
	}
	return append(dst, '}')
}

// several appends schemas in a list.
func (s *simplifier) several(dst []byte, of member) []byte {
	name := of.name
	if name == "oneOf" {
		name = "anyOf"
	}
	dst = append(appendField(dst, name, nil), '[')
	for i, e := range elements(of.value) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = s.schema(dst, e)
	}
	return append(dst, ']')
}

// closeObject appends what closes an object. One without properties of its own
// that may have any would be forced to be empty, which is not what was asked for.
func (s *simplifier) closeObject(dst, doc []byte) []byte {
	if !isObjectSchema(doc) {
		return dst
	}
	properties, more := members(walk.Get(doc, "properties")), walk.Get(doc, "additionalProperties")
	required := requiredNames(doc)
	for _, m := range properties {
		if !required[m.name] {
			s.optional++
		}
	}
	switch {
	case string(more) == "false":
	case len(properties) > 0:
		s.closed = true
	case kind(more) == "object":
		return s.schema(appendField(dst, "additionalProperties", nil), more)
	default:
		s.blocker = "additionalProperties"
	}
	return appendField(dst, "additionalProperties", []byte("false"))
}

// describe adds rules to a description.
func describe(description []byte, rules []string) []byte {
	if len(rules) == 0 {
		return description
	}
	text := string(walk.Bytes(description))
	if text != "" {
		text += "\n\n"
	}
	return quote.Append(nil, text+"{"+strings.Join(rules, ", ")+"}")
}

// recursive reports whether a schema's references lead back to themselves, or
// out of the document, where nobody looks.
func recursive(schema []byte) bool {
	defs := map[string][]byte{}
	for _, name := range []string{"$defs", "definitions"} {
		for _, m := range members(walk.Get(schema, name)) {
			defs["#/"+name+"/"+m.name] = m.value
		}
	}
	state := map[string]int{} // 1: being followed, 2: done
	var follow func(doc []byte) bool
	follow = func(doc []byte) bool {
		for _, ref := range references(doc, nil) {
			target, known := defs[ref]
			if !known || state[ref] == 1 {
				return true
			}
			if state[ref] == 2 {
				continue
			}
			state[ref] = 1
			if follow(target) {
				return true
			}
			state[ref] = 2
		}
		return false
	}
	for ref := range defs {
		if state[ref] == 0 {
			state[ref] = 1
			if follow(defs[ref]) {
				return true
			}
			state[ref] = 2
		}
	}
	return slices.ContainsFunc(references(schema, nil), func(ref string) bool { return defs[ref] == nil })
}

// references appends the references at any depth of a document.
func references(doc []byte, all []string) []string {
	switch kind(doc) {
	case "object":
		for _, m := range members(doc) {
			if m.name == "$ref" && walk.IsString(m.value) {
				all = append(all, string(walk.Bytes(m.value)))
				continue
			}
			all = references(m.value, all)
		}
	case "array":
		for _, e := range elements(doc) {
			all = references(e, all)
		}
	}
	return all
}
