package body_test

import (
	"testing"

	"github.com/spillway-llm/spillway/core/wire/body"
)

// messages reads the messages of a body, and fails with the reader's own error.
func messages(t *testing.T, doc string, types ...string) body.Messages {
	t.Helper()
	r := body.NewReader([]byte(doc))
	var m body.Messages
	for name, ok := r.Next(); ok; name, ok = r.Next() {
		if string(name) == "messages" {
			m = r.Messages([]byte(doc), types...)
		} else {
			r.Skip()
		}
	}
	if err := r.Done(); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return m
}

func TestMessages_Prefix(t *testing.T) {
	t.Parallel()
	const sys, dev, user, bot = `{"role":"system","content":"s"}`, `{"role":"developer"}`, `{"role":"user"}`, `{"role":"assistant"}`
	for doc, want := range map[string][3]string{
		sys + `,` + user + `,` + bot:  {sys, user, "assistant"},
		dev + `,` + user:              {dev, user, "user"},
		user + ` , ` + sys:            {"", user, "system"},
		sys:                           {sys, "", "system"},
		sys + `,` + dev + `,` + user:  {sys, user, "user"},
		bot + `,` + user + `,` + user: {"", bot, "user"},
	} {
		m := messages(t, `{"a":1,"messages":[`+doc+`],"b":2}`)
		if got := [3]string{string(m.System), string(m.First), string(m.LastRole)}; got != want {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
		if string(m.All) != "["+doc+"]" {
			t.Errorf("all of %s is %s", doc, m.All)
		}
	}
}

func TestMessages_Types(t *testing.T) {
	t.Parallel()
	m := messages(t, `{"messages":[{"role":"user","content":[{"type":"a"},{"content":[{"type":"c"}],"type":"x"}]},`+
		`{"role":"user","content":"{\"type\":\"b\"}"},{"role":"user","content":{"type":"b"}}]}`, "a", "b", "c", "d", "too many")
	if want := [4]bool{true, false, true, false}; m.Types != want {
		t.Errorf("types %v, want %v", m.Types, want)
	}
}
