package test

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var formats = map[string]string{"/v1/messages": anthropicBody, "/v1/chat/completions": openaiBody}

func TestBreakAndHeal(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	paid, free := s.addKey("paid", "paid"), s.addKey("free", "free")
	s.fault("anthropic", "overloaded")
	for path, body := range formats {
		r := s.send("POST", path, body)
		if r.status != 200 || !strings.Contains(r.header.Get("Spillway-Target"), "gpt") {
			t.Fatalf("%s: %d by %q: %s", path, r.status, r.header.Get("Spillway-Target"), r.body)
		}
		if r.header.Get("Spillway-Attempts") == "" || r.header.Get("Spillway-Decision") == "" {
			t.Errorf("the admin key is not told all: %v", r.header)
		}
		r = s.send("POST", path, body, "Authorization", "Bearer "+paid)
		if r.header.Get("Spillway-Target") == "" || r.header.Get("Spillway-Degraded") == "" || r.header.Get("Spillway-Attempts") != "" {
			t.Errorf("the paid key is told %v", r.header)
		}
		r = s.send("POST", path, body, "Authorization", "Bearer "+free)
		for name := range r.header {
			if strings.HasPrefix(name, "Spillway-") && name != "Spillway-Decision" {
				t.Errorf("the free key is told %s", name)
			}
		}
	}
	for range 10 {
		s.send("POST", "/v1/messages", anthropicBody, "Spillway-Use-Case", "assistant")
	}
	r := s.send("POST", "/v1/messages", anthropicBody, "Spillway-Use-Case", "assistant")
	if got := r.header.Get("Spillway-Attempts"); r.status != 200 || !strings.HasPrefix(got, "1") {
		t.Errorf("with an open circuit: %d, attempts %q", r.status, got)
	}
	s.fault("anthropic", "")
	eventually(t, 60*time.Second, "the circuit half-opens, closes and the primary answers", func() bool {
		r := s.send("POST", "/v1/messages", anthropicBody, "Spillway-Use-Case", "assistant")
		return strings.HasPrefix(r.header.Get("Spillway-Target"), "claude-opus")
	})
	eventually(t, 10*time.Second, "the history shows open, half-open and closed", func() bool {
		s.send("POST", "/v1/messages", anthropicBody, "Spillway-Use-Case", "assistant") // a second good probe closes it
		got := s.query("select group_concat(to_state, ' ') from (select to_state from v_circuit_history where use_case='assistant' and target='claude-opus-5-5' order by seq)")
		return strings.HasPrefix(got, "open half_open closed")
	})
}

// addKey makes a caller's key of a plan, as the operator does.
func (s *server) addKey(name, plan string) string {
	s.t.Helper()
	out, err := exec.Command(binary, "keys", "add", "--data", filepath.Join(s.dir, "data"), "--plan", plan, "--name", name).CombinedOutput()
	if err != nil {
		s.t.Fatalf("keys add: %v\n%s", err, out)
	}
	for _, word := range strings.Fields(string(out)) {
		if strings.HasPrefix(word, "sw_") {
			eventually(s.t, 10*time.Second, "the running server knows the new key", func() bool {
				return s.send("GET", "/v1/models", "", "Authorization", "Bearer "+word).status == 200
			})
			return word
		}
	}
	s.t.Fatalf("keys add printed no key:\n%s", out)
	return ""
}

func TestRateLimitRoutesAround(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.fault("anthropic", "rate_limited")
	r := s.send("POST", "/v1/messages", anthropicBody, "Spillway-Use-Case", "assistant")
	if after, _ := strconv.Atoi(r.header.Get("Retry-After")); r.status != 429 || after < 1 || after > 20 {
		t.Fatalf("got %d, Retry-After %q: %s", r.status, r.header.Get("Retry-After"), r.body)
	}
	r = s.send("POST", "/v1/messages", anthropicBody, "Spillway-Use-Case", "assistant")
	if r.status != 200 || !strings.Contains(r.header.Get("Spillway-Target"), "gpt") {
		t.Fatalf("during the cooldown: %d by %q", r.status, r.header.Get("Spillway-Target"))
	}
	s.fault("anthropic", "")
	eventually(t, 30*time.Second, "the cooldown ends and the primary is back", func() bool {
		r := s.send("POST", "/v1/messages", anthropicBody, "Spillway-Use-Case", "assistant")
		return strings.HasPrefix(r.header.Get("Spillway-Target"), "claude-opus")
	})
	if got := s.query("select count(*) from v_circuit_history"); got != "0" {
		t.Errorf("%s circuit transitions after a 429", got)
	}
}

func TestKillUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir)
	s.fault("anthropic", "overloaded")
	for range 8 {
		s.send("POST", "/v1/messages", anthropicBody, "Spillway-Use-Case", "assistant")
	}
	var answered atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for !stop.Load() {
				if r, ok := s.try(openaiBody); ok && r == 200 {
					answered.Add(1)
				}
			}
		})
	}
	eventually(t, 30*time.Second, "some answers under load", func() bool { return answered.Load() >= 40 })
	s.kill()
	total := answered.Load() + 8
	stop.Store(true)
	wg.Wait()

	again := start(t, dir)
	recorded, _ := strconv.ParseInt(again.query("select count(*) from v_decisions"), 10, 64)
	missing := total - recorded
	if missing > 1000 {
		t.Errorf("%d of %d decisions missing", missing, total)
	}
	if gaps := again.query("select count(*) from v_gaps"); missing > 0 && gaps != "1" {
		t.Errorf("%d decisions missing and %s gap records", missing, gaps)
	}
	if r := again.send("POST", "/v1/messages", anthropicBody, "Spillway-Use-Case", "assistant"); strings.Contains(r.header.Get("Spillway-Target"), "opus") || !strings.HasPrefix(r.header.Get("Spillway-Attempts"), "1") {
		t.Errorf("after the restart: target %q, attempts %q, want the circuit still open", r.header.Get("Spillway-Target"), r.header.Get("Spillway-Attempts"))
	}
}

