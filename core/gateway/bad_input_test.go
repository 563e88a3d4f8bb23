package gateway_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/gateway"
)

// errorBody is an error in either format.
type errorBody struct {
	Type  string `json:"type"`
	Error *struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Code    any    `json:"code"`
	} `json:"error"`
	RequestID *string `json:"request_id"`
}

// checkError holds that an answer is an error in the format, with the words.
func checkError(t *testing.T, w core.Wire, got reply, status int, words ...string) {
	t.Helper()
	var e errorBody
	if err := json.Unmarshal([]byte(got.body), &e); err != nil || e.Error == nil {
		t.Fatalf("%d: no error body: %v in %q", got.status, err, got.body)
	}
	if got.status != status {
		t.Errorf("status %d, want %d: %s", got.status, status, got.body)
	}
	anthropic := e.Type == "error" && e.RequestID != nil
	if anthropic != (w == core.WireAnthropic) {
		t.Errorf("not in %s's format: %s", w, got.body)
	}
	id := "X-Request-Id"
	if w == core.WireAnthropic {
		id = "Request-Id"
	}
	if got.header.Get(id) == "" || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v: want %s and JSON", got.header, id)
	}
	contains(t, e.Error.Message, words...)
}

// front is one format as a caller sees it.
type front struct {
	wire core.Wire
	path string
	ask  string // a good request; the model's name is MODEL
}

func fronts() []front {
	return []front{
		{core.WireAnthropic, "/v1/messages", `{"model":"MODEL","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`},
		{core.WireAnthropic, "/messages", `{"model":"MODEL","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`},
		{core.WireOpenAI, "/v1/chat/completions", `{"model":"MODEL","messages":[{"role":"user","content":"hi"}]}`},
		{core.WireOpenAI, "/chat/completions", `{"model":"MODEL","messages":[{"role":"user","content":"hi"}]}`},
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	v := newVendor(t, says(200, messageAnswer))
	r := newRig(t, []target{
		{id: "claude-opus-5-5", model: "claude-opus-5-5", wire: core.WireAnthropic, vendor: v},
		{id: "gpt-6-sol", model: "gpt-6-sol", wire: core.WireOpenAI, vendor: v},
	})
	tests := []struct {
		name   string
		method string
		body   string // "" for a good one
		model  string
		header []string
		status int
		words  []string
	}{
		{name: "not JSON", body: "model=claude", status: 400},
		{name: "half a document", body: `{"model":"claude-opus-5-5","messages":[`, status: 400},
		{name: "an array", body: `[]`, status: 400},
		{name: "empty", body: " ", status: 400},
		{name: "no body", method: http.MethodPost, body: "\x00none", status: 400, words: []string{"empty"}},
		{name: "unknown model", model: "claude-opus-5", status: 404, words: []string{"claude-opus-5-5", "/v1/models"}},
		{name: "nothing near", model: "zzzzzzzzzzzzzzz", status: 404, words: []string{"/v1/models", "auto"}},
		{name: "no key", header: []string{"X-Api-Key", ""}, status: 401, words: []string{"x-api-key", "Bearer"}},
		{name: "unknown key", header: []string{"X-Api-Key", "sk-ant-vendor"}, status: 401, words: []string{"sw_", "vendor"}},
		{name: "ungranted use case", header: []string{"Spillway-Use-Case", "payments"}, status: 403, words: []string{"payments", "assistant, batch"}},
		{name: "unknown use case", header: []string{"Spillway-Use-Case", "asistant"}, status: 400, words: []string{"asistant", "assistant, batch"}},
		{name: "ungranted use case as model", model: "payments", status: 403, words: []string{"payments"}},
		{name: "wrong method", method: http.MethodPut, status: 405, words: []string{"PUT", "POST"}},
		{name: "bad priority", header: []string{"Spillway-Priority", "11"}, status: 400, words: []string{"Spillway-Priority", "0 to 10"}},
		{name: "no number", header: []string{"Spillway-Latency-Budget", "fast"}, status: 400, words: []string{"1 to 600000"}},
		{name: "bad task", header: []string{"Spillway-Task", "chat"}, status: 400, words: []string{"simple, complex, creative, code"}},
		{name: "bad quality", header: []string{"Spillway-Quality", "best"}, status: 400, words: []string{"cost, balanced, quality"}},
		{name: "bad switch", header: []string{"Spillway-Force-Fallback", "yes"}, status: 400, words: []string{"true or false"}},
		{name: "long tags", header: []string{"Spillway-Tags", strings.Repeat("x", 257)}, status: 400, words: []string{"257", "256"}},
		{name: "tags that are no text", header: []string{"Spillway-Tags", "caf\xe9"}, status: 400, words: []string{"byte 4"}},
		{name: "misspelt header", header: []string{"Spillway-Prority", "3"}, status: 400, words: []string{"did you mean Spillway-Priority?"}},
	}
	for _, f := range fronts() {
		for _, tt := range tests {
			t.Run(f.path+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				model := tt.model
				if model == "" {
					model = "auto"
				}
				var body io.Reader = strings.NewReader(strings.Replace(f.ask, "MODEL", model, 1))
				if tt.body == "\x00none" {
					body = nil
				} else if tt.body != "" {
					body = strings.NewReader(tt.body)
				}
				method := tt.method
				if method == "" {
					method = http.MethodPost
				}
				checkError(t, f.wire, r.do(t, method, f.path, body, tt.header...), tt.status, tt.words...)
			})
		}
	}
	t.Cleanup(func() {
		if v.count() != 0 {
			t.Errorf("%d bad requests reached the vendor", v.count())
		}
	})
}

