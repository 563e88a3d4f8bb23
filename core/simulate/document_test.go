package simulate_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/simulate"
)

func TestParse(t *testing.T) {
	t.Parallel()
	s := parsed(t, stormy)
	if s.Name != "stormy" || s.Seed != 7 || len(s.Phases) != 3 || s.Phases[2].Failures[core.KindStreamCut] != 0.05 {
		t.Errorf("got %s", indented(t, s))
	}
	c := catalogOf(t, s)
	if p := c.Providers[0]; p.Vendor != "anthropic" || len(p.Keys) != 2 || p.Nodes[1].Region != "eu" || !p.Simulated {
		t.Errorf("provider %+v", p)
	}
	if p := c.Providers[1]; len(p.Keys) != 1 || len(p.Nodes) != 1 {
		t.Errorf("a provider without keys and nodes became %+v", p)
	}
	if x := c.Targets[1]; !x.Price.Known() || x.QuotaGroup != "openai" {
		t.Errorf("target %+v", x)
	}
}

func TestParse_SaysWhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, old, new, want string }{
		{"unknown_field", `"title":`, `"titel":`, `titel: unknown field; known are duration_s, name, phases, `},
		{"unknown_field_deep", `"weight": 5`, `"wight": 5`, `providers[0].nodes[0].wight: unknown field; known are id, region, weight`},
		{"other_case", `"seed"`, `"Seed"`, `Seed: unknown field`},
		{"twice", `"seed": 7,`, `"seed": 7, "seed": 8,`, `seed: given twice`},
		{"unknown_kind", `"overloaded": 0.1`, `"overload": 0.1`, `phases[2].failures.overload: read failure kind: "overload" is not one`},
		{"unknown_limit_kind", `"kind": "rate_limited"`, `"kind": "busy"`, `phases[1].limit.kind: read failure kind: "busy" is not one`},
		{"kind_is_no_text", `"kind": "rate_limited"`, `"kind": 429`, `phases[1].limit.kind: must be a text`},
		{"text", `"name": "stormy"`, `"name": 7`, `name: must be a text`},
		{"number", `"duration_s": 40`, `"duration_s": "40"`, `duration_s: must be a number`},
		{"number_too_large", `"duration_s": 40`, `"duration_s": 1e999`, `duration_s: must be a number`},
		{"whole_number", `"weight": 5`, `"weight": 5.5`, `providers[0].nodes[0].weight: must be a whole number`},
		{"negative_seed", `"seed": 7`, `"seed": -7`, `seed: must be a whole number`},
		{"boolean", `"dead": true`, `"dead": "yes"`, `phases[0].dead: must be true or false`},
		{"list", `"keys": ["one", "two"]`, `"keys": "one"`, `providers[0].keys: must be a list`},
		{"list_for_object", `{"calls": 20, "per_s": 5, "kind": "rate_limited"}`, `[]`, `phases[1].limit: must be an object`},
		{"object_for_list", `"keys": ["one", "two"]`, `"keys": {}`, `providers[0].keys: must be a list`},
		{"null", `"keys": ["one", "two"]`, `"keys": null`, `providers[0].keys: must be a list`},
		{"no_json", `"seed": 7`, `"seed": seven`, `seed: not JSON: invalid character 's'`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			refuse(t, changed(t, c.old, c.new), c.want)
		})
	}
	refuse(t, stormy+"{}", "something follows the object")
	refuse(t, "[]", "must be an object")
	refuse(t, "", "not JSON: EOF")
	refuse(t, stormy[:strings.Index(stormy, "anthropic")], "providers[0].id: not JSON: ")
	refuse(t, strings.Repeat(" ", 1<<20)+stormy, "at most 1048576 are read")
}

// refuse holds that a text is no scenario, and why.
func refuse(t *testing.T, text, want string) {
	t.Helper()
	s, err := simulate.Parse([]byte(text))
	if s != nil || !errors.Is(err, simulate.ErrScenario) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v\nwant an error with %q", err, want)
	}
}

