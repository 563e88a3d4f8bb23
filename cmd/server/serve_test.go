package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spillway-llm/spillway/core/audit"
)

// TestServe_WholeLife runs the command as a terminal does: it greets, writes the
// ready file, reloads on SIGHUP, stops in order, and leaves a profile.
func TestServe_WholeLife(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, profile := filepath.Join(dir, "ready.json"), filepath.Join(dir, "cpu.out")
	config := write(t, "spillway.yaml", "")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var out, problems logBuffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, program{env: func(string) (string, bool) { return "", false }, out: &out, err: &problems}, []string{
			"--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--ready-file", file, "--config", config, "--cpuprofile", profile,
		})
	}()
	var ready Ready
	eventually(t, "the ready file appears", func() bool {
		b, err := os.ReadFile(file)
		return err == nil && json.Unmarshal(b, &ready) == nil
	})
	if !strings.Contains(out.String(), ready.Gateway) || !strings.Contains(out.String(), ready.Password) {
		t.Errorf("the greeting lacks address or password:\n%s", out.String())
	}
	res, err := http.Get(ready.Gateway + "/livez")
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("/livez: %v %v", res, err)
	}
	_ = res.Body.Close()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the hang-up reloads", func() bool { return strings.Contains(problems.String(), "configuration reloaded") })
	cancel()
	if got := <-code; got != 0 {
		t.Errorf("exit code %d:\n%s", got, problems.String())
	}
	if info, err := os.Stat(profile); err != nil || info.Size() == 0 {
		t.Errorf("the profile: %v, %v", info, err)
	}
	if strings.Contains(problems.String(), ready.Password) {
		t.Error("the log holds the password")
	}
}

func TestServe_RefusesToStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	blocked := write(t, "a-file", "")
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"configuration": {[]string{"--data", dir, "--config", write(t, "c.yaml", "\nlisten: [a]\n")}, "c.yaml:2:9: listen"},
		"no_such_file":  {[]string{"--data", dir, "--config", filepath.Join(dir, "none.yaml")}, "none.yaml"},
		"data_folder":   {[]string{"--data", filepath.Join(blocked, "x"), "--config", write(t, "c.yaml", "")}, "data folder"},
		"profile":       {[]string{"--data", dir, "--cpuprofile", filepath.Join(blocked, "x")}, "profile"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, problems := cli(append([]string{"serve", "--listen", "127.0.0.1:0"}, tt.args...)...)
			if code != 1 || out != "" || !strings.Contains(problems, tt.want) {
				t.Errorf("%d, %q, %q; want 1 and %q", code, out, problems, tt.want)
			}
		})
	}
}

// The vendors are healthy again after the restart, and the open circuit is still
// open: it must not be tried before its time.
func TestRestart_KeepsOpenCircuits(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.fault("anthropic", "overloaded")
	for range 8 {
		s.post("/v1/messages", askAnthropic)
	}
	eventually(t, "the transition is in the history", func() bool {
		list, err := s.db.Events(t.Context(), 0, 0, []string{"transition"}, 10)
		return err == nil && len(list) > 0
	})
	s.stop()
	again := start(t, Options{Data: s.cfg.Data})
	a := again.post("/v1/messages", askAnthropic)
	if got := a.header.Get("Spillway-Attempts"); !strings.HasPrefix(got, "1;") || a.header.Get("Spillway-Target") == "claude-haiku-5-5" {
		t.Errorf("after the restart %d: target %q, attempts %q", a.status, a.header.Get("Spillway-Target"), got)
	}
	list, err := again.db.Decisions(t.Context(), audit.Filter{})
	if err != nil || len(list) < 8 {
		t.Errorf("the history has %d decisions, %v", len(list), err)
	}
}