func TestBadInput_TooLarge(t *testing.T) {
	t.Parallel()
	v := newVendor(t, says(200, messageAnswer))
	r := anthropicRig(t, v)
	large := bytes.Repeat([]byte{'x'}, 33<<20)
	for _, f := range fronts() {
		for name, body := range map[string]io.Reader{
			"known length": bytes.NewReader(large), "chunked": io.MultiReader(bytes.NewReader(large)),
		} {
			got := r.do(t, http.MethodPost, f.path, body)
			t.Run(f.path+"/"+name, func(t *testing.T) { checkError(t, f.wire, got, 413, "33554432") })
		}
	}
	if v.count() != 0 {
		t.Error("33 MB reached the vendor")
	}
}

func TestBadInput_OtherPaths(t *testing.T) {
	t.Parallel()
	r := anthropicRig(t, newVendor(t, says(200, messageAnswer)))
	tests := []struct {
		name, method, path string
		header             []string
		wire               core.Wire
		status             int
		words              []string
	}{
		{"unknown path", "POST", "/v1/v1/messages", nil, core.WireOpenAI, 404, []string{"did you mean /v1/messages?", "base URL"}},
		{"unknown path of an Anthropic client", "POST", "/v1/massages", []string{"Anthropic-Version", "2026-10-21"}, core.WireAnthropic, 404, []string{"/v1/messages"}},
		{"Responses API", "POST", "/v1/responses", nil, core.WireOpenAI, 404, []string{"/v1/chat/completions"}},
		{"root", "GET", "/", nil, core.WireOpenAI, 404, []string{"base URL"}},
		{"models are read", "POST", "/v1/models", nil, core.WireOpenAI, 405, []string{"GET"}},
		{"health is read", "DELETE", "/health", nil, core.WireOpenAI, 405, []string{"GET"}},
		{"a plan is posted", "GET", "/v1/plan", nil, core.WireOpenAI, 405, []string{"POST"}},
		{"a plan needs a key", "POST", "/v1/plan", []string{"X-Api-Key", ""}, core.WireOpenAI, 401, nil},
		{"a plan of nonsense", "POST", "/v1/plan", nil, core.WireOpenAI, 400, nil},
		{"models need a key", "GET", "/v1/models", []string{"X-Api-Key", "", "Anthropic-Version", "2023-06-01"}, core.WireAnthropic, 401, nil},
		{"unknown model", "GET", "/v1/models/claud", nil, core.WireOpenAI, 404, []string{"claude"}},
		{"auto is no model", "GET", "/v1/models/auto", nil, core.WireOpenAI, 404, []string{"auto"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var body io.Reader
			if tt.method == "POST" {
				body = strings.NewReader("nonsense")
			}
			got := r.do(t, tt.method, tt.path, body, tt.header...)
			checkError(t, tt.wire, got, tt.status, tt.words...)
			if tt.status == 405 && got.header.Get("Allow") == "" {
				t.Error("405 without Allow")
			}
		})
	}
}

func TestBadInput_HeaderTwice(t *testing.T) {
	t.Parallel()
	r := anthropicRig(t, newVendor(t, says(200, messageAnswer)))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+"/v1/messages", strings.NewReader(askMessages))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"X-Api-Key": {paidKey}, "Spillway-Priority": {"1", "9"}}
	res, err := r.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, _ := io.ReadAll(res.Body)
	checkError(t, core.WireAnthropic, reply{res.StatusCode, res.Header, string(b)}, 400, "sent 2 times")
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	r := anthropicRig(t, newVendor(t, says(200, messageAnswer)))
	if _, err := gateway.New(gateway.Config{Engine: r.engine}); err == nil {
		t.Error("a gateway without keys and upstream was made")
	}
}
