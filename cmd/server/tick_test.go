package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// rate is what /health says of all targets' requests a minute.
func (s *started) rate() int {
	s.t.Helper()
	var page struct {
		Models map[string]struct {
			Rate int `json:"requests_per_minute"`
		} `json:"models"`
	}
	a := s.get("/health")
	if err := json.Unmarshal([]byte(a.body), &page); err != nil {
		s.t.Fatalf("health: %v in %s", err, a.body)
	}
	n := 0
	for _, m := range page.Models {
		n += m.Rate
	}
	return n
}

// A server without background work answers all the same; its picture of the
// targets moves with requests and with ticks, and with nothing else (R16.1).
func TestTick_RunningServer(t *testing.T) {
	t.Parallel()
	s := start(t, Options{NoBackground: true})
	place := []string{"--data", s.cfg.Data, "--config", s.o.Config}
	if a := s.post("/v1/messages", askAnthropic); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if n := s.rate(); n != 0 {
		t.Fatalf("%d requests a minute before a tick: something runs in the background", n)
	}
	code, out, problems := cli(append([]string{"tick"}, place...)...)
	if code != 0 || !strings.HasPrefix(out, "circuits not closed: 0, targets cooling down: 0") {
		t.Fatalf("tick: %d %q %s", code, out, problems)
	}
	if n := s.rate(); n != 1 {
		t.Errorf("%d requests a minute after a tick", n)
	}
	s.fault("anthropic", "rate_limited")
	if a := s.post("/v1/messages", askAnthropic); a.status != http.StatusTooManyRequests {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if _, out, _ = cli(append([]string{"tick"}, place...)...); strings.Contains(out, "cooling down: 0") || strings.Contains(out, "not healthy: 0") {
		t.Errorf("tick with a cooldown: %q", out)
	}
}

func TestTick_StoppedServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	code, out, problems := cli("tick", "--data", dir, "--config", write(t, "spillway.yaml", ""))
	if code != 0 || !strings.Contains(out, "no server runs over "+dir) {
		t.Errorf("tick: %d %q %s", code, out, problems)
	}
	if code, _, problems := cli("tick", "now"); code != exitUsage || !strings.Contains(problems, "now") {
		t.Errorf("tick now: %d %s", code, problems)
	}
}
