package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core/audit"
)

const (
	askAnthropic       = `{"model":"claude-haiku-5-5","max_tokens":12,"messages":[{"role":"user","content":"Hello"}]}`
	askAnthropicStream = `{"model":"claude-haiku-5-5","max_tokens":12,"stream":true,"messages":[{"role":"user","content":"Hello"}]}`
	askOpenAI          = `{"model":"gpt-6-luna","max_completion_tokens":12,"messages":[{"role":"user","content":"Hello"}]}`
	askOpenAIStream    = `{"model":"gpt-6-luna","max_completion_tokens":12,"stream":true,"messages":[{"role":"user","content":"Hello"}]}`
)

func TestServer_AnswersBothFormats(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	for name, tt := range map[string]struct {
		path, body string
		want       []string
	}{
		"anthropic":        {"/v1/messages", askAnthropic, []string{`"type":"message"`, `"model":"claude-haiku-5-5"`, `"stop_reason"`}},
		"anthropic_stream": {"/v1/messages?beta=true", askAnthropicStream, []string{"event: message_start", "event: content_block_delta", "event: message_stop"}},
		"anthropic_alias":  {"/messages", askAnthropic, []string{`"type":"message"`}},
		"openai":           {"/v1/chat/completions", askOpenAI, []string{`"object":"chat.completion"`, `"finish_reason"`}},
		"openai_stream":    {"/v1/chat/completions", askOpenAIStream, []string{`"object":"chat.completion.chunk"`, "data: [DONE]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := s.post(tt.path, tt.body, "Anthropic-Version", "2023-06-01")
			if a.status != http.StatusOK || a.header.Get("Spillway-Decision") == "" {
				t.Fatalf("answer = %d %s", a.status, a.body)
			}
			for _, want := range tt.want {
				if !strings.Contains(a.body, want) {
					t.Errorf("answer lacks %s:\n%s", want, a.body)
				}
			}
		})
	}
}

func TestServer_FallsBackAcrossVendors(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.fault("anthropic", "overloaded")
	for name, tt := range map[string]struct{ path, body, want string }{
		"anthropic":        {"/v1/messages", askAnthropic, `"type":"message"`},
		"anthropic_stream": {"/v1/messages", askAnthropicStream, "event: message_stop"},
	} {
		a := s.post(tt.path, tt.body)
		if a.status != http.StatusOK || !strings.Contains(a.body, tt.want) {
			t.Fatalf("%s: answer = %d %s", name, a.status, a.body)
		}
		if got := a.header.Get("Spillway-Target"); !strings.HasPrefix(got, "gpt-") {
			t.Errorf("%s: answered by %q, want the other vendor", name, got)
		}
	}
	free := s.post("/v1/messages", askAnthropic, "X-Api-Key", simulatedFreeKey)
	if free.status != http.StatusOK || free.header.Get("Spillway-Target") != "" || free.header.Get("Spillway-Decision") == "" {
		t.Errorf("the free caller got %d with %v, want the decision's id and no more", free.status, free.header)
	}
	s.fault("anthropic", "")
	if a := s.post("/v1/messages", askAnthropic); a.header.Get("Spillway-Target") != "claude-haiku-5-5" {
		t.Errorf("healed, answered by %q", a.header.Get("Spillway-Target"))
	}
	eventually(t, "the fallback is in the history", func() bool {
		list, err := s.db.Decisions(t.Context(), audit.Filter{Degraded: true})
		return err == nil && len(list) == 3
	})
}

func TestServer_ReadyFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ready.json")
	s := start(t, Options{ReadyFile: file})
	var got Ready
	eventually(t, "the ready file appears", func() bool {
		b, err := os.ReadFile(file)
		return err == nil && json.Unmarshal(b, &got) == nil
	})
	if got != s.Ready() || !got.Simulated || got.Key != simulatedAdminKey || got.Password == "" || got.PID != os.Getpid() {
		t.Errorf("ready file = %+v", got)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the ready file holds a password and has mode %v, %v", info.Mode(), err)
	}
	if a := s.get("/readyz"); a.status != http.StatusOK {
		t.Errorf("/readyz = %d", a.status)
	}
}

func TestServer_LeadsPeopleToTheConsole(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	if a := s.get("/", "Accept", "text/html"); a.status != http.StatusSeeOther || a.header.Get("Location") != "/console/" {
		t.Errorf("a browser at / got %d to %q", a.status, a.header.Get("Location"))
	}
	if a := s.get("/"); a.status != http.StatusNotFound {
		t.Errorf("a client at / got %d, want the gateway's 404", a.status)
	}
	if a := s.get("/console/", "Accept", "text/html"); a.status >= 400 {
		t.Errorf("the console answers %d", a.status)
	}
}

func TestServer_FaultSwitchIsLocal(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	for name, header := range map[string][]string{
		"rebound_name":   {"Host", "evil.example"},
		"foreign_page":   {"Origin", "http://evil.example"},
		"foreign_fetch":  {"Sec-Fetch-Site", "cross-site"},
		"not_json":       {"Content-Type", "text/plain"},
		"form_from_page": {"Content-Type", "application/x-www-form-urlencoded"},
	} {
		if a := s.post("/sim/vendors/anthropic/fault", `{"fault":"overloaded"}`, header...); a.status < 400 {
			t.Errorf("%s: the switch answered %d", name, a.status)
		}
	}
	if got := s.vendors.Vendors()[0].Fault; got != "" {
		t.Errorf("the vendor is broken by %q", got)
	}
}

// A stream that runs when the server is told to stop comes to its own end (R23.2).
func TestServer_DrainsStreams(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.ready.Gateway+"/v1/messages",
		strings.NewReader(strings.Replace(askAnthropicStream, `"max_tokens":12`, `"max_tokens":60`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", s.ready.Key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	var text strings.Builder
	begun := false
	for lines.Scan() {
		text.WriteString(lines.Text() + "\n")
		if !begun && strings.Contains(lines.Text(), "content_block_delta") {
			begun = true
			go s.stop()
		}
	}
	if err := lines.Err(); err != nil || !begun || !strings.Contains(text.String(), "event: message_stop") {
		t.Errorf("the stream ended with %v:\n%s", err, text.String())
	}
	s.stop()
	if _, err := http.Get(s.ready.Gateway + "/livez"); err == nil {
		t.Error("the stopped server still answers")
	}
}

func TestNew_SecondServerOverTheSameData(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	_, err := New(t.Context(), Options{Listen: "127.0.0.1:0", Data: s.cfg.Data, Config: s.o.Config})
	if err == nil || !strings.Contains(err.Error(), "--data") {
		t.Errorf("New = %v, want a refusal that names --data", err)
	}
	if a := s.post("/v1/messages", askAnthropic); a.status != http.StatusOK {
		t.Errorf("the first server answers %d after that", a.status)
	}
}

func TestNew_AddressInUse(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	address := strings.TrimPrefix(s.ready.Gateway, "http://")
	data := t.TempDir()
	if _, err := New(t.Context(), Options{Listen: address, Data: data, Config: s.o.Config}); err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("New = %v, want a refusal that names --listen", err)
	}
	again := start(t, Options{Data: data}) // nothing was left open
	if a := again.get("/livez"); a.status != http.StatusOK {
		t.Errorf("/livez = %d", a.status)
	}
}
