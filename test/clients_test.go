package test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
)

// Every official client, plain and streamed, with its own vendor alive and with
// it dead and the other one answering.
func TestOfficialClients(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, broken, served string }{
		{"own_vendor", "", ""},
		{"anthropic_down", "anthropic", "gpt"},
		{"openai_down", "openai", "claude"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, t.TempDir())
			if c.broken != "" {
				s.fault(c.broken, "overloaded")
			}
			t.Run("anthropic_go", func(t *testing.T) { anthropicGo(t, s) })
			t.Run("openai_go", func(t *testing.T) { openaiGo(t, s) })
			t.Run("javascript", func(t *testing.T) { javascript(t, s, c.served) })
		})
	}
}

func anthropicGo(t *testing.T, s *server) {
	client := anthropic.NewClient(anthropicoption.WithBaseURL(s.Gateway), anthropicoption.WithAPIKey(s.Key))
	params := anthropic.MessageNewParams{
		Model: "claude-opus-5-5", MaxTokens: 64,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
	}
	msg, err := client.Messages.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if len(msg.Content) == 0 || msg.Content[0].Text == "" || msg.StopReason == "" || msg.Usage.OutputTokens == 0 {
		t.Errorf("plain: %+v", msg)
	}
	stream := client.Messages.NewStreaming(t.Context(), params)
	var whole anthropic.Message
	for stream.Next() {
		if err := whole.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if len(whole.Content) == 0 || whole.Content[0].Text == "" || whole.StopReason == "" {
		t.Errorf("streamed: %+v", whole)
	}
}

func openaiGo(t *testing.T, s *server) {
	client := openai.NewClient(openaioption.WithBaseURL(s.Gateway+"/v1"), openaioption.WithAPIKey(s.Key))
	params := openai.ChatCompletionNewParams{
		Model:    "gpt-6-sol",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
	}
	chat, err := client.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if len(chat.Choices) != 1 || chat.Choices[0].Message.Content == "" || chat.Choices[0].FinishReason == "" {
		t.Errorf("plain: %+v", chat)
	}
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var whole openai.ChatCompletionAccumulator
	for stream.Next() {
		if !whole.AddChunk(stream.Current()) {
			t.Fatalf("chunk refused: %+v", stream.Current())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if len(whole.Choices) != 1 || whole.Choices[0].Message.Content == "" || whole.Choices[0].FinishReason == "" {
		t.Errorf("streamed: %+v", whole.ChatCompletion)
	}
}

// answers is what js/clients.mjs prints.
type answers map[string]struct {
	Text, Model, End string
	Error            string
}

func javascript(t *testing.T, s *server, served string) {
	cmd := exec.CommandContext(t.Context(), "node", "js/clients.mjs", s.Gateway)
	cmd.Env = append(os.Environ(), "SPILLWAY_KEY="+s.Key)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, stderr(err))
	}
	var got answers
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	for _, name := range []string{"anthropic plain", "anthropic streamed", "anthropic helper", "openai plain", "openai streamed", "openai helper"} {
		a, ok := got[name]
		if !ok || a.Error != "" || a.Text == "" || a.End == "" {
			t.Errorf("%s: %+v", name, a)
		}
		own := map[bool]string{true: "claude", false: "gpt"}[strings.HasPrefix(name, "anthropic")]
		if want := served; !strings.HasPrefix(a.Model, own) && !strings.HasPrefix(a.Model, want) || want != "" && want != own && !strings.HasPrefix(a.Model, want) {
			t.Errorf("%s: answered by %q", name, a.Model)
		}
	}
}

func stderr(err error) string {
	if x, ok := err.(*exec.ExitError); ok {
		return string(x.Stderr)
	}
	return ""
}
