package anthropic_test

import (
	"testing"

	"github.com/spillway-llm/spillway/core/sse"
	"github.com/spillway-llm/spillway/core/wire"
	"github.com/spillway-llm/spillway/core/wire/anthropic"
	"github.com/spillway-llm/spillway/core/wire/wiretest"
)

func TestFollower(t *testing.T) {
	t.Parallel()
	wiretest.Streams(t, anthropic.New(), "testdata/streams")
}

const textDelta = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"some words of it"}}`

func TestFollower_DoesNotAllocatePerEvent(t *testing.T) {
	f := anthropic.New().NewFollower()
	ev := sse.Event{Name: []byte("content_block_delta"), Data: []byte(textDelta)}
	if allocs := testing.AllocsPerRun(100, func() { f.Follow(&ev) }); allocs != 0 {
		t.Errorf("%v allocations per event, want 0", allocs)
	}
	f.Reset()
	ev.Data = []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}`)
	if allocs := testing.AllocsPerRun(100, func() { f.Follow(&ev) }); allocs != 0 {
		t.Errorf("%v allocations per event before content, want 0", allocs)
	}
}

// FuzzFollower holds that no event breaks the follower, and that only
// message_stop makes an answer whole.
func FuzzFollower(f *testing.F) {
	f.Add("content_block_delta", textDelta)
	f.Add("", `{"type":"message_stop"}`)
	f.Add("message_start", `{"message":{"usage":{"input_tokens":1}}}`)
	f.Add("error", `{"error":{"type":"overloaded_error"}}`)
	f.Fuzz(func(t *testing.T, name, data string) {
		fl := anthropic.New().NewFollower()
		mark := fl.Follow(&sse.Event{Name: []byte(name), Data: []byte(data)})
		if whole := fl.Err() == nil; whole != (mark == wire.MarkEnd) {
			t.Fatalf("%q %q: mark %v, whole %v", name, data, mark, whole)
		}
		if u, _, _ := fl.Seen(); u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite < 0 {
			t.Fatalf("%q %q: negative usage %+v", name, data, u)
		}
	})
}

func BenchmarkFollower(b *testing.B) {
	f := anthropic.New().NewFollower()
	ev := sse.Event{Name: []byte("content_block_delta"), Data: []byte(textDelta)}
	b.ReportAllocs()
	for b.Loop() {
		f.Follow(&ev)
	}
}
