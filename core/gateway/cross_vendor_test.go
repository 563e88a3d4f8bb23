package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
)

// bothRig has an Anthropic and an OpenAI target; the one named first is tried first.
func bothRig(t testing.TB, first string, a, o *vendor, changes ...setup) *rig {
	t.Helper()
	targets := []target{
		{id: "claude", model: "claude-1", wire: core.WireAnthropic, vendor: a},
		{id: "gpt", model: "gpt-1", wire: core.WireOpenAI, vendor: o},
	}
	if first == "gpt" {
		targets[0], targets[1] = targets[1], targets[0]
	}
	return newRig(t, targets, append([]setup{{tables: noRetries}}, changes...)...)
}

// The failures that start a fallback, in each vendor's form.
const (
	anthropicBusy = `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`
	openAIBusy    = `{"error":{"message":"busy","type":"server_error","param":null,"code":"server_is_overloaded"}}`
)

// message and completion are the parts of answers that clients read.
type message struct {
	Type       string
	Model      string
	Content    []struct{ Type, Text string }
	StopReason string `json:"stop_reason"`
	Usage      struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
	}
}

type completion struct {
	Object  string
	Model   string
	Choices []struct {
		Message      struct{ Role, Content string }
		Delta        struct{ Content string }
		FinishReason *string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	}
}

