package body_test

import (
	"testing"

	"github.com/spillway-llm/spillway/core/wire/body"
)

func TestSplice(t *testing.T) {
	t.Parallel()
	doc := []byte(`{"a":1,"b":2}`)
	for want, edits := range map[string][]body.Edit{
		`{"a":1,"b":2}`:                nil,
		`{"a":10,"b":2}`:               {{From: 5, To: 6, With: []byte("10")}},
		`{"a":,"b":20}`:                {{From: 11, To: 12, With: []byte("20")}, {From: 5, To: 6}},
		`{"x":1,"y":2,"a":1,"b":2}`:    {body.Field("x", [2]int{}, 1, []byte("1")), body.Field("y", [2]int{}, 1, []byte("2"))},
		`{"z":0,"a":1,"b":"replaced"}`: {body.Field("b", [2]int{11, 12}, 1, []byte(`"replaced"`)), body.Field("z", [2]int{}, 1, []byte("0"))},
	} {
		if got := string(body.Splice([]byte("# "), doc, edits...)); got != "# "+want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if string(doc) != `{"a":1,"b":2}` {
		t.Errorf("the caller's body was changed: %s", doc)
	}
}

func TestFilled(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]bool{"": false, "[]": false, "[ ]": false, "[1]": true, "{}": false, "null": false} {
		if got := body.Filled([]byte(doc)); got != want {
			t.Errorf("%q: %v", doc, got)
		}
	}
}
