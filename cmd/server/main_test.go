package main

import (
	"strings"
	"testing"
)

func TestRun_CommandLine(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args      []string
		code      int
		out, says string
	}{
		"help":            {[]string{"--help"}, 0, "check-config", ""},
		"unknown_command": {[]string{"srve"}, 2, "", `unknown command "srve"`},
		"version":         {[]string{"version"}, 0, "spillway ", ""},
		"unknown_flag":    {[]string{"--port", "1"}, 2, "", "port"},
		"left_over":       {[]string{"check-config", "a.yaml"}, 2, "", `unexpected "a.yaml"`},
		"command_help":    {[]string{"check-config", "--help"}, 0, "", "configuration file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, says := cli(tt.args...)
			if code != tt.code || !strings.Contains(out, tt.out) || !strings.Contains(says, tt.says) {
				t.Errorf("%d, %q, %q; want %d, %q, %q", code, out, says, tt.code, tt.out, tt.says)
			}
		})
	}
}

func TestCheckConfig(t *testing.T) {
	t.Parallel()
	const good = `providers: [{id: a, wire: openai, nodes: [{url: "https://a.example"}], keys: [{id: k, value: none}]}]
targets: [{id: t, provider: a, context_tokens: 8000}]
`
	for name, tt := range map[string]struct {
		text      string
		code      int
		out, says string
	}{
		"good":      {good, 0, "1 providers, 1 targets", "warning: "},
		"empty":     {"", 0, "simulated vendors would be served", ""},
		"misspelt":  {good + "targts: []\n", 1, "", `:3:1: targts: unknown field "targts"; did you mean "targets"?`},
		"reference": {strings.Replace(good, "provider: a", "provider: b", 1), 1, "", `:2:29: targets[0].provider: provider "b" is not configured`},
		"unset":     {strings.Replace(good, "value: none", `value: "${NOT_SET}"`, 1), 1, "", "environment variable NOT_SET is not set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := write(t, "c.yaml", tt.text)
			code, out, says := cli("check-config", "--config", file)
			if code != tt.code || !strings.Contains(out, tt.out) || !strings.Contains(says, tt.says) {
				t.Errorf("%d, %q, %q; want %d, %q, %q", code, out, says, tt.code, tt.out, tt.says)
			}
		})
	}
	if code, _, says := cli("check-config", "--config", "no-such-file.yaml"); code != 1 || !strings.Contains(says, "no-such-file.yaml") {
		t.Errorf("a missing file: %d, %q", code, says)
	}
}

func TestReady_Greeting(t *testing.T) {
	t.Parallel()
	var simulated, real strings.Builder
	r := Ready{Gateway: "http://g", Console: "http://c", Key: "sw_k", Password: "pw", Simulated: true}
	r.greet(&simulated)
	for _, want := range []string{"SIMULATED", "http://c/console/", "one-time password pw", "x-api-key: sw_k", "/sim/vendors/"} {
		if !strings.Contains(simulated.String(), want) {
			t.Errorf("the greeting lacks %q:\n%s", want, simulated.String())
		}
	}
	r.Simulated, r.Key = false, ""
	r.greet(&real)
	if strings.Contains(real.String(), "SIMULATED") || strings.Contains(real.String(), "/sim/") || !strings.Contains(real.String(), "$SPILLWAY_KEY") {
		t.Errorf("the greeting with real vendors:\n%s", real.String())
	}
}
