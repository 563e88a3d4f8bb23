package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/cmd/server/config"
)

// provider and target are the parts of a file that the cases below do not vary.
const (
	provider = `providers: [{id: a, wire: anthropic, nodes: [{url: "https://a.example"}], keys: [{id: k, value: "${KEY_A}"}]}]` + "\n"
	target   = "targets: [{id: t, provider: a, context_tokens: 8000}]\n"
)

// withPrice and withNode vary one value of an otherwise good file.
func withPrice(p string) string {
	return provider + "targets: [{id: t, provider: a, context_tokens: 8000, price: " + p + "}]\n"
}

func withNode(n string) string {
	return "providers: [{id: a, wire: openai, nodes: [" + n + `], keys: [{id: k, value: "${KEY_A}"}]}]` + "\n" + target
}

func withKey(k string) string {
	return `providers: [{id: a, wire: openai, nodes: [{url: "https://a.example"}], keys: [` + k + "]}]\n" + target
}

func TestParse_Problems(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		src string
		// want are parts of the one finding: place, path, what and remedy.
		want []string
	}{
		"unknown_field":         {"falbacks: []\n", []string{"c.yaml:1:1: falbacks: unknown field", "known here: console, data, listen, presets, providers, targets, timeouts"}},
		"misspelt_field":        {"\nconsole:\n  host: [a]\n", []string{"c.yaml:3:3: console.host: unknown field", `did you mean "hosts"?`}},
		"misspelt_in_a_list":    {provider + "targets:\n  - {id: t, provider: a, contxt_tokens: 1, context_tokens: 8000}\n", []string{"c.yaml:3:26: targets[0].contxt_tokens", `"context_tokens"`}},
		"swapped_letters":       {"lisetn: 127.0.0.1:1\n", []string{`did you mean "listen"?`}},
		"given_twice":           {"data: a\ndata: b\n", []string{"c.yaml:2:1: data: given twice"}},
		"merge_key":             {"<<: {data: a}\n", []string{`unknown field "<<"`}},
		"missing_reference":     {provider + "targets: [{id: t, provider: b, context_tokens: 8000}]\n", []string{"c.yaml:2:29: targets[0].provider", `"b" is not configured`, `did you mean "a"?`}},
		"missing_field":         {provider + "targets: [{id: t, provider: a}]\n", []string{"c.yaml:2:11: targets[0]: context_tokens is missing"}},
		"unset_variable":        {"data: ${NOT_THERE}\n", []string{"c.yaml:1:7: data: environment variable NOT_THERE is not set", "$$"}},
		"unset_deep":            {withKey(`{id: k, value: "x${UNSET}"}`), []string{"providers[0].keys[0].value: environment variable UNSET"}},
		"lone_dollar":           {"data: a$b\n", []string{"data: a lone $", "${NAME}"}},
		"bare_variable":         {"data: $HOME\n", []string{"a lone $"}},
		"default_value_syntax":  {"data: ${KEY_A:-x}\n", []string{"a lone $"}},
		"not_yaml":              {"a: b: c\n", []string{"c.yaml:1:1: not YAML: mapping values"}},
		"not_yaml_later":        {"data: x\nlisten: [\n", []string{"c.yaml:2:1: not YAML"}},
		"two_documents":         {"data: a\n---\ndata: b\n", []string{"c.yaml:2:1: a second document"}},
		"a_list":                {"- a\n", []string{"must be a mapping, and is a list"}},
		"providers_alone":       {provider, []string{"providers without targets"}},
		"targets_alone":         {target, []string{"targets without providers"}},
		"providers_no_list":     {"providers: {}\n" + target, []string{"providers: must be a list, and is a mapping"}},
		"empty_list":            {"providers: []\n" + target, []string{"providers: is an empty list"}},
		"empty_value":           {"data:\n", []string{"data: must be a text, and is empty"}},
		"wire":                  {strings.Replace(provider, "anthropic", "antropic", 1) + target, []string{`wire: "antropic" is not known`, `did you mean "anthropic"?`}},
		"balance_word":          {strings.Replace(withNode(`{url: "https://a.example"}, {url: "https://b.example"}`), "id: a,", "id: a, balance: lateny,", 1), []string{`providers[0].balance: "lateny" is not known`, `did you mean "latency"?`}},
		"balance_unused":        {strings.Replace(provider, "id: a,", "id: a, balance: weight,", 1) + target, []string{"c.yaml:1:30: providers[0].balance: there is nothing to balance", "name another node"}},
		"probes_word":           {strings.Replace(provider, "id: a,", "id: a, probes: false,", 1) + target, []string{`providers[0].probes: "false" is not known`, "one of: on, off"}},
		"timeout_unknown":       {"timeouts: {idle: 3s}\n", []string{`timeouts.idle: unknown field "idle"`, "known here: connect, write"}},
		"timeout_without_unit":  {"timeouts: {connect: 5}\n", []string{`timeouts.connect: "5" is no time`, "5s"}},
		"timeout_too_short":     {"timeouts: {write: 1ms}\n", []string{`timeouts.write: "1ms" is not in 100ms..10m0s`}},
		"timeout_too_long":      {"timeouts: {connect: 2m}\n", []string{`timeouts.connect: "2m" is not in 10ms..1m0s`}},
		"timeout_empty":         {"timeouts: {connect: }\n", []string{"timeouts.connect: must be a text, and is empty"}},
		"timeouts_no_mapping":   {"timeouts: 5s\n", []string{"timeouts: must be a mapping"}},
		"address":               {"listen: 8080\n", []string{`listen: "8080" is no address`, "127.0.0.1:8080"}},
		"id_with_newline":       {withNode(`{id: "a\nb", url: "https://a.example"}`), []string{"can't be an id"}},
		"url_no_scheme":         {withNode(`{url: a.example}`), []string{`nodes[0].url: "a.example" is no http or https URL`}},
		"url_file":              {withNode(`{url: "file:///etc/passwd"}`), []string{"no http or https URL"}},
		"url_userinfo":          {withNode(`{url: "https://u:p@a.example"}`), []string{"credential"}},
		"url_query":             {withNode(`{url: "https://a.example?x=1"}`), []string{"query"}},
		"url_metadata":          {withNode(`{url: "http://169.254.169.254/"}`), []string{"metadata"}},
		"url_metadata_mapped":   {withNode(`{url: "http://[::ffff:169.254.169.254]/"}`), []string{"metadata"}},
		"url_metadata_6":        {withNode(`{url: "http://[fd00:ec2::254]/"}`), []string{"metadata"}},
		"node_twice":            {withNode(`{url: "https://a.example/x"}, {url: "https://a.example/y"}`), []string{`nodes[1]: "a.example" is used before, at line 1`}},
		"key_twice":             {withKey(`{id: k, value: "${KEY_A}"}, {id: k, value: "${KEY_O}"}`), []string{`keys[1].id: "k" is used before`}},
		"key_with_blank":        {withKey(`{id: k, value: "${SPACED}"}`), []string{"no HTTP header can carry"}},
		"weight":                {withNode(`{url: "https://a.example", weight: -1}`), []string{`weight: "-1" is not in 1..1000`}},
		"no_number":             {provider + "targets: [{id: t, provider: a, context_tokens: 200k}]\n", []string{`"200k" is no whole number`}},
		"capability":            {provider + "targets: [{id: t, provider: a, context_tokens: 1, capabilities: [image]}]\n", []string{`did you mean "images"?`}},
		"price_part_missing":    {withPrice("{input: 1, output: 2, cache_read: 0, cache_write_1h: 0, as_of: 2026-11-30}"), []string{"price: cache_write is missing"}},
		"price_hour_missing":    {withPrice("{input: 1, output: 2, cache_read: 0, cache_write: 0, as_of: 2026-11-30}"), []string{"price: cache_write_1h is missing"}},
		"price_negative":        {withPrice("{input: -1, output: 2, cache_read: 0, cache_write: 0, cache_write_1h: 0, as_of: 2026-11-30}"), []string{`"-1" is no price`}},
		"price_nan":             {withPrice("{input: .nan, output: 2, cache_read: 0, cache_write: 0, cache_write_1h: 0, as_of: 2026-11-30}"), []string{"is no price"}},
		"price_undated":         {withPrice("{input: 1, output: 2, cache_read: 0, cache_write: 0, cache_write_1h: 0}"), []string{"price: as_of is missing"}},
		"price_date":            {withPrice("{input: 1, output: 2, cache_read: 0, cache_write: 0, cache_write_1h: 0, as_of: today}"), []string{`"today" is no date`}},
		"price_long_half":       {withPrice("{input: 1, output: 2, cache_read: 0, cache_write: 0, cache_write_1h: 0, as_of: 2026-11-30, long_above: 9}"), []string{"long_above and long belong together"}},
		"host_with_scheme":      {"console: {hosts: ['https://a']}\n", []string{"console.hosts[0]", "no host name"}},
		"secret_in_wrong_place": {"listen: ${KEY_A}\n", []string{"listen: the value from the environment is no address"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Parse("c.yaml", []byte(tt.src), environment)
			var found config.Problems
			if !errors.As(err, &found) || len(found) != 1 {
				t.Fatalf("Parse = %v, want one finding", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("finding %q lacks %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("finding %q quotes a secret", err)
			}
		})
	}
}

func TestParse_ReportsEveryProblemInOrder(t *testing.T) {
	t.Parallel()
	_, err := config.Parse("c.yaml", []byte("listen: x\nconsole: {lissten: y}\ndta: z\n"), environment)
	var found config.Problems
	if !errors.As(err, &found) || len(found) != 3 {
		t.Fatalf("Parse = %v, want three findings", err)
	}
	for i, p := range found {
		if p.Line != i+1 {
			t.Errorf("finding %d is at line %d, want %d: %v", i, p.Line, i+1, p)
		}
	}
}

func TestParse_Warnings(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ src, want string }{
		"key_in_the_file": {withKey(`{id: k, value: sk-plain}`), "the key stands in the file"},
		"no_price":        {provider + target, `no price: the cost of "t" stays unknown`},
		"open_to_others":  {"listen: 0.0.0.0:8080\n", "beyond this machine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := parse(t, tt.src)
			text := c.Warnings.Error()
			if !strings.Contains(text, tt.want) || strings.Contains(text, "sk-plain") {
				t.Errorf("warnings = %q, want %q and no secret", text, tt.want)
			}
		})
	}
}
