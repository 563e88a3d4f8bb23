package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/preset"
)

// reader collects what is found while a file is read.
type reader struct {
	file     string
	problems Problems
	warnings Problems
	// fromEnv marks the nodes that hold a value from the environment, which no
	// finding may quote.
	fromEnv map[*yaml.Node]bool
	presets *preset.Library
	// profiles are those that providers give their targets.
	profiles map[string]core.Profile
}

// value is one node of the file and how one gets there.
type value struct {
	node *yaml.Node
	path string
	in   *reader
}

// fields are the known fields of a mapping and what reads each.
type fields map[string]func(value)

func (v value) problem(hint, format string, args ...any) Problem {
	return Problem{
		File: v.in.file, Line: v.node.Line, Column: v.node.Column, Path: v.path,
		Text: fmt.Sprintf(format, args...), Hint: hint,
	}
}

func (v value) refuse(hint, format string, args ...any) {
	v.in.problems = append(v.in.problems, v.problem(hint, format, args...))
}

func (v value) warn(hint, format string, args ...any) {
	v.in.warnings = append(v.in.warnings, v.problem(hint, format, args...))
}

// show quotes the value for a finding, unless it came from the environment.
func (v value) show() string {
	if v.in.fromEnv[v.node] {
		return "the value from the environment"
	}
	s := v.node.Value
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return strconv.Quote(s)
}

// resolved follows a YAML alias to what it stands for.
func (v value) resolved() value {
	if v.node.Kind == yaml.AliasNode {
		v.node = v.node.Alias
	}
	return v
}

func (v value) kind() string {
	switch {
	case v.node.Kind == yaml.MappingNode:
		return "a mapping"
	case v.node.Kind == yaml.SequenceNode:
		return "a list"
	case v.node.Tag == "!!null":
		return "empty"
	}
	return "a single value"
}

// child is a value below v.
func (v value) child(node *yaml.Node, name string) value {
	path := name
	if v.path != "" {
		path = v.path + "." + name
	}
	return value{node: node, path: path, in: v.in}.resolved()
}

// object reads a mapping and returns the fields that it has.
func (v value) object(known fields) map[string]value {
	seen := map[string]value{}
	if v.node.Kind != yaml.MappingNode {
		v.refuse("write its fields below it, indented", "must be a mapping, and is %s", v.kind())
		return seen
	}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key, c := v.node.Content[i], v.child(v.node.Content[i+1], v.node.Content[i].Value)
		at := value{node: key, path: c.path, in: v.in}
		read, ok := known[key.Value]
		if !ok {
			names := slices.Sorted(maps.Keys(known))
			at.refuse(suggest(key.Value, names, "known here: "), "unknown field %q", key.Value)
			continue
		}
		if _, twice := seen[key.Value]; twice {
			at.refuse("keep one of them", "given twice")
			continue
		}
		seen[key.Value] = c
		read(c)
	}
	return seen
}

// require refuses a mapping that lacks any of the fields.
func (v value) require(seen map[string]value, names ...string) {
	for _, n := range names {
		if _, ok := seen[n]; !ok && v.node.Kind == yaml.MappingNode {
			v.refuse("add it", "%s is missing", n)
		}
	}
}

// list reads the items of a sequence that must not be empty.
func (v value) list(item func(value)) {
	if v.node.Kind != yaml.SequenceNode {
		v.refuse(`write it as a list: "- …" lines, or [a, b]`, "must be a list, and is %s", v.kind())
		return
	}
	if len(v.node.Content) == 0 {
		v.refuse("give it an item, or leave the field out", "is an empty list")
	}
	for i := range v.node.Content {
		item(v.item(i))
	}
}

// item is the i-th value of a list.
func (v value) item(i int) value {
	return value{node: v.node.Content[i], path: fmt.Sprintf("%s[%d]", v.path, i), in: v.in}.resolved()
}

// field finds a field of a mapping that was read before.
func (v value) field(name string) (value, bool) {
	for i := 0; v.node.Kind == yaml.MappingNode && i+1 < len(v.node.Content); i += 2 {
		if v.node.Content[i].Value == name {
			return v.child(v.node.Content[i+1], name), true
		}
	}
	return value{}, false
}

// text reads a value that must not be empty; "" was refused.
func (v value) text() string {
	if v.node.Kind != yaml.ScalarNode || v.node.Tag == "!!null" || v.node.Value == "" {
		v.refuse("give it a value, or leave the field out", "must be a text, and is %s", v.kindOrEmpty())
		return ""
	}
	return v.node.Value
}

func (v value) kindOrEmpty() string {
	if v.node.Kind == yaml.ScalarNode {
		return "empty"
	}
	return v.kind()
}

// idSyntax keeps ids fit for headers, URLs, policies and pages alike.
var idSyntax = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,99}$`)

// id reads a name that other parts of the system refer to.
func (v value) id() string {
	s := v.text()
	if s != "" && !idSyntax.MatchString(s) {
		v.refuse("use up to 100 letters, digits and . _ : / @ -, a letter or digit first", "%s can't be an id", v.show())
		return ""
	}
	return s
}

// whole reads a whole number in a range.
func (v value) whole(least, most int) int {
	n, err := strconv.Atoi(v.text())
	switch {
	case v.node.Kind != yaml.ScalarNode || v.node.Value == "":
	case err != nil:
		v.refuse("write digits only, for example 200000", "%s is no whole number", v.show())
	case n < least || n > most:
		v.refuse("", "%s is not in %d..%d", v.show(), least, most)
	default:
		return n
	}
	return 0
}

// duration reads a time with its unit, in a range.
func (v value) duration(least, most time.Duration) time.Duration {
	s := v.text()
	d, err := time.ParseDuration(s)
	switch {
	case s == "":
	case err != nil:
		v.refuse("write a number with its unit, for example 5s or 1m30s", "%s is no time", v.show())
	case d < least || d > most:
		v.refuse("", "%s is not in %v..%v", v.show(), least, most)
	default:
		return d
	}
	return 0
}

// oneOf reads one word of a closed list.
func (v value) oneOf(known ...string) string {
	s := v.text()
	if s == "" || slices.Contains(known, s) {
		return s
	}
	hint := "one of: " + known[0]
	if !v.in.fromEnv[v.node] {
		hint = suggest(s, known, "one of: ")
	}
	v.refuse(hint, "%s is not known", v.show())
	return ""
}
