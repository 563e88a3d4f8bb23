package walk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core/wire/walk"
)

// members lists the top level as name=value.
func members(t *testing.T, doc string) []string {
	t.Helper()
	w := walk.New([]byte(doc))
	var got []string
	if !w.Enter() {
		t.Fatalf("%q: nothing to enter: %v", doc, w.Err())
	}
	for {
		name, ok := w.Member()
		if !ok {
			break
		}
		got = append(got, string(name)+"="+string(w.Value()))
	}
	if !w.End() {
		t.Fatalf("%q: %v", doc, w.Err())
	}
	return got
}

func TestWalker_Members(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string][]string{
		`{}`:                           nil,
		` { "a" : 1 } `:                {"a=1"},
		`{"a":1,"b":[1,{"c":2}]}`:      {"a=1", `b=[1,{"c":2}]`},
		`{"a":"x\"}{","b":null}`:       {`a="x\"}{"`, "b=null"},
		`{"mod\u0065l":"x"}`:           {`model="x"`},
		"{\n\t\"a\" :\r\n-1.5e+3\n}":   {"a=-1.5e+3"},
		`{"a":{},"b":[],"c":"","d":0}`: {"a={}", "b=[]", `c=""`, "d=0"},
	} {
		if got := members(t, doc); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
}

func TestWalker_Descends(t *testing.T) {
	t.Parallel()
	w := walk.New([]byte(`{"n":1,"list":[ {"role":"user"} , [] , {"role":"assistant","x":[1]} ],"after":true}`))
	var roles []string
	w.Enter()
	for name, ok := w.Member(); ok; name, ok = w.Member() {
		if string(name) != "list" {
			w.Skip()
			continue
		}
		for w.Enter(); w.Element(); {
			roles = append(roles, string(walk.Get(w.Value(), "role")))
		}
	}
	if want := []string{`"user"`, "", `"assistant"`}; !w.End() || !reflect.DeepEqual(roles, want) {
		t.Errorf("roles %q, %v; want %q", roles, w.Err(), want)
	}
}

func TestWalker_SaysWhereItStopsBeingJSON(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		doc    string
		offset int
		want   string
	}{
		{``, 0, "a value"},
		{`{"a":1`, 6, "',' or '}'"},
		{`{"a" 1}`, 5, "':' after the name"},
		{`{a:1}`, 1, "a name in quotes"},
		{`{"a":1,}`, 7, "a name in quotes"},
		{`{"a":}`, 5, "a value"},
		{`{"a":tru}`, 5, "true, false or null"},
		{`{"a":01}`, 6, "',' or '}'"},
		{`{"a":1.}`, 7, "a digit"},
		{`{"a":-}`, 6, "a digit"},
		{`[1 2]`, 3, "',' or ']'"},
		{`[1,]`, 3, "a value"},
		{`"abc`, 4, "the closing quote of a string"},
		{"\"a\nb\"", 2, "no bare control character in a string"},
		{`"abcdefghij\x"`, 11, "an escape that JSON knows"},
		{`"\u12g4"`, 1, "an escape that JSON knows"},
		{`{} {}`, 3, "nothing after the value"},
		{strings.Repeat("[", walk.MaxDepth+1), walk.MaxDepth, "at most 256 nested values"},
		{"<html>", 0, "a value"},
	} {
		w := walk.New([]byte(tc.doc))
		w.Skip()
		w.End()
		if err := w.Err(); err == nil || err.Offset != tc.offset || err.Want != tc.want {
			t.Errorf("%.40q: %v, want %q at %d", tc.doc, err, tc.want, tc.offset)
			continue
		}
		if got, want := w.Err().Error(), fmt.Sprintf("not JSON at byte %d: expected %s", tc.offset, tc.want); got != want {
			t.Errorf("%.40q: %q, want %q", tc.doc, got, want)
		}
	}
}

func TestWalker_EveryStringLength(t *testing.T) {
	t.Parallel()
	for n := range 40 {
		for at := range n {
			plain := []byte(strings.Repeat("é", n)[:n])
			for _, c := range []byte{'"', '\\', 0x1f, 0x7f, 0xff, ' ', 0} {
				plain[at] = c
				doc := append(append([]byte{'"'}, plain...), '"')
				w := walk.New(doc)
				w.Skip()
				if got, want := w.End(), json.Valid(doc); got != want {
					t.Fatalf("%q: %v, json.Valid says %v", doc, got, want)
				}
			}
		}
	}
}

func TestHelpers(t *testing.T) {
	t.Parallel()
	if got := string(walk.Bytes([]byte(`"a\n\u00e9\ud83d\ude00"`))); got != "a\né😀" {
		t.Errorf("Bytes: %q", got)
	}
	if got := walk.Bytes([]byte(`7`)); got != nil {
		t.Errorf("Bytes of a number: %q", got)
	}
	for in, want := range map[string]int64{"0": 0, "42": 42, "-1": -1, "1.0": -1, `"7"`: -1, "": -1, "1000000000000000000": -1} {
		got, ok := walk.Int([]byte(in))
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("Int(%s): %d, %v", in, got, ok)
		}
	}
	doc := []byte(`{"a":{"b":{"c":5}},"d":[1]}`)
	for path, want := range map[string]string{"a.b.c": "5", "a.x": "", "d": "[1]", "d.e": "", "a.b": `{"c":5}`} {
		if got := string(walk.Get(doc, strings.Split(path, ".")...)); got != want {
			t.Errorf("Get %s: %q, want %q", path, got, want)
		}
	}
	if got := walk.Get([]byte(`{"a":{"b":tru`), "a", "b"); got != nil {
		t.Errorf("Get in broken JSON: %q", got)
	}
}

func TestWalker_DoesNotAllocate(t *testing.T) {
	doc := body()
	if allocs := testing.AllocsPerRun(100, func() {
		w := walk.New(doc)
		w.Enter()
		for _, ok := w.Member(); ok; _, ok = w.Member() {
			w.Skip()
		}
		if !w.End() {
			t.Error(w.Err())
		}
	}); allocs != 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

func body() []byte {
	var b bytes.Buffer
	b.WriteString(`{"model":"claude-opus-5-5","max_tokens":1024,"stream":true,"messages":[`)
	for i := range 8 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"role":"user","content":"%s"}`, strings.Repeat("some words of a prompt\\n", 9))
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// FuzzWalker holds that the walker accepts what encoding/json does.
func FuzzWalker(f *testing.F) {
	f.Add(body())
	for _, s := range []string{`{"a":[1,2.5e-3,{"b":null}],"c":"\u00e9"}`, `[[[]]]`, `-0`, `{"a":1,}`, "\"\\ud800\"", " \n1 "} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if bytes.Count(doc, []byte("["))+bytes.Count(doc, []byte("{")) > walk.MaxDepth {
			return
		}
		w := walk.New(doc)
		start, end := w.Skip()
		got := w.End()
		if want := json.Valid(doc); got != want {
			t.Fatalf("%q: %v (%v), json.Valid says %v", doc, got, w.Err(), want)
		}
		if got && !json.Valid(doc[start:end]) {
			t.Fatalf("%q: span %d:%d is no value", doc, start, end)
		}
	})
}

func BenchmarkWalker(b *testing.B) {
	doc := body()
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		w := walk.New(doc)
		w.Skip()
		if !w.End() {
			b.Fatal(w.Err())
		}
	}
}