func TestParse_Checks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, old, new, want string }{
		{"name", `"name": "stormy"`, `"name": "Stormy Weather"`, `name: "Stormy Weather" must be of lower-case letters`},
		{"seed", `"seed": 7`, `"seed": 0`, `seed: must not be 0`},
		{"duration", `"duration_s": 40`, `"duration_s": 0.5`, `duration_s: 0.5 is not in 1 to 86400`},
		{"wire", `"wire": "openai"`, `"wire": "grpc"`, `providers[1].wire: "grpc" is not one of ["anthropic" "openai"]`},
		{"provider_twice", `"id": "openai"`, `"id": "anthropic"`, `providers[1].id: "anthropic" is used twice`},
		{"key_twice", `["one", "two"]`, `["one", "one"]`, `providers[0].keys[1]: "one" is used twice`},
		{"node_twice", `"id": "eu", "region": "eu"`, `"id": "us", "region": "eu"`, `providers[0].nodes[1].id: "us" is used twice`},
		{"provider_of_target", `"provider": "openai", "family"`, `"provider": "azure", "family"`, `targets[1].provider: "azure" is not a provider of the scenario`},
		{"spread", `{"p50": 700, "p95": 1500}`, `{"p50": 700, "p95": 500}`, `targets[1].first_content_ms.p95: 500 is not in 700 to`},
		{"spread_missing", `"first_content_ms": {"p50": 700, "p95": 1500}, `, ``, `targets[1].first_content_ms.p50: 0 is not in`},
		{"price", `{"input": 2, "output": 10}`, `{"input": -2, "output": 10}`, `targets[1].usd_per_million.input: -2 is not in`},
		{"audience", `"audience": "free"`, `"audience": "vip"`, `traffic[0].audience: "vip" is not one of`},
		{"rate_order", `{"from_s": 30, "per_s": 0}`, `{"from_s": 0, "per_s": 0}`, `traffic[0].rate[1].from_s: must be later than the one before`},
		{"rate_missing", `"rate": [{"from_s": 5, "per_s": 3}]`, `"rate": []`, `traffic[1].rate: there is none`},
		{"rate", `{"from_s": 5, "per_s": 3}`, `{"from_s": 5, "per_s": 10001}`, `traffic[1].rate[0].per_s: 10001 is not in`},
		{"task", `"task": "code"`, `"task": "coding"`, `traffic[0].mix[0].task: "coding" is not one of`},
		{"output", `"output_tokens": 100}`, `"output_tokens": 0}`, `traffic[1].mix[0].output_tokens: 0 is not in 1 to`},
		{"phase_times", `"from_s": 5, "to_s": 30`, `"from_s": 30, "to_s": 30`, `phases[0].to_s: must be later than from_s`},
		{"region", `"region": "us", "failures"`, `"region": "asia", "failures"`, `phases[0].region: "asia" is not one of ["us" "eu"]`},
		{"share", `"overloaded": 0.1`, `"overloaded": 1.1`, `phases[2].failures.overloaded: 1.1 is not in 0 to 1`},
		{"shares", `"overloaded": 0.1`, `"overloaded": 0.9`, `phases[2].failures: add up to 1.05`},
		{"own_kind", `"overloaded": 0.1`, `"open_circuit": 0.1`, `phases[2].failures.open_circuit: is nothing that a vendor does`},
		{"limit", `"per_s": 5, "kind": "rate_limited"`, `"per_s": 0, "kind": "rate_limited"`, `phases[1].limit.per_s: 0 is not in`},
		{"limit_kind", `"kind": "rate_limited"`, `"kind": "connect"`, `phases[1].limit.kind: must be rate_limited or overloaded`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			refuse(t, changed(t, c.old, c.new), c.want)
		})
	}
	refuse(t, strings.Replace(changed(t, `"duration_s": 40`, `"duration_s": 80000`), `"per_s": 0}`, `"per_s": 20}`, 1),
		"traffic: about 1839565 requests, at most 1000000 are run")
}

func TestShipped(t *testing.T) {
	t.Parallel()
	for _, name := range simulate.Names() {
		s, err := simulate.Shipped(name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Name != name || s.Title == "" || s.Text == "" || len(s.Phases) == 0 {
			t.Errorf("%s: name %q, title %q, text %q, %d phases", name, s.Name, s.Title, s.Text, len(s.Phases))
		}
	}
	if _, err := simulate.Shipped("sunny"); err == nil || !strings.Contains(err.Error(), "brown-out, regional-outage") {
		t.Errorf("an unknown name: %v", err)
	}
	if !slices.Contains(simulate.FailureKinds(), core.KindOverloaded) || slices.Contains(simulate.FailureKinds(), core.KindOpenCircuit) {
		t.Errorf("failure kinds %v", simulate.FailureKinds())
	}
}

// FuzzParse holds that no text makes Parse fail otherwise than by its error, and
// that what it accepts makes a catalog.
func FuzzParse(f *testing.F) {
	f.Add([]byte(stormy))
	f.Add([]byte(`{"name": "x", "phases": [{"failures": {"connect": 1}}]}`))
	f.Add([]byte(`{"providers": [[[[`))
	f.Add([]byte(`{"limit": null, "seed": 1e3}`))
	for _, name := range simulate.Names() {
		text, err := simulate.Source(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := simulate.Parse(text)
		if err != nil {
			if !errors.Is(err, simulate.ErrScenario) {
				t.Errorf("an error of another sort: %v", err)
			}
			return
		}
		if _, err := s.Catalog(); err != nil {
			t.Errorf("accepted, but: %v", err)
		}
	})
}
