package demovendor_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core/demovendor"
)

// TestStylesCarryTheSameEvents holds that a style changes bytes, never events.
func TestStylesCarryTheSameEvents(t *testing.T) {
	t.Parallel()
	for _, wire := range []demovendor.Wire{demovendor.WireAnthropic, demovendor.WireOpenAI} {
		var want []sent
		for i, style := range []demovendor.Style{
			{}, {Line: demovendor.LineCRLF}, {Line: demovendor.LineCR}, {Line: demovendor.LineMixed},
			{NoSpace: true}, {Comments: true}, {Comments: true, Line: demovendor.LineMixed, NoSpace: true},
			{SplitEvery: 1}, {SplitEvery: 7, Line: demovendor.LineCRLF}, {SplitAt: []int{1, 10, 11, 200}},
		} {
			v := demovendor.New(quick(wire))
			v.Script(demovendor.Step{Style: style, Chunks: []string{"a", "b", "c"}})
			cfgRequest := request(wire, streamed(body(wire)))
			resp, got := ask(t, v, cfgRequest)
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("%s %+v: %d", wire, style, resp.StatusCode)
			}
			events := withoutTime(parse(got))
			if i == 0 {
				want = events
			}
			if !slices.Equal(events, want) {
				t.Errorf("%s %+v:\n got %q\nwant %q", wire, style, events, want)
			}
		}
	}
}

// withoutTime takes the creation time out of chunks.
func withoutTime(events []sent) []sent {
	for i := range events {
		head, rest, found := strings.Cut(events[i].data, `"created":`)
		if found {
			_, rest, _ = strings.Cut(rest, ",")
			events[i].data = head + rest
		}
	}
	return events
}

func TestTwoDataLinesAreOneDocument(t *testing.T) {
	t.Parallel()
	v := demovendor.New(quick(demovendor.WireAnthropic))
	v.Script(demovendor.Step{Style: demovendor.Style{TwoLines: true}, Chunks: []string{"a"}})
	_, got := ask(t, v, request(demovendor.WireAnthropic, streamed(claudeBody)))
	events := parse(got)
	if strings.Count(got, "data: {\n") != len(events) {
		t.Errorf("stream %q, want each event's data on two lines", got)
	}
	for _, e := range events {
		if decode(t, e.data)["type"] != e.name {
			t.Errorf("event %v does not read", e)
		}
	}
}

func TestMixedEndingsHaveAllThree(t *testing.T) {
	t.Parallel()
	v := demovendor.New(quick(demovendor.WireAnthropic))
	v.Script(demovendor.Step{Style: demovendor.Style{Line: demovendor.LineMixed}})
	_, got := ask(t, v, request(demovendor.WireAnthropic, streamed(claudeBody)))
	crlf := strings.Count(got, "\r\n")
	if lf, cr := strings.Count(got, "\n")-crlf, strings.Count(got, "\r")-crlf; lf == 0 || cr == 0 || crlf == 0 {
		t.Errorf("%d LF, %d CR, %d CRLF, want some of each", lf, cr, crlf)
	}
}

