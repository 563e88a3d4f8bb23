package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOptions_FlagsWinOverTheFile(t *testing.T) {
	t.Parallel()
	file := write(t, "c.yaml", "listen: 127.0.0.1:1\ndata: from-file\nconsole: {listen: 127.0.0.1:2}\n")
	for name, tt := range map[string]struct {
		o                     Options
		listen, data, console string
	}{
		"file":  {Options{Config: file}, "127.0.0.1:1", "from-file", "127.0.0.1:2"},
		"flags": {Options{Config: file, Listen: ":3", Data: "d", Console: ":4"}, ":3", "d", ":4"},
		"none":  {Options{Config: write(t, "e.yaml", "")}, defaultListen, defaultData, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _, err := tt.o.withDefaults().load()
			if err != nil {
				t.Fatalf("load: %v", err)
			}
			if c.Listen != tt.listen || c.Data != tt.data || c.Console.Listen != tt.console {
				t.Errorf("got %q, %q, %q", c.Listen, c.Data, c.Console.Listen)
			}
		})
	}
}

func TestOptions_EnvironmentKeysNameTheVendors(t *testing.T) {
	t.Parallel()
	env := func(name string) (string, bool) { return "a-key", name == "ANTHROPIC_API_KEY" }
	c, _, err := Options{Config: write(t, "e.yaml", ""), Env: env}.load()
	if err != nil || len(c.Providers) != 1 || c.Providers[0].Simulated || c.Providers[0].Keys[0].Secret.Reveal() != "a-key" {
		t.Errorf("load = %+v, %v", c, err)
	}
}

func TestServer_ConsoleOnItsOwnAddress(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Console: "127.0.0.1:0"})
	if s.ready.Console == s.ready.Gateway {
		t.Fatalf("ready = %+v", s.ready)
	}
	if a := s.get("/console/", "Accept", "text/html"); a.status != http.StatusNotFound {
		t.Errorf("the gateway's address answers the console with %d", a.status)
	}
	s.base = s.ready.Console
	if a := s.get("/console/", "Accept", "text/html"); a.status >= 400 {
		t.Errorf("the console's address answers %d", a.status)
	}
	if a := s.post("/v1/messages", askAnthropic); a.status != http.StatusNotFound {
		t.Errorf("the console's address answers the gateway's path with %d", a.status)
	}
}

// A socket that a killed server left behind is in nobody's way.
func TestServer_LeftOverSocket(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, socketName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, Options{Data: data})
	if code, _, problems := cli("keys", "list", "--data", data, "--config", s.o.Config); code != 0 {
		t.Errorf("keys list: %d %s", code, problems)
	}
}

// Where the path is too long for a socket, the server serves, says so, and the
// command names the way out.
func TestServer_NoSocket(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	s := start(t, Options{Data: data})
	if a := s.get("/livez"); a.status != http.StatusOK {
		t.Errorf("/livez = %d", a.status)
	}
	code, _, problems := cli("keys", "list", "--data", data, "--config", s.o.Config)
	if code != 1 || !strings.Contains(problems, "in use by another process") || !strings.Contains(problems, "stop") {
		t.Errorf("keys list: %d %q, want a refusal that says to stop the server", code, problems)
	}
}
