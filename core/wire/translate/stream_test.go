package translate_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/translate"
	"github.com/spillway-llm/spillway/core/wire/wiretest"
)

// TestStream_CutAnywhere cuts every scenario after each of its events: what the
// caller gets is whole only if what came was.
func TestStream_CutAnywhere(t *testing.T) {
	t.Parallel()
	for _, sc := range wiretest.Load(t, "testdata/streams") {
		from, to := direction(t, sc)
		events := wiretest.Events(t, sc.Section(t, "stream")+"\n")
		for n := range events {
			s := translate.NewStream(from, to, true, 0, names(t, sc))
			source, caller := format(from).NewFollower(), format(to).NewFollower()
			var got []byte
			for i := range events[:n] {
				source.Follow(&events[i])
				got = s.Append(got, &events[i])
			}
			if source.Err() == nil {
				got = s.End(got)
			}
			for _, ev := range wiretest.Events(t, string(got)) {
				caller.Follow(&ev)
			}
			if caller.Err() == nil && (source.Err() != nil || s.Err() != nil) {
				t.Errorf("%s: whole after %d of %d events, and the source was not:\n%s", sc.Name, n, len(events), got)
			}
		}
	}
}

// TestStream_CutCallsHaveNoEnd cuts every scenario with calls after each of its
// events and at each of their bytes that matter: a Messages caller is told the
// end of a call only when it is whole, a Chat Completions caller the reason
// tool_calls only then (R6.4).
func TestStream_CutCallsHaveNoEnd(t *testing.T) {
	t.Parallel()
	for _, sc := range wiretest.Load(t, "testdata/streams") {
		from, to := direction(t, sc)
		events := wiretest.Events(t, sc.Section(t, "stream")+"\n")
		for n := range len(events) + 1 {
			s := translate.NewStream(from, to, true, 0, names(t, sc))
			var got []byte
			for i := range events[:n] {
				got = s.Append(got, &events[i])
			}
			for _, call := range readCalls(t, to, string(got)) {
				whole := json.Valid([]byte(call.arguments)) || call.arguments == ""
				if call.ended && !whole && !call.limit {
					t.Errorf("%s after %d events: half a call has an end:\n%s", sc.Name, n, got)
				}
			}
		}
	}
}

// streamedCall is a tool call as a client puts it together.
type streamedCall struct {
	arguments    string
	ended, limit bool // limit: the answer says that it was cut off
}

// readCalls puts together the calls of a stream.
func readCalls(t *testing.T, w core.Wire, stream string) map[int]*streamedCall {
	t.Helper()
	calls := map[int]*streamedCall{}
	for _, ev := range wiretest.Events(t, stream) {
		var e struct {
			Type         string
			Index        int
			ContentBlock struct{ Type string } `json:"content_block"`
			Delta        struct {
				PartialJSON string `json:"partial_json"`
				StopReason  string `json:"stop_reason"`
			}
			Choices []struct {
				Delta struct {
					ToolCalls []struct {
						Index    int
						Function struct{ Arguments string }
					} `json:"tool_calls"`
				}
				FinishReason string `json:"finish_reason"`
			}
		}
		if json.Unmarshal(ev.Data, &e) != nil {
			continue // [DONE]
		}
		switch {
		case e.Type == "content_block_start" && e.ContentBlock.Type == "tool_use":
			calls[e.Index] = &streamedCall{}
		case e.Type == "content_block_stop" && calls[e.Index] != nil:
			calls[e.Index].ended = true
		case calls[e.Index] != nil:
			calls[e.Index].arguments += e.Delta.PartialJSON
		}
		reason := e.Delta.StopReason
		for _, c := range e.Choices {
			for _, call := range c.Delta.ToolCalls {
				if calls[call.Index] == nil {
					calls[call.Index] = &streamedCall{}
				}
				calls[call.Index].arguments += call.Function.Arguments
			}
			reason = c.FinishReason
		}
		for _, c := range calls {
			c.ended = c.ended || reason == "tool_calls"
			c.limit = c.limit || reason == "max_tokens" || reason == "length" || reason == "refusal"
		}
	}
	return calls
}

// TestStream_EverySpelling holds that how the source writes its events changes
// nothing (field case R19).
func TestStream_EverySpelling(t *testing.T) {
	t.Parallel()
	for _, sc := range wiretest.Load(t, "testdata/streams") {
		from, to := direction(t, sc)
		for name, stream := range wiretest.Spellings(sc.Section(t, "stream") + "\n") {
			s := translate.NewStream(from, to, sc.Section(t, "usage") == "yes", 0, names(t, sc))
			source := format(from).NewFollower()
			var got []byte
			for _, ev := range wiretest.Events(t, stream) {
				source.Follow(&ev)
				got = s.Append(got, &ev)
			}
			if source.Err() == nil {
				got = s.End(got)
			}
			if want := sc.Sections["want"]; string(got) != want {
				t.Errorf("%s as %s:\n%s\nwant\n%s", sc.Name, name, got, want)
			}
		}
	}
}

