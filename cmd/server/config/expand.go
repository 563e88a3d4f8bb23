package config

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// expand replaces every ${NAME} in the document's values, in one step and
// before anything reads them, so that no corner of the file is left with a
// placeholder for a secret.
func (in *reader) expand(v value, env LookupFunc) {
	switch v.node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(v.node.Content); i += 2 {
			in.expand(below(v, v.node.Content[i+1], v.node.Content[i].Value), env)
		}
	case yaml.SequenceNode:
		for i, n := range v.node.Content {
			in.expand(value{node: n, path: fmt.Sprintf("%s[%d]", v.path, i), in: in}, env)
		}
	case yaml.ScalarNode:
		in.expandScalar(v, env)
	}
}

// below is a child whose alias is not followed: what it stands for is expanded
// where it is written, once.
func below(v value, node *yaml.Node, name string) value {
	c := v.child(node, name)
	c.node = node
	return c
}

func (in *reader) expandScalar(v value, env LookupFunc) {
	if !strings.Contains(v.node.Value, "$") {
		return
	}
	var out strings.Builder
	rest := v.node.Value
	for {
		text, after, found := strings.Cut(rest, "$")
		out.WriteString(text)
		if !found {
			break
		}
		if strings.HasPrefix(after, "$") {
			out.WriteByte('$')
			rest = after[1:]
			continue
		}
		name, end, ok := reference(after)
		if !ok {
			v.refuse("write ${NAME} for a variable of the environment, $$ for a dollar sign", "a lone $")
			return
		}
		text, set := env(name)
		if !set {
			v.refuse("set the variable, or write $$ for a dollar sign", "environment variable %s is not set", name)
			return
		}
		in.fromEnv[v.node] = true
		out.WriteString(text)
		rest = after[end:]
	}
	v.node.Value = out.String()
	v.node.Tag = "!!str"
}

// reference reads "{NAME}" and returns the name and the length of it all.
func reference(s string) (name string, end int, ok bool) {
	closing := strings.IndexByte(s, '}')
	if !strings.HasPrefix(s, "{") || closing < 2 {
		return "", 0, false
	}
	name = s[1:closing]
	for i, c := range name {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return "", 0, false
		}
	}
	return name, closing + 1, true
}
