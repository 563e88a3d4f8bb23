package openai_test

import (
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core/sse"
	"github.com/spillway-llm/spillway/core/wire/openai"
	"github.com/spillway-llm/spillway/core/wire/wiretest"
)

func TestFollower(t *testing.T) {
	t.Parallel()
	wiretest.Streams(t, openai.New(), "testdata/streams")
}

const (
	textChunk = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1764374400,"model":"gpt-6-sol",` +
		`"system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":"some words of it"},"logprobs":null,` +
		`"finish_reason":null}],"usage":null,"obfuscation":"aB3dE6"}`
)

func TestFollower_DoesNotAllocatePerEvent(t *testing.T) {
	f := openai.New().NewFollower()
	ev := sse.Event{Data: []byte(textChunk)}
	f.Follow(&ev)
	if allocs := testing.AllocsPerRun(100, func() { f.Follow(&ev) }); allocs != 0 {
		t.Errorf("%v allocations per event, want 0", allocs)
	}
}

func TestFollower_Clean(t *testing.T) {
	t.Parallel()
	var f openai.Follower
	for in, want := range map[string]string{
		`{"error":null,"choices":[],"a":"\u00e9"}`: `{"choices":[],"a":"\u00e9"}`,
		`{"choices":[], "error" : false }`:         `{"choices":[]}`,
		`{"error":""}`:                             `{}`,
		`{"choices":[]}`:                           "",
		`{"error":{"message":"x"}}`:                "",
		`[DONE]`:                                   "",
	} {
		ev := sse.Event{Data: []byte(in)}
		f.Follow(&ev)
		got, ok := f.Clean([]byte("data: "), ev.Data)
		if string(got) != "data: "+want || ok != (want != "") {
			t.Errorf("%s: %s, %v; want %s", in, got, ok, want)
		}
	}
}

// FuzzFollower holds that no event breaks the follower, and that only an answer
// with a finish reason is whole.
func FuzzFollower(f *testing.F) {
	f.Add("", textChunk)
	f.Add("error", `{"error":{"code":429}}`)
	f.Add("", `{"choices":[{"index":-1,"delta":{"tool_calls":[{}]},"finish_reason":"stop"}]}`)
	f.Fuzz(func(t *testing.T, name, data string) {
		fl := openai.New().NewFollower()
		fl.Follow(&sse.Event{Name: []byte(name), Data: []byte(data)})
		if fl.Err() == nil && !strings.Contains(data, `_`) && !strings.Contains(data, `\u`) {
			t.Fatalf("%q is taken for a whole answer", data)
		}
		if u, _, _ := fl.Seen(); u.Input < 0 || u.Output < 0 || u.CacheRead < 0 {
			t.Fatalf("%q: negative usage %+v", data, u)
		}
	})
}

func BenchmarkFollower(b *testing.B) {
	f := openai.New().NewFollower()
	ev := sse.Event{Data: []byte(textChunk)}
	b.ReportAllocs()
	for b.Loop() {
		f.Follow(&ev)
	}
}