func TestSplitsEndWhereTheyAreAskedTo(t *testing.T) {
	t.Parallel()
	v := demovendor.New(quick(demovendor.WireOpenAI))
	v.Script(demovendor.Step{Style: demovendor.Style{SplitAt: []int{3, 8}}})
	resp, err := v.RoundTrip(request(demovendor.WireOpenAI, streamed(gptBody)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	buf := make([]byte, 64<<10)
	for _, want := range []int{3, 5} { // a pipe hands over one write per read
		if n, err := resp.Body.Read(buf); n != want || err != nil {
			t.Errorf("read %d bytes, %v, want %d", n, err, want)
		}
	}
}

func TestHugeEvents(t *testing.T) {
	t.Parallel()
	for _, size := range []int{70 << 10, 1200 << 10, 9 << 20} {
		for _, wire := range []demovendor.Wire{demovendor.WireAnthropic, demovendor.WireOpenAI} {
			v := demovendor.New(quick(wire))
			v.Script(demovendor.Step{EventBytes: size, Chunks: []string{"a"}, Usage: &demovendor.Usage{Input: 1}})
			_, got := ask(t, v, request(wire, streamed(body(wire))))
			longest := 0
			for line := range strings.Lines(got) {
				if strings.HasPrefix(line, "data: ") {
					longest = max(longest, len(line))
				}
			}
			if longest < size {
				t.Errorf("%s: longest data line %d, want %d or more", wire, longest, size)
			}
		}
	}
}

func TestStepsSetStatusBodyAndWords(t *testing.T) {
	t.Parallel()
	sse := http.Header{"Content-Type": {"text/event-stream"}}
	for name, c := range map[string]struct {
		step demovendor.Step
		want string
	}{
		"status":       {demovendor.Step{Status: 404}, `404 {"type":"error","error":{"type":"not_found_error"`},
		"words":        {demovendor.Step{Status: 400, ErrorType: "odd_error", Message: "no"}, `400 {"type":"error","error":{"type":"odd_error","message":"no"}`},
		"code":         {demovendor.Step{Status: 429, ErrorCode: "enforced_spend_limit_reached"}, `429 {"type":"error","error":{"type":"rate_limit_error","message":"Simulated failure: Too Many Requests.","details":{"error_code":"enforced_spend_limit_reached"}}`},
		"body":         {demovendor.Step{Body: `{"odd":1}`}, `200 {"odd":1}`},
		"status body":  {demovendor.Step{Status: 502, Body: `<html>`, Header: http.Header{"Content-Type": {"text/html"}}}, `502 <html>`},
		"stream body":  {demovendor.Step{Body: "data: x\n\n", Header: sse, Style: demovendor.Style{SplitEvery: 2}}, "200 data: x\n\n"},
		"model":        {demovendor.Step{Model: "other", Chunks: []string{"hi"}}, `200 {"id":"msg_sim000000000000","type":"message","role":"assistant","model":"other","content":[{"type":"text","text":"hi"`},
		"silent JSON":  {demovendor.Step{End: demovendor.EndSilent}, `200 {"id":`},
		"error in 200": {demovendor.Step{End: demovendor.EndErrorEvent}, `200 {"type":"error","error":{"type":"overloaded_error"`},
	} {
		v := demovendor.New(quick(demovendor.WireAnthropic))
		v.Script(c.step)
		resp, got := ask(t, v, request(demovendor.WireAnthropic, claudeBody))
		if answer := fmt.Sprintf("%d %s", resp.StatusCode, got); !strings.HasPrefix(answer, c.want) {
			t.Errorf("%s: %s\nwant %s", name, answer, c.want)
		}
	}
}

func TestSilentEndHasNoEndMarker(t *testing.T) {
	t.Parallel()
	for wire, marker := range map[demovendor.Wire]string{demovendor.WireAnthropic: "message_stop", demovendor.WireOpenAI: "[DONE]"} {
		v := demovendor.New(quick(wire))
		v.Script(demovendor.Step{End: demovendor.EndSilent, After: 1, Chunks: []string{"first", "second"}})
		_, got := ask(t, v, request(wire, streamed(body(wire))))
		if !strings.Contains(got, "first") || strings.Contains(got, "second") || strings.Contains(got, marker) {
			t.Errorf("%s: %s, want the first chunk and nothing after it", wire, got)
		}
	}
}

func TestToolCallCutByLength(t *testing.T) {
	t.Parallel()
	v := demovendor.New(quick(demovendor.WireOpenAI))
	v.Always(demovendor.Step{StopReason: "length", Chunks: []string{}, Tool: &demovendor.ToolCall{
		ID: "call_1", Name: "save_note", Arguments: []string{`{"title":"a",`, `"bo`}}})
	_, got := ask(t, v, request(demovendor.WireOpenAI, streamed(gptBody)))
	for _, want := range []string{`"name":"save_note","arguments":""`, `"arguments":"\"bo"`, `"finish_reason":"length"`} {
		if !strings.Contains(got, want) {
			t.Errorf("stream %s\nlacks %s", got, want)
		}
	}
	_, got = ask(t, v, request(demovendor.WireOpenAI, gptBody))
	if !strings.Contains(got, `"arguments":"{\"title\":\"a\",\"bo"`) {
		t.Errorf("answer %s, want the half of the arguments", got)
	}
}

func TestAnthropicToolAfterText(t *testing.T) {
	t.Parallel()
	v := demovendor.New(quick(demovendor.WireAnthropic))
	v.Script(demovendor.Step{Chunks: []string{"I look."}, Tool: &demovendor.ToolCall{ID: "toolu_1", Name: "look", Arguments: []string{`{"a"`, `:1}`}}})
	_, got := ask(t, v, request(demovendor.WireAnthropic, streamed(claudeBody)))
	want := "message_start content_block_start ping content_block_delta content_block_stop content_block_start" +
		" content_block_delta content_block_delta content_block_stop message_delta message_stop"
	if order := names(parse(got)); order != want {
		t.Errorf("events %q, want %q", order, want)
	}
	if !strings.Contains(got, `"index":1,"delta":{"type":"input_json_delta"`) || !strings.Contains(got, `"stop_reason":"tool_use"`) {
		t.Errorf("stream %s, want the tool as block 1", got)
	}
}

func TestUsageAsTold(t *testing.T) {
	t.Parallel()
	u := &demovendor.Usage{Input: 10, CacheWrite: 2000, CacheRead: 8000, Output: 100, Reasoning: 30}
	for wire, want := range map[demovendor.Wire][]string{
		demovendor.WireAnthropic: {`"input_tokens":10`, `"cache_read_input_tokens":8000`, `"cache_creation_input_tokens":2000`, `"output_tokens":100`, `"thinking_tokens":30`},
		demovendor.WireOpenAI:    {`"prompt_tokens":10010`, `"cached_tokens":8000`, `"cache_write_tokens":2000`, `"completion_tokens":100`, `"reasoning_tokens":30`},
	} {
		v := demovendor.New(quick(wire))
		v.Script(demovendor.Step{Usage: u}, demovendor.Step{NoUsage: true})
		_, got := ask(t, v, request(wire, body(wire)))
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %s lacks %s", wire, got, part)
			}
		}
		if _, got = ask(t, v, request(wire, body(wire))); strings.Contains(got, "usage") {
			t.Errorf("%s: %s, want no usage", wire, got)
		}
	}
}