func TestStream_EndsOnce(t *testing.T) {
	t.Parallel()
	for from, marker := range map[core.Wire]string{core.WireAnthropic: "[DONE]", core.WireOpenAI: `{"type":"message_stop"}`} {
		to := core.WireOpenAI
		stream := "event: message_start\ndata: {\"message\":{\"id\":\"msg_1\"}}\n\nevent: message_stop\ndata: {}\n\n"
		if from == core.WireOpenAI {
			to = core.WireAnthropic
			stream = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
		}
		s := translate.NewStream(from, to, false, 0, nil)
		var got []byte
		events := wiretest.Events(t, stream)
		for _, ev := range append(events, events...) { // and whatever a server sends after its end
			got = s.Append(got, &ev)
		}
		got = s.End(s.End(got))
		if n := strings.Count(string(got), marker); n != 1 {
			t.Errorf("from %s: %d end markers:\n%s", from, n, got)
		}
	}
}

func TestStream_TextIsNotRewritten(t *testing.T) {
	t.Parallel()
	const text = `"\ud83d\u00e9 \/ \" é😀 </script>"`
	chunk := event("", `{"id":"1","model":"m","choices":[{"index":0,"delta":{"content":`+text+`},"finish_reason":null}]}`)
	got := translate.NewStream(core.WireOpenAI, core.WireAnthropic, false, 0, nil).Append(nil, &chunk)
	if !bytes.Contains(got, []byte(`"text":`+text+`}`)) {
		t.Errorf("the bytes of the text changed: %s", got)
	}
}

// TestStream_ArgumentsAreNotRewritten holds that a live call's pieces keep their
// bytes, even where a character is cut in two.
func TestStream_ArgumentsAreNotRewritten(t *testing.T) {
	t.Parallel()
	pieces := []string{`"{\"a\":\"\ud83d"`, `"\ude00\u00e9\\/\"}"`}
	s := translate.NewStream(core.WireOpenAI, core.WireAnthropic, false, 0, nil)
	var got []byte
	for _, p := range pieces {
		chunk := event("", `{"id":"1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"f","arguments":`+p+`}}]},"finish_reason":null}]}`)
		got = s.Append(got, &chunk)
	}
	for _, p := range pieces {
		if !bytes.Contains(got, []byte(`"partial_json":`+p+`}`)) {
			t.Errorf("%s changed: %s", p, got)
		}
	}
	end := event("", `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`)
	if s.Append(nil, &end); s.Err() != nil {
		t.Errorf("whole arguments are taken for broken ones: %v", s.Err())
	}
}

func TestStream_DoesNotAllocatePerEvent(t *testing.T) {
	start := event("message_start", `{"message":{"id":"msg_1","model":"m"}}`)
	delta := event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"words"}}`)
	chunk := event("", `{"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"words"},"finish_reason":null}]}`)
	a := translate.NewStream(core.WireAnthropic, core.WireOpenAI, false, 0, nil)
	o := translate.NewStream(core.WireOpenAI, core.WireAnthropic, false, 0, nil)
	dst := a.Append(make([]byte, 0, 4096), &start)
	dst = o.Append(dst, &chunk)
	if allocs := testing.AllocsPerRun(100, func() { dst = o.Append(a.Append(dst[:0], &delta), &chunk) }); allocs != 0 {
		t.Errorf("%v allocations for two events, want 0", allocs)
	}
}

// TestStream_ArgumentsDoNotAllocatePerEvent holds the same for the pieces of a
// call, but for what grows with the arguments that are kept to be checked.
func TestStream_ArgumentsDoNotAllocatePerEvent(t *testing.T) {
	start := event("message_start", `{"message":{"id":"msg_1","model":"m"}}`)
	open := event("content_block_start", `{"index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`)
	delta := event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"words\", "}}`)
	first := event("", `{"id":"1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"["}}]},"finish_reason":null}]}`)
	chunk := event("", `{"id":"1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"words\", "}}]},"finish_reason":null}]}`)
	a := translate.NewStream(core.WireAnthropic, core.WireOpenAI, false, 0, nil)
	o := translate.NewStream(core.WireOpenAI, core.WireAnthropic, false, 0, nil)
	dst := o.Append(a.Append(a.Append(make([]byte, 0, 4096), &start), &open), &first)
	for range 4000 { // what is kept has room for the measured events then
		dst = o.Append(a.Append(dst[:0], &delta), &chunk)
	}
	if allocs := testing.AllocsPerRun(100, func() { dst = o.Append(a.Append(dst[:0], &delta), &chunk) }); allocs != 0 {
		t.Errorf("%v allocations for two events, want 0", allocs)
	}
}
