package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
)

func TestOpenAI_JSONIsByteFaithful(t *testing.T) {
	t.Parallel()
	v := newVendor(t, says(200, chatAnswer))
	r := openAIRig(t, v)
	body := `{"novel" : [1 ,2],"messages":[{"role":"user","content":"hi"}],"model":"gpt" }`
	if got := r.ask(t, "/v1/chat/completions", body, "X-Api-Key", "", "Authorization", "Bearer "+paidKey); got.body != chatAnswer {
		t.Errorf("status %d, body %q", got.status, got.body)
	} else if got.header.Get("X-Request-Id") != r.tape.decision(t, 1).ID {
		t.Errorf("request id %q", got.header.Get("X-Request-Id"))
	}
	if h := v.last(t); string(h.body) != strings.Replace(body, `"gpt"`, `"gpt-1"`, 1) || h.path != "/v1/chat/completions" {
		t.Errorf("vendor got %s: %s", h.path, h.body)
	}
}

// TestOpenAI_Usage is field failure R25: the vendor is always asked for usage,
// and only callers who asked see the extra chunk.
func TestOpenAI_Usage(t *testing.T) {
	t.Parallel()
	chunks := chatChunk(chatRole, "null") + chatChunk(`{"content":"Hello"}`, "null") + chatChunk(`{}`, `"stop"`)
	asked := func(w http.ResponseWriter, r *http.Request) { streams(chunks, chatUsage+chatDone)(w, r) }
	tests := []struct {
		name, options string
		script        http.HandlerFunc
		shown, exact  bool
	}{
		{"not asked", "", asked, false, true},
		{"asked not to", `,"stream_options":{"include_usage":false}`, asked, false, true},
		{"asked", `,"stream_options":{"include_usage":true}`, asked, true, true},
		{"a vendor that never tells", "", streams(chunks, chatDone), false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := newVendor(t, tt.script)
			r := openAIRig(t, v)
			got := r.ask(t, "/v1/chat/completions", strings.TrimSuffix(askChatStream, "}")+tt.options+"}")
			want := chunks + chatDone
			if tt.shown {
				want = chunks + chatUsage + chatDone
			}
			if got.body != want {
				t.Errorf("got\n%s\nwant\n%s", got.body, want)
			}
			var sent struct {
				Options struct {
					IncludeUsage bool `json:"include_usage"`
				} `json:"stream_options"`
			}
			if err := json.Unmarshal(v.last(t).body, &sent); err != nil || !sent.Options.IncludeUsage {
				t.Errorf("the vendor was not asked: %s", v.last(t).body)
			}
			u := r.tape.decision(t, 1).Usage
			if tt.exact && (u.Input != 12 || u.Output != 5 || u.Estimated) {
				t.Errorf("recorded %+v", u)
			}
			if !tt.exact && (!u.Estimated || u.Output == 0 || u.Input == 0) {
				t.Errorf("recorded %+v, want an estimate marked as one", u)
			}
		})
	}
}

// TestOpenAI_NullErrors holds that an error field which means none reaches no
// client: openai-go takes even null for a failure.
func TestOpenAI_NullErrors(t *testing.T) {
	t.Parallel()
	dirty := strings.Replace(chatChunk(`{"content":"Hello"}`, "null"), `"choices"`, `"error":null,"choices"`, 1)
	r := openAIRig(t, newVendor(t, streams(dirty, chatChunk(`{}`, `"stop"`), chatDone)))
	got := r.ask(t, "/v1/chat/completions", askChatStream)
	contains(t, got.body, "Hello", `"finish_reason":"stop"`, "[DONE]")
	if strings.Contains(got.body, "error") {
		t.Errorf("got %s", got.body)
	}
}

// TestOpenAI_ErrorAfterContent holds the form of an error in a stream: no end
// marker may follow it.
func TestOpenAI_ErrorAfterContent(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]http.HandlerFunc{
		"cut":               cutAfter(chatChunk(`{"content":"half"}`, "null")),
		"end marker alone":  streams(chatChunk(`{"content":"half"}`, "null"), chatDone),
		"error chunk":       streams(chatChunk(`{"content":"half"}`, "null"), "data: {\"error\":{\"message\":\"no\",\"code\":500}}\n\n", chatDone),
		"no finish at last": streams(chatChunk(`{"content":"half"}`, "null")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := openAIRig(t, newVendor(t, script))
			got := r.ask(t, "/v1/chat/completions", askChatStream)
			contains(t, got.body, "half", `data: {"error":{`)
			if strings.Contains(got.body, "[DONE]") {
				t.Errorf("an end marker after a failure: %s", got.body)
			}
			if d := r.tape.decision(t, 1); d.Outcome == core.KindNone {
				t.Error("recorded as a success")
			}
		})
	}
}

// TestOpenAI_ResponsesBody holds that a client in the wrong mode is told so.
func TestOpenAI_ResponsesBody(t *testing.T) {
	t.Parallel()
	v := newVendor(t, says(200, chatAnswer))
	r := openAIRig(t, v)
	got := r.ask(t, "/v1/chat/completions", `{"model":"gpt","input":"hi"}`)
	checkError(t, core.WireOpenAI, got, 400, "Responses", "messages")
	if v.count() != 0 {
		t.Error("it reached the vendor")
	}
}
