package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
)

// TestSSEForms is field failure R19: the same answer in every legal form of
// server-sent events comes out the same.
func TestSSEForms(t *testing.T) {
	t.Parallel()
	message := messageStart + messageDelta("one") + messageDelta(`a \"b\"`) + messageEnd
	chat := chatChunk(chatRole, "null") + chatChunk(`{"content":"one"}`, "null") + chatChunk(`{"content":"a \"b\""}`, "null") +
		chatChunk(`{}`, `"stop"`) + chatDone
	twoLines := func(s string) string { return strings.Replace(s, `,"index":0`, ",\ndata: \"index\":0", 1) }
	forms := map[string]func(string) string{
		"LF":            func(s string) string { return s },
		"CRLF":          func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"CR":            func(s string) string { return strings.ReplaceAll(s, "\n", "\r") },
		"mixed":         func(s string) string { return strings.Replace(strings.Replace(s, "\n", "\r\n", 3), "\n\n", "\r\r", 2) },
		"no space":      func(s string) string { return strings.ReplaceAll(s, ": ", ":") },
		"comments":      func(s string) string { return ": hello\n\n" + strings.ReplaceAll(s, "data:", ": note\ndata:") },
		"retry and id":  func(s string) string { return strings.ReplaceAll(s, "data:", "retry: 10\nid: 7\nunknown: x\ndata:") },
		"byte order":    func(s string) string { return "\xef\xbb\xbf" + s },
		"no last blank": func(s string) string { return s },
	}
	for _, f := range []struct {
		wire                   core.Wire
		path, ask, clean, name string
	}{
		{core.WireAnthropic, "/v1/messages", askMessagesStream, message, "anthropic"},
		{core.WireOpenAI, "/v1/chat/completions", askChatStream, chat, "openai"},
	} {
		want := withoutPings(f.clean)
		for form, change := range forms {
			for _, size := range []int{1, 7, 1 << 20} {
				t.Run(f.name+"/"+form, func(t *testing.T) {
					t.Parallel()
					sent := change(f.clean)
					r := rigOf(t, f.wire, newVendor(t, inPieces(sent, size)))
					if got := r.ask(t, f.path, f.ask); normal(got.body) != normal(want) {
						t.Errorf("pieces of %d: got\n%s\nwant\n%s", size, got.body, want)
					}
				})
			}
		}
		t.Run(f.name+"/two data lines", func(t *testing.T) {
			t.Parallel()
			r := rigOf(t, f.wire, newVendor(t, inPieces(twoLines(f.clean), 5)))
			got := r.ask(t, f.path, f.ask).body
			joined := strings.ReplaceAll(strings.ReplaceAll(got, ",\ndata: ", ","), ",\n", ",")
			if joined != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// normal evens out what "no space" changes inside the JSON itself.
func normal(s string) string { return strings.ReplaceAll(s, ": ", ":") }

func rigOf(t testing.TB, w core.Wire, v *vendor, changes ...setup) *rig {
	t.Helper()
	if w == core.WireAnthropic {
		return anthropicRig(t, v, changes...)
	}
	return openAIRig(t, v, changes...)
}

// inPieces streams a text in pieces of a size.
func inPieces(s string, size int) http.HandlerFunc {
	var parts []string
	for len(s) > size {
		parts, s = append(parts, s[:size]), s[size:]
	}
	return streams(append(parts, s)...)
}

// TestSSE_EventLeavesAtOnce holds that a complete event is passed on without
// waiting for the next byte.
func TestSSE_EventLeavesAtOnce(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	v := newVendor(t, func(w http.ResponseWriter, r *http.Request) {
		streams(messageStart+messageDelta("first"))(w, r)
		<-next
		streams(messageDelta("second"), messageEnd)(w, r)
	})
	r := anthropicRig(t, v)
	res, err := r.send(t.Context(), http.MethodPost, "/v1/messages", strings.NewReader(askMessagesStream))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	readUntil(t, res.Body, "first") // or the vendor would wait for ever
	close(next)
	readUntil(t, res.Body, "message_stop")
}

// TestSSE_LongEvents is field failure R17: long lines arrive whole, and above
// the limit the stream ends with an error that says so.
func TestSSE_LongEvents(t *testing.T) {
	t.Parallel()
	for _, size := range []int{70 << 10, 1200 << 10, 9 << 20} {
		text := strings.Repeat("x", size)
		r := anthropicRig(t, newVendor(t, streams(messageStart, messageDelta("a"), messageDelta(text), messageEnd)))
		got := r.ask(t, "/v1/messages", askMessagesStream)
		whole := strings.Contains(got.body, text) && strings.HasSuffix(got.body, messageEnd)
		if want := size < 8<<20; whole != want {
			t.Errorf("%d bytes: whole is %v, want %v", size, whole, want)
		}
		if whole {
			continue
		}
		contains(t, got.body, "event: error")
		if strings.Contains(got.body, "message_stop") {
			t.Error("a success marker after an event that was too large")
		}
		if d := r.tape.decision(t, 1); d.Outcome != core.KindBadResponse {
			t.Errorf("recorded as %v", d.Outcome)
		}
	}
}
