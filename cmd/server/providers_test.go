package main

import (
	"strings"
	"testing"
)

func TestProviders_RunningServer(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	place := []string{"--data", s.cfg.Data, "--config", s.o.Config}
	list := func() string {
		t.Helper()
		code, out, problems := cli(append([]string{"providers"}, place...)...)
		if code != 0 {
			t.Fatalf("providers: %d %s", code, problems)
		}
		return out
	}
	eventually(t, "both vendors are probed", func() bool {
		out := list()
		return strings.Count(out, "200") == 2 && strings.Count(out, "simulated  –       up") == 2
	})
	if out := list(); strings.Contains(out, "warning") || strings.Count(out, "usable") != 2 {
		t.Errorf("at first:\n%s", out)
	}
	off := append([]string{"providers", "key", "anthropic", "default", "off", "--reason", "it leaked"}, place...)
	if code, out, problems := cli(off...); code != 0 || !strings.Contains(out, "anthropic/default is out of service") {
		t.Fatalf("off: %d %q %s", code, out, problems)
	}
	if out := list(); !strings.Contains(out, "by_hand") || !strings.Contains(out, "warning: anthropic has 0 of 1 keys to use") {
		t.Errorf("with a key out:\n%s", out)
	}
	if a := s.post("/v1/messages", askAnthropic); a.status != 200 || !strings.Contains(a.header.Get("Spillway-Target"), "gpt") {
		t.Errorf("without anthropic's key: %d by %q", a.status, a.header.Get("Spillway-Target"))
	}
	if a := s.get("/health"); !strings.Contains(a.body, `"low":true`) {
		t.Errorf("/health: %s", a.body)
	}
	on := append([]string{"providers", "key", "anthropic", "default", "on", "--reason", "rotated"}, place...)
	if code, out, problems := cli(on...); code != 0 || !strings.Contains(out, "back in service") {
		t.Fatalf("on: %d %q %s", code, out, problems)
	}
	if a := s.post("/v1/messages", askAnthropic); a.status != 200 || !strings.Contains(a.header.Get("Spillway-Target"), "claude") {
		t.Errorf("with the key back: %d by %q", a.status, a.header.Get("Spillway-Target"))
	}
}

func TestProviders_Mistakes(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	place := []string{"--data", s.cfg.Data, "--config", s.o.Config}
	for name, tt := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no_reason":    {[]string{"key", "anthropic", "default", "off"}, 1, "a reason is required"},
		"unknown_key":  {[]string{"key", "anthropic", "k9", "off", "--reason", "r"}, 1, `provider "anthropic" has no key "k9"`},
		"unknown_word": {[]string{"key", "anthropic", "default", "out"}, 2, "Usage: server providers"},
		"too_short":    {[]string{"key", "anthropic"}, 2, "Usage: server providers"},
		"left_over":    {[]string{"key", "anthropic", "default", "off", "now"}, 2, `unexpected "now"`},
	} {
		args := append([]string{"providers"}, tt.args...)
		if tt.code == 1 {
			args = append(args, place...)
		}
		if code, _, says := cli(args...); code != tt.code || !strings.Contains(says, tt.says) {
			t.Errorf("%s: %d, %q; want %d, %q", name, code, says, tt.code, tt.says)
		}
	}
	s.stop()
	if code, _, says := cli(append([]string{"providers"}, place...)...); code != 1 || !strings.Contains(says, "no server runs over") {
		t.Errorf("without a server: %d, %q", code, says)
	}
}
