package test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary is the server, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "spillway-test")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "server")
		build := exec.Command("go", "build", "-o", binary, "./cmd/server")
		build.Dir = ".."
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the server: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// ready is what the server writes to its ready file.
type ready struct {
	Gateway   string `json:"gateway"`
	Console   string `json:"console"`
	Key       string `json:"key"`
	Password  string `json:"password"`
	Simulated bool   `json:"simulated"`
	PID       int    `json:"pid"`
}

// server is one running server process.
type server struct {
	ready
	t    testing.TB
	dir  string
	cmd  *exec.Cmd
	log  *syncBuffer
	done chan error
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// start runs the server over dir with simulated vendors and waits until it is
// ready. The environment holds no vendor keys.
func start(t testing.TB, dir string, args ...string) *server {
	t.Helper()
	file := filepath.Join(dir, fmt.Sprintf("ready-%d.json", time.Now().UnixNano()))
	args = append([]string{"--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--ready-file", file}, args...)
	s := &server{t: t, dir: dir, log: &syncBuffer{}, done: make(chan error, 1)}
	s.cmd = exec.Command(binary, args...)
	s.cmd.Dir = dir
	s.cmd.Env = append(os.Environ(), "ANTHROPIC_API_KEY=", "OPENAI_API_KEY=")
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.done <- s.cmd.Wait() }()
	t.Cleanup(s.kill)
	s.await(file)
	return s
}

// await polls for the ready file: it is the server's own word for "serving".
func (s *server) await(file string) {
	s.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		if b, err := os.ReadFile(file); err == nil && json.Unmarshal(b, &s.ready) == nil {
			return
		}
		select {
		case err := <-s.done:
			s.t.Fatalf("the server ended: %v\n%s", err, s.log)
		case <-time.After(20 * time.Millisecond):
		}
	}
	s.t.Fatalf("not ready in time:\n%s", s.log)
}

// kill ends the process at once, as a power cut would.
func (s *server) kill() {
	if s.cmd.Process.Signal(syscall.SIGKILL) == nil {
		select {
		case <-s.done:
		case <-time.After(5 * time.Second):
		}
	}
}

// stop ends the process politely and waits for it.
func (s *server) stop() {
	s.t.Helper()
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-s.done:
		if err != nil {
			s.t.Fatalf("stopped with %v\n%s", err, s.log)
		}
	case <-time.After(40 * time.Second):
		s.t.Fatalf("did not stop\n%s", s.log)
	}
}

// reply is one answer, read whole.
type reply struct {
	status int
	header http.Header
	body   string
}

// send makes one request with the server's own key unless a header says otherwise.
func (s *server) send(method, path, body string, header ...string) reply {
	s.t.Helper()
	req, err := http.NewRequest(method, s.Gateway+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+s.Key)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i+1] == "" {
			req.Header.Del(header[i])
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatalf("%s %s: read the answer: %v", method, path, err)
	}
	return reply{res.StatusCode, res.Header, string(b)}
}

const (
	anthropicBody = `{"model":"claude-opus-5-5","max_tokens":64,"messages":[{"role":"user","content":"hello"}]}`
	openaiBody    = `{"model":"claude-opus-5-5","max_completion_tokens":64,"messages":[{"role":"user","content":"hello"}]}`
)

// fault breaks a simulated vendor; "" heals it.
func (s *server) fault(vendor, fault string) {
	s.t.Helper()
	if r := s.send("POST", "/sim/vendors/"+vendor+"/fault", fmt.Sprintf(`{"fault":%q}`, fault)); r.status/100 != 2 {
		s.t.Fatalf("break %s: %d %s", vendor, r.status, r.body)
	}
}

// query asks the audit database with the sqlite3 shell, as an auditor would.
func (s *server) query(sql string) string {
	s.t.Helper()
	out, err := exec.Command("sqlite3", "-readonly", filepath.Join(s.dir, "data", "spillway.db"), sql).CombinedOutput()
	if err != nil {
		s.t.Fatalf("sqlite3 %q: %v\n%s", sql, err, out)
	}
	return strings.TrimSpace(string(out))
}

// eventually polls until the condition holds; the message says what did not.
func eventually(t testing.TB, within time.Duration, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", within, what)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// running reports whether a goroutine is in one of the packages.
func running(packages ...string) bool {
	b := make([]byte, 1<<20)
	b = b[:runtime.Stack(b, true)]
	for _, p := range packages {
		if bytes.Contains(b, []byte(p)) {
			return true
		}
	}
	return false
}