// try makes one request that may meet a dead server.
func (s *server) try(body string) (int, bool) {
	req, err := http.NewRequest("POST", s.Gateway+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return 0, false
	}
	req.Header.Set("Authorization", "Bearer "+s.Key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, false
	}
	defer res.Body.Close()
	return res.StatusCode, true
}

func TestAuditorNeedsNoJoin(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.fault("anthropic", "overloaded")
	for range 3 {
		s.send("POST", "/v1/messages", anthropicBody)
	}
	eventually(t, 10*time.Second, "three rows", func() bool { return s.query("select count(*) from v_decisions") == "3" })
	row := s.query("select caller_key, use_case, asked, tried, answered_by, cost_usd, revision from v_decisions limit 1")
	for _, want := range []string{"claude-opus-5-5", "overloaded", "gpt"} {
		if !strings.Contains(row, want) {
			t.Errorf("v_decisions does not say %q: %s", want, row)
		}
	}
	if n := strings.Count(row, "||"); n != 0 {
		t.Errorf("empty columns in %s", row)
	}
}

func TestBadInputInTheCallersFormat(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	free := s.addKey("free", "free")
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		says                     string
	}{
		{"not_json", "POST", "/v1/messages", `{"model":`, nil, 400, "JSON"},
		{"not_json_openai", "POST", "/v1/chat/completions", `hello`, nil, 400, "JSON"},
		{"33_MB", "POST", "/v1/messages", strings.Repeat("x", 33<<20), nil, 413, "limit"},
		{"unknown_model", "POST", "/v1/messages", strings.Replace(anthropicBody, "opus-5-5", "opus-5-6", 1), nil, 404, "claude-opus-5-5"},
		{"missing_key", "POST", "/v1/messages", anthropicBody, []string{"Authorization", ""}, 401, "key"},
		{"wrong_key", "POST", "/v1/chat/completions", openaiBody, []string{"Authorization", "Bearer nope"}, 401, "key"},
		{"ungranted_use_case", "POST", "/v1/messages", anthropicBody, []string{"Authorization", "Bearer " + free, "Spillway-Use-Case", "payments"}, 403, "payments"},
		{"unknown_use_case", "POST", "/v1/messages", anthropicBody, []string{"Spillway-Use-Case", "assistent"}, 400, "assistant"},
		{"wrong_method", "GET", "/v1/messages", "", nil, 405, "POST"},
		{"unknown_path", "POST", "/v1/mesages", anthropicBody, []string{"Anthropic-Version", "2023-06-01"}, 404, "/v1/messages"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := s.send(c.method, c.path, c.body, c.header...)
			if r.status != c.status || !strings.Contains(r.body, c.says) {
				t.Errorf("got %d %s, want %d and %q", r.status, r.body, c.status, c.says)
			}
			anthropic := strings.Contains(c.path, "mes")
			if isAnthropic := strings.Contains(r.body, `"type":"error"`); isAnthropic != anthropic {
				t.Errorf("not in the caller's format: %s", r.body)
			}
		})
	}
}

func TestPlanAndHealth(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	if r := s.send("POST", "/v1/plan", anthropicBody); r.status != 200 || !strings.Contains(r.body, "claude-opus-5-5") {
		t.Errorf("plan: %d %s", r.status, r.body)
	}
	for path, status := range map[string]int{"/health": 200, "/livez": 200, "/readyz": 200} {
		if r := s.send("GET", path, "", "Authorization", ""); r.status != status {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	for _, h := range [][]string{nil, {"Anthropic-Version", "2023-06-01"}} {
		if r := s.send("GET", "/v1/models", "", h...); r.status != 200 || !strings.Contains(r.body, "gpt-6-sol") {
			t.Errorf("models %v: %d %s", h, r.status, r.body)
		}
	}
}

func TestGracefulShutdownDrainsStreams(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	got := make(chan string, 1)
	started := make(chan struct{})
	go func() {
		body := strings.Replace(anthropicBody, `"max_tokens":64`, `"max_tokens":64,"stream":true`, 1)
		req, _ := http.NewRequest("POST", s.Gateway+"/v1/messages", strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+s.Key)
		res, err := http.DefaultClient.Do(req)
		close(started)
		if err != nil {
			got <- fmt.Sprint(err)
			return
		}
		defer res.Body.Close()
		var b strings.Builder
		buf := make([]byte, 512)
		for {
			n, err := res.Body.Read(buf)
			b.Write(buf[:n])
			if err != nil {
				break
			}
		}
		got <- b.String()
	}()
	<-started
	s.stop()
	if out := <-got; !strings.Contains(out, "message_stop") {
		t.Errorf("the stream was cut: %s", out)
	}
}
