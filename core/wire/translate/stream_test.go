package translate_test

import (
	"bytes"
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