func TestOrderOfScriptRespondAlwaysFault(t *testing.T) {
	t.Parallel()
	cfg := quick(demovendor.WireOpenAI)
	cfg.Respond = func(r *demovendor.Request) *demovendor.Step {
		if r.Header.Get("Authorization") == "Bearer dry" {
			return &demovendor.Step{Status: 402}
		}
		return nil
	}
	v := demovendor.New(cfg)
	status := func(key string) int {
		r := request(demovendor.WireOpenAI, gptBody)
		r.Header.Set("Authorization", "Bearer "+key)
		resp, _ := ask(t, v, r)
		return resp.StatusCode
	}
	v.Script(demovendor.Step{Status: 408}, demovendor.Step{Status: 409})
	if err := v.Break(demovendor.Fault{Kind: demovendor.ServerError}); err != nil {
		t.Fatal(err)
	}
	got := []int{status("dry"), status("a"), status("dry"), status("a")}
	v.Always(demovendor.Step{Status: 504})
	got = append(got, status("dry"), status("a"))
	v.Heal()
	got = append(got, status("dry"), status("a"))
	if want := []int{408, 409, 402, 500, 402, 504, 402, 200}; !slices.Equal(got, want) {
		t.Errorf("statuses %v, want %v", got, want)
	}
}

func TestStallKeepsTheConnection(t *testing.T) {
	t.Parallel()
	v := demovendor.New(quick(demovendor.WireAnthropic))
	v.Script(demovendor.Step{End: demovendor.EndStall, After: 1, Chunks: []string{"first", "second"}})
	resp, err := v.RoundTrip(request(demovendor.WireAnthropic, streamed(claudeBody)))
	if err != nil {
		t.Fatal(err)
	}
	buf, got := make([]byte, 4096), ""
	for !strings.Contains(got, "first") {
		n, err := resp.Body.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got += string(buf[:n])
	}
	if n := v.Stats().Open; n != 1 {
		t.Errorf("%d requests open, want the stalled one", n)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the body reads on after its end")
	}
}