func TestCrossVendor_JSONForAnthropicCaller(t *testing.T) {
	t.Parallel()
	a, o := newVendor(t, says(529, anthropicBusy)), newVendor(t, says(200, chatAnswer))
	r := bothRig(t, "claude", a, o)
	got := r.ask(t, "/v1/messages", `{"model":"claude","max_tokens":64,"system":"be brief","messages":[{"role":"user","content":"hi"}]}`)
	m := decode[message](t, got)
	if got.status != 200 || m.Type != "message" || len(m.Content) != 1 || m.Content[0].Text != "Hello [#end]" || m.Model != "gpt-1" ||
		m.StopReason != "end_turn" || m.Usage.Input != 12 || m.Usage.Output != 5 {
		t.Errorf("%d: %s", got.status, got.body)
	}
	var sent struct {
		Model    string
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(o.last(t).body, &sent); err != nil || sent.Model != "gpt-1" || len(sent.Messages) != 2 ||
		sent.Messages[0].Role == "user" || sent.Messages[1].Content != "hi" {
		t.Errorf("the other vendor got %s", o.last(t).body)
	}
	if d := r.tape.decision(t, 1); d.Target != "gpt" || d.Situation != core.SituationFallback || d.Usage.Output != 5 {
		t.Errorf("decision %+v", d)
	}
}

func TestCrossVendor_JSONForOpenAICaller(t *testing.T) {
	t.Parallel()
	a, o := newVendor(t, says(200, messageAnswer)), newVendor(t, says(503, openAIBusy))
	r := bothRig(t, "gpt", a, o)
	got := r.ask(t, "/v1/chat/completions", askChat)
	c := decode[completion](t, got)
	if got.status != 200 || c.Object != "chat.completion" || len(c.Choices) != 1 || c.Choices[0].Message.Content != "Hello [#end]" ||
		c.Model != "claude-1" || c.Usage == nil || c.Usage.Prompt != 12 || c.Usage.Completion != 5 {
		t.Errorf("%d: %s", got.status, got.body)
	}
	h := a.last(t)
	if h.path != "/v1/messages" || h.header.Get("Anthropic-Version") != "2023-06-01" {
		t.Errorf("path %s, version %q", h.path, h.header.Get("Anthropic-Version"))
	}
}

func TestCrossVendor_StreamForAnthropicCaller(t *testing.T) {
	t.Parallel()
	a := newVendor(t, streams(messageStart, errorEvent("overloaded_error")))
	o := newVendor(t, streams(chatChunk(chatRole, "null"), chatChunk(`{"content":"Hel"}`, "null")+chatChunk(`{"content":"lo"}`, "null"),
		chatChunk(`{}`, `"stop"`), chatUsage+chatDone))
	r := bothRig(t, "claude", a, o)
	got := r.ask(t, "/v1/messages", askMessagesStream)
	var names []string
	text := ""
	for block := range strings.SplitSeq(strings.TrimSpace(got.body), "\n\n") {
		name, data, ok := strings.Cut(strings.TrimPrefix(block, "event: "), "\ndata: ")
		if !ok {
			t.Fatalf("no event: %q", block)
		}
		var d struct{ Delta struct{ Text string } }
		if err := json.Unmarshal([]byte(data), &d); err != nil {
			t.Fatal(err)
		}
		names, text = append(names, name), text+d.Delta.Text
	}
	want := "message_start content_block_start content_block_delta content_block_delta content_block_stop message_delta message_stop"
	if strings.Join(names, " ") != want || text != "Hello" {
		t.Errorf("events %v, text %q", names, text)
	}
	contains(t, got.body, `"output_tokens":5`)
	if d := r.tape.decision(t, 1); d.Target != "gpt" || d.Attempts[0].Kind != core.KindOverloaded || d.Usage.Input != 12 {
		t.Errorf("decision %+v", d)
	}
}

func TestCrossVendor_StreamForOpenAICaller(t *testing.T) {
	t.Parallel()
	for _, wants := range []bool{false, true} {
		a := newVendor(t, streams(messageStart, messageDelta("Hel")+messageDelta("lo"), messageEnd))
		o := newVendor(t, says(503, openAIBusy))
		r := bothRig(t, "gpt", a, o)
		ask := askChatStream
		if wants {
			ask = strings.TrimSuffix(ask, "}") + `,"stream_options":{"include_usage":true}}`
		}
		got := r.ask(t, "/v1/chat/completions", ask)
		if !strings.HasSuffix(got.body, chatDone) || strings.Contains(got.body, "event:") {
			t.Errorf("got\n%s", got.body)
		}
		text, finish, usage := "", 0, 0
		for block := range strings.SplitSeq(strings.TrimSuffix(got.body, chatDone), "\n\n") {
			data, ok := strings.CutPrefix(block, "data: ")
			if !ok {
				continue
			}
			var c completion
			if err := json.Unmarshal([]byte(data), &c); err != nil {
				t.Fatalf("%v in %q", err, data)
			}
			if c.Usage != nil {
				usage++
			}
			for _, ch := range c.Choices {
				text += ch.Delta.Content
				if ch.FinishReason != nil {
					finish++
				}
			}
		}
		if text != "Hello" || finish != 1 || (usage > 0) != wants {
			t.Errorf("wants usage %v: text %q, %d ends, %d usages in\n%s", wants, text, finish, usage, got.body)
		}
	}
}

// TestCrossVendor_CutAfterContent holds that a translated stream that was cut has
// no clean end.
func TestCrossVendor_CutAfterContent(t *testing.T) {
	t.Parallel()
	t.Run("to an Anthropic caller", func(t *testing.T) {
		t.Parallel()
		r := bothRig(t, "claude", newVendor(t, says(529, anthropicBusy)), newVendor(t, cutAfter(chatChunk(`{"content":"half"}`, "null"))))
		got := r.ask(t, "/v1/messages", askMessagesStream)
		contains(t, got.body, "half", "event: error\n")
		if strings.Contains(got.body, "message_stop") {
			t.Errorf("a clean end: %s", got.body)
		}
	})
	t.Run("to an OpenAI caller", func(t *testing.T) {
		t.Parallel()
		r := bothRig(t, "gpt", newVendor(t, cutAfter(messageStart, messageDelta("half"))), newVendor(t, says(503, openAIBusy)))
		got := r.ask(t, "/v1/chat/completions", askChatStream)
		contains(t, got.body, "half", `data: {"error":{`)
		if strings.Contains(got.body, "[DONE]") || strings.Contains(got.body, `"finish_reason":"`) {
			t.Errorf("a clean end: %s", got.body)
		}
	})
}

// TestCrossVendor_UntranslatableAnswer holds that an answer for which the
// caller's format has no word is a failure: before content the next target answers.
func TestCrossVendor_UntranslatableAnswer(t *testing.T) {
	t.Parallel()
	o := newVendor(t, streams(chatChunk(chatRole, "null"), chatChunk(`{"content":[{"type":"hologram"}]}`, "null"), chatChunk(`{}`, `"stop"`), chatDone))
	good := messageStart + messageDelta("x") + messageEnd
	r := bothRig(t, "gpt", newVendor(t, streams(good)), o)
	got := r.ask(t, "/v1/messages", strings.Replace(askMessagesStream, "claude", "auto", 1))
	if got.body != withoutPings(good) {
		t.Errorf("got\n%s", got.body)
	}
	if d := r.tape.decision(t, 1); d.Attempts[0].Kind != core.KindBadResponse || d.Target != "claude" {
		t.Errorf("first attempt %v, answered by %s", d.Attempts[0].Kind, d.Target)
	}
}

// TestCrossVendor_NotPortable holds that what can't be carried over skips the
// target with a reason, and never becomes a guess.
func TestCrossVendor_NotPortable(t *testing.T) {
	t.Parallel()
	a, o := newVendor(t, says(529, anthropicBusy)), newVendor(t, says(200, chatAnswer))
	r := bothRig(t, "claude", a, o)
	got := r.ask(t, "/v1/messages", `{"model":"claude","max_tokens":64,"inference_geo":"eu","messages":[{"role":"user","content":"hi"}]}`)
	checkError(t, core.WireAnthropic, got, 529, "gpt: not_portable (inference_geo)")
	if o.count() != 0 {
		t.Errorf("the other vendor got %s", o.last(t).body)
	}
	d := r.tape.decision(t, 1)
	if len(d.Skips) != 1 || d.Skips[0].Kind != core.KindNotPortable || d.Skips[0].Detail != "inference_geo" {
		t.Errorf("skips %+v", d.Skips)
	}
}

// TestCrossVendor_Warnings holds that what is left out is recorded, told to
// admins, and is a situation of its own when nothing else is.
func TestCrossVendor_Warnings(t *testing.T) {
	t.Parallel()
	body := `{"model":"MODEL","max_tokens":64,"top_k":5,"messages":[{"role":"user","content":"hi"}]}`
	for name, tt := range map[string]struct {
		model, key string
		script     http.HandlerFunc
		want       core.Situation
	}{
		"after a fallback": {"claude", adminKey, says(529, anthropicBusy), core.SituationFallback},
		"on the way asked": {"gpt", adminKey, says(200, messageAnswer), core.SituationTranslated},
		"for paid callers": {"gpt", paidKey, says(200, messageAnswer), core.SituationTranslated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := bothRig(t, "claude", newVendor(t, tt.script), newVendor(t, says(200, chatAnswer)), setup{tables: func(tb *core.Tables) {
				tb.Disclosures[0][1][core.SituationTranslated][0].Text = "translated for {target}"
			}})
			got := r.ask(t, "/v1/messages", strings.Replace(body, "MODEL", tt.model, 1), "X-Api-Key", tt.key)
			w := got.header.Get("Spillway-Warnings")
			if told := strings.Contains(w, "top_k"); told != (tt.key == adminKey) {
				t.Errorf("warnings told: %q", w)
			}
			if tt.key == paidKey && got.header.Get("Spillway-Degraded") != "translated for gpt" {
				t.Errorf("degraded %q", got.header.Get("Spillway-Degraded"))
			}
			d := r.tape.decision(t, 1)
			if d.Situation != tt.want || len(d.Warnings) == 0 || !strings.Contains(d.Warnings[0], "top_k") {
				t.Errorf("situation %v, warnings %q", d.Situation, d.Warnings)
			}
		})
	}
}
