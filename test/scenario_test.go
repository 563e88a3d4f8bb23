package test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
)

// scenarios reads the translator's scenarios of one kind: what its tests expect
// must be what the vendors' own SDKs know.
func scenarios(t *testing.T, kind string) map[string]map[string]string {
	t.Helper()
	files, err := filepath.Glob("../core/wire/translate/testdata/" + kind + "/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d scenarios of %s: %v", len(files), kind, err)
	}
	all := map[string]map[string]string{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sections := map[string]string{}
		name := ""
		for line := range strings.Lines(string(b)) {
			if s := strings.TrimSpace(line); strings.HasPrefix(s, "-- ") && strings.HasSuffix(s, " --") {
				name = strings.TrimSuffix(strings.TrimPrefix(s, "-- "), " --")
				continue
			}
			sections[name] += line
		}
		all[strings.TrimSuffix(filepath.Base(file), ".txtar")] = sections
	}
	return all
}

// knownToOthers are parts of scenarios that the SDKs' types can't hold, although
// the vendors take them: temperature left Anthropic's newer API version only, the
// OpenAI SDK reads no named function back, and the reasoning is DeepSeek's.
var knownToOthers = map[string]string{
	"conversation_to_anthropic": ".temperature", "limits_to_anthropic": ".temperature",
	"tools_to_openai": ".tool_choice.function", "reasoning_echo_to_openai": ".messages[2].reasoning_content",
}

// TestScenarios_Requests holds that no expected request has a part which the
// target's SDK does not have.
func TestScenarios_Requests(t *testing.T) {
	t.Parallel()
	for name, sc := range scenarios(t, "requests") {
		judge := sameIn[openai.ChatCompletionNewParams]
		if strings.TrimSpace(sc["from"]) == "openai" {
			judge = sameIn[anthropic.MessageNewParams]
		}
		if err := judge([]byte(sc["want"])); err != nil && !strings.HasPrefix(err.Error(), knownToOthers[name]+" ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestScenarios_Streams holds that the SDKs read every expected stream without a
// complaint, and find a reason to stop in it exactly when it is whole.
func TestScenarios_Streams(t *testing.T) {
	t.Parallel()
	for name, sc := range scenarios(t, "streams") {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, sc["want"])
		}))
		var stopped bool
		if strings.TrimSpace(sc["from"]) == "openai" {
			stopped = readMessages(t, name, server.URL)
		} else {
			stopped = readChat(t, name, server.URL)
		}
		server.Close()
		whole := strings.Contains(sc["want"], "message_stop") || strings.Contains(sc["want"], "[DONE]")
		if stopped != whole {
			t.Errorf("%s: the SDK found an end: %v, want %v", name, stopped, whole)
		}
	}
}

func readMessages(t *testing.T, name, url string) (stopped bool) {
	client := anthropic.NewClient(anthropicoption.WithBaseURL(url), anthropicoption.WithAPIKey("k"))
	stream := client.Messages.NewStreaming(t.Context(), anthropic.MessageNewParams{Model: "m", MaxTokens: 1, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("x"))}})
	var whole anthropic.Message
	for stream.Next() {
		if err := whole.Accumulate(stream.Current()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for _, b := range whole.Content {
		if b.Type == "thinking" {
			t.Errorf("%s: a thinking block, which can have no signature", name)
		}
	}
	return whole.StopReason != ""
}

func readChat(t *testing.T, name, url string) (stopped bool) {
	client := openai.NewClient(openaioption.WithBaseURL(url), openaioption.WithAPIKey("k"))
	stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("x")}})
	var whole openai.ChatCompletionAccumulator
	for stream.Next() {
		if !whole.AddChunk(stream.Current()) {
			t.Errorf("%s: a chunk is refused: %s", name, stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return len(whole.Choices) > 0 && whole.Choices[0].FinishReason != ""
}
