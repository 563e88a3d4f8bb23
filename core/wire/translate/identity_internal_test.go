package translate

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spillway-llm/spillway/core"
)

func TestToolIDs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rule core.ToolIDRule
		word bool
		own  []string
		kept []bool
	}{
		"any":         {core.ToolIDRule{}, false, []string{"a", "b:c", "ü", ""}, []bool{true, true, true, false}},
		"words":       {core.ToolIDRule{}, true, []string{"a_-9", "b:c", "ü", "a b"}, []bool{true, false, false, false}},
		"at most 40":  {core.ToolIDRule{Most: 40}, false, []string{strings.Repeat("a", 40), strings.Repeat("a", 41)}, []bool{true, false}},
		"nine plain":  {core.ToolIDRule{Least: 9, Most: 9, Alphanumeric: true}, false, []string{"abcDEF123", "abcDEF12_", "abcDEF12", "abcDEF1234"}, []bool{true, false, false, false}},
		"twice":       {core.ToolIDRule{}, true, []string{"a", "a", "a"}, []bool{true, false, false}},
		"at least 30": {core.ToolIDRule{Least: 30}, true, []string{"a", "b"}, []bool{false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			make2 := func() []string {
				ids := toolIDs{rule: tt.rule, word: tt.word, prefix: "call_"}
				var all []string
				for _, own := range tt.own {
					all = append(all, ids.assign(own))
				}
				return all
			}
			first, again := make2(), make2()
			seen := map[string]bool{}
			for i, id := range first {
				if (id == tt.own[i]) != tt.kept[i] || seen[id] || id != again[i] {
					t.Errorf("%q became %q (again %q); kept should be %v", tt.own[i], id, again[i], tt.kept[i])
				}
				probe := toolIDs{rule: tt.rule, word: tt.word}
				if seen[id] = true; !probe.fits(id) {
					t.Errorf("%q became %q, which does not fit", tt.own[i], id)
				}
			}
		})
	}
}

func TestToolNames(t *testing.T) {
	t.Parallel()
	var names toolNames
	long := strings.Repeat("n", 65)
	for own, kept := range map[string]bool{"f": true, strings.Repeat("n", 64): true, long: false, long + "2": false, "a.b": false, "größe": false} {
		short := names.fit(own, maxToolName)
		if (short == own) != kept || len(short) > maxToolName || !isWord(short) {
			t.Errorf("%q became %q", own, short)
		}
		if names.fit(own, maxToolName) != short || string(names.given.given([]byte(short))) != own {
			t.Errorf("%q does not come back from %q", own, short)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		asked, taken, want string
	}{
		{"high", "low medium high", "high"}, {"max", "low medium high", "high"}, {"minimal", "none low high", "low"},
		{"none", "low high", "low"}, {"none", "none low", "none"}, {"low", "none", "none"}, {"medium", "high max", "high"},
		{"huge", "low", ""},
	} {
		if got := nearest(tt.asked, strings.Fields(tt.taken)); got != tt.want {
			t.Errorf("%s of %s: %q, want %q", tt.asked, tt.taken, got, tt.want)
		}
	}
}

func TestThinkByBudget(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		word string
		s    situation
		want string
	}{
		{"low", situation{limit: 64_000}, `{"thinking":{"type":"enabled","budget_tokens":2048}`},
		{"minimal", situation{limit: 64_000}, `{"thinking":{"type":"enabled","budget_tokens":2048}`},
		{"medium", situation{limit: 64_000}, `{"thinking":{"type":"enabled","budget_tokens":8192}`},
		{"max", situation{limit: 64_000}, `{"thinking":{"type":"enabled","budget_tokens":16384}`},
		{"max", situation{limit: 4000}, `{"thinking":{"type":"enabled","budget_tokens":2000}`},
		{"max", situation{limit: 2000}, `{`},
		{"max", situation{limit: 64_000, forced: true}, `{`},
		{"max", situation{limit: 64_000, inLoop: true}, `{`},
	} {
		d := draft{target: &core.Target{}, out: []byte{'{'}}
		if on := d.thinkByBudget(tt.word, tt.s); string(d.out) != tt.want || on != (tt.want != "{") || len(d.warnings()) != 1 {
			t.Errorf("%s in %+v: %s, %v, %q", tt.word, tt.s, d.out, on, d.warnings())
		}
	}
}

// FuzzUnquoted holds that what is unquoted is what the standard library reads.
func FuzzUnquoted(f *testing.F) {
	for _, s := range []string{`"a"`, `"\"\\\/\b\f\n\r\t"`, `"\u00e9\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx\ude00"`, `"\ud83d\u0041"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		var want string
		if len(literal) < 2 || literal[0] != '"' || !utf8.ValidString(literal) || json.Unmarshal([]byte(literal), &want) != nil {
			return // bytes that are no UTF-8 stay as they are, which the library does not do
		}
		if got := string(appendUnquoted(nil, []byte(strings.TrimSpace(literal)))); got != want {
			t.Errorf("%s: %q, want %q", literal, got, want)
		}
	})
}

func TestClosing(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]bool{
		"": false, " ": false, "{": false, "{}": true, `{"a":"}"`: false, `{"a":"}"}`: true, `{"a":"\""`: false, `{"a":"\\"}`: true,
		`{"a":[{}]}`: true, `{"a":{}`: false, `"a"`: true, `"a`: false,
	} {
		for cut := range len(doc) + 1 {
			var c closing
			c.follow([]byte(doc[:cut]))
			c.follow([]byte(doc[cut:]))
			if c.done != want {
				t.Errorf("%s cut at %d: %v, want %v", doc, cut, c.done, want)
			}
		}
	}
}
