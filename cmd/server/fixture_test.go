package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/policy"
)

// TestMain lets the servers under test start this binary as their policy worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "policy-worker" {
		os.Exit(run(context.Background(), program{env: os.LookupEnv, out: os.Stdout, err: os.Stderr}, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// started is a whole server that runs in this process.
type started struct {
	*Server
	t    testing.TB
	base string // where requests go, the gateway unless a test says otherwise
	stop func() // ends it politely and waits
}

// start runs a server on free ports over dir, with simulated vendors unless the
// environment or the file says otherwise.
func start(t testing.TB, o Options) *started {
	t.Helper()
	o.Listen = "127.0.0.1:0"
	// The race detector needs much of both; core/policy tests the real bounds.
	o.Worker = policy.WorkerLimits{CPU: 5 * time.Minute, Deadline: 5 * time.Minute, Memory: 1 << 50}
	if o.Data == "" {
		o.Data = t.TempDir()
	}
	if o.Config == "" {
		o.Config = write(t, "spillway.yaml", "")
	}
	s, err := New(t.Context(), o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return &started{Server: s, t: t, base: s.ready.Gateway, stop: stop}
}

func write(t testing.TB, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// answer is a response, read whole.
type answer struct {
	status int
	header http.Header
	body   string
}

// post sends JSON with the admin's key, or another one.
func (s *started) post(path, body string, header ...string) answer {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", s.ready.Key)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	return s.do(req)
}

func (s *started) get(path string, header ...string) answer {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.base+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return s.do(req)
}

func (s *started) do(req *http.Request) answer {
	s.t.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatalf("%s %s: read: %v", req.Method, req.URL.Path, err)
	}
	return answer{res.StatusCode, res.Header, string(body)}
}

// fault breaks a simulated vendor, or heals it.
func (s *started) fault(vendor, fault string) {
	s.t.Helper()
	a := s.post("/sim/vendors/"+vendor+"/fault", `{"fault":"`+fault+`"}`)
	if a.status != http.StatusNoContent {
		s.t.Fatalf("fault: %d %s", a.status, a.body)
	}
}

// eventually waits for what another goroutine does in its own time.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never happened: %s", what)
		}
	}
}

// logBuffer collects logs from many goroutines.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
