package main

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
)

// cli runs a command line and returns what it printed.
func cli(args ...string) (code int, out, problems string) {
	var o, e bytes.Buffer
	none := func(string) (string, bool) { return "", false }
	code = run(context.Background(), program{env: none, out: &o, err: &e}, args)
	return code, o.String(), e.String()
}

// made returns the key that "keys add" printed.
func made(t *testing.T, out string) string {
	t.Helper()
	key, _, _ := strings.Cut(out, "\n")
	if !strings.HasPrefix(key, "sw_") {
		t.Fatalf("keys add printed %q", out)
	}
	return key
}

func TestKeys_RunningServer(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	place := []string{"--data", s.cfg.Data, "--config", s.o.Config}
	code, out, problems := cli(append([]string{"keys", "add", "--name", "ci", "--plan", "free"}, place...)...)
	if code != 0 {
		t.Fatalf("keys add: %d %s", code, problems)
	}
	key := made(t, out)
	if a := s.post("/v1/messages", askAnthropic, "X-Api-Key", key); a.status != http.StatusOK {
		t.Errorf("the new key is answered with %d at once: %s", a.status, a.body)
	}
	if a := s.post("/v1/messages", askAnthropic, "X-Api-Key", key, "Spillway-Use-Case", "admin"); a.status != http.StatusForbidden {
		t.Errorf("an ungranted use case is answered with %d", a.status)
	}
	if _, out, _ := cli(append([]string{"keys", "list"}, place...)...); !strings.Contains(out, "ci") || strings.Contains(out, key) {
		t.Errorf("keys list = %q", out)
	}
	if code, _, problems := cli(append([]string{"keys", "disable", "ci"}, place...)...); code != 0 {
		t.Fatalf("keys disable: %d %s", code, problems)
	}
	if a := s.post("/v1/messages", askAnthropic, "X-Api-Key", key); a.status != http.StatusUnauthorized {
		t.Errorf("the disabled key is answered with %d", a.status)
	}
}

func TestKeys_StoppedServer(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.stop()
	code, out, problems := cli("keys", "add", "--name", "later", "--plan", "paid", "--use-cases", "batch, assistant",
		"--data", s.cfg.Data, "--config", s.o.Config)
	if code != 0 {
		t.Fatalf("keys add: %d %s", code, problems)
	}
	again := start(t, Options{Data: s.cfg.Data})
	if a := again.post("/v1/messages", askAnthropic, "X-Api-Key", made(t, out)); a.status != http.StatusOK {
		t.Errorf("the key is answered with %d", a.status)
	}
}

func TestKeys_Refusals(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	place := []string{"--data", s.cfg.Data, "--config", s.o.Config}
	empty := []string{"--data", t.TempDir(), "--config", s.o.Config}
	if code, _, problems := cli(append([]string{"keys", "add", "--name", "taken", "--plan", "free"}, place...)...); code != 0 {
		t.Fatalf("keys add: %d %s", code, problems)
	}
	for name, tt := range map[string]struct {
		args, place []string
		code        int
		want        string
	}{
		"no_action":       {nil, nil, 2, "Usage"},
		"unknown_action":  {[]string{"remove"}, nil, 2, "Usage"},
		"no_name":         {[]string{"add", "--plan", "free"}, place, 1, "--name"},
		"bad_name":        {[]string{"add", "--name", "a b", "--plan", "free"}, place, 1, "--name"},
		"reserved_name":   {[]string{"add", "--name", "simulated-x", "--plan", "free"}, place, 1, "simulated-"},
		"no_plan":         {[]string{"add", "--name", "x"}, place, 1, "--plan"},
		"unknown_plan":    {[]string{"add", "--name", "x", "--plan", "gold"}, place, 1, "gold"},
		"unknown_use":     {[]string{"add", "--name", "x", "--plan", "free", "--use-cases", "chat"}, place, 1, "chat"},
		"name_taken":      {[]string{"add", "--name", "taken", "--plan", "free"}, place, 1, "exists"},
		"disable_unknown": {[]string{"disable", "nobody"}, place, 1, "not found"},
		"disable_nothing": {[]string{"disable"}, place, 2, "Usage"},
		"unknown_flag":    {[]string{"list", "--all"}, nil, 2, "all"},
		"no_database":     {[]string{"list"}, empty, 1, "no database"},
	} {
		code, out, problems := cli(append(append([]string{"keys"}, tt.args...), tt.place...)...)
		if code != tt.code || out != "" || !strings.Contains(problems, tt.want) {
			t.Errorf("%s: %d, %q, %q; want %d and %q", name, code, out, problems, tt.code, tt.want)
		}
	}
}
