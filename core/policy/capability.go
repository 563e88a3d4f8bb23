package policy

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// capabilities is what a policy may use: an allow-list, so that a new version
// of OPA can't widen it. Left out is whatever reaches the network, the
// environment, a clock or chance (R17.5), and whatever was measured to run on
// when it is told to stop: regular expressions, graph searches, bit shifts,
// template strings, number ranges, repeated replacement, parsers.
func capabilities() *ast.Capabilities {
	all := ast.CapabilitiesForThisVersion()
	kept := &ast.Capabilities{
		FutureKeywords: all.FutureKeywords,
		Features:       []string{ast.FeatureRegoV1, ast.FeatureKeywordsInRefs},
		// Empty and not nil: with nil the compiler fetches schemas that a file names.
		AllowNet: []string{},
	}
	names := allowedBuiltins()
	for _, b := range all.Builtins {
		if slices.Contains(names, b.Name) {
			kept.Builtins = append(kept.Builtins, b)
		}
	}
	return kept
}

func allowedBuiltins() []string {
	return []string{
		"eq", "equal", "neq", "lt", "lte", "gt", "gte", "assign",
		"plus", "minus", "mul", "div", "rem", "abs", "round", "ceil", "floor",
		"count", "sum", "product", "max", "min", "sort",
		"and", "or", "intersection", "union",
		"array.concat", "array.flatten", "array.reverse", "array.slice",
		"object.filter", "object.get", "object.keys", "object.remove", "object.subset", "object.union", "object.union_n",
		"json.filter", "json.remove",
		"concat", "contains", "endswith", "startswith", "format_int", "indexof", "indexof_n", "lower", "upper",
		"split", "sprintf", "substring", "strings.any_prefix_match", "strings.any_suffix_match", "strings.count", "strings.reverse",
		"trim", "trim_left", "trim_prefix", "trim_right", "trim_space", "trim_suffix",
		"glob.match", "crypto.sha256", "time.parse_duration_ns",
		"is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string", "type_name", "to_number",
		"internal.member_2", "internal.member_3", "internal.print", "internal.test_case", "print",
	}
}
