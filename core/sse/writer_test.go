package sse_test

import (
	"testing"

	"github.com/spillway-llm/spillway/core/sse"
)

func TestAppendEvent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, event, data, want string }{
		{"named", "ping", `{"type":"ping"}`, "event: ping\ndata: {\"type\":\"ping\"}\n\n"},
		{"nameless", "", "[DONE]", "data: [DONE]\n\n"},
		{"empty", "", "", "data: \n\n"},
		{"two_lines", "a", "x\ny", "event: a\ndata: x\ndata: y\n\n"},
		{"trailing_line_end", "", "x\n", "data: x\ndata: \n\n"},
		{"every_line_end", "", "a\r\nb\rc\nd", "data: a\ndata: b\ndata: c\ndata: d\n\n"},
		{"name_can_not_add_fields", "a\ndata: forged", "x", "event: a\ndata: x\n\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := string(sse.AppendEvent(nil, []byte(tc.event), []byte(tc.data))); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAppendComment(t *testing.T) {
	t.Parallel()
	got := string(sse.AppendComment([]byte("data: x\n\n"), "spillway target=b\ndata: forged"))
	if want := "data: x\n\n: spillway target=b\n: data: forged\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if events := scan(t, sse.NewScanner(0), got); len(events) != 1 {
		t.Errorf("the comment made an event: %+v", events)
	}
}

// FuzzAppendEvent holds that what is written is read back.
func FuzzAppendEvent(f *testing.F) {
	f.Add("message_stop", "{}")
	f.Add("", "a\nb\n")
	f.Fuzz(func(t *testing.T, name, data string) {
		raw := sse.AppendEvent(nil, []byte(name), []byte(data))
		got := scan(t, sse.NewScanner(0), string(raw))
		if len(got) != 1 || got[0].Raw != string(raw) || !got[0].Canonical {
			t.Fatalf("%q was read as %+v", raw, got)
		}
	})
}
