package console

import (
	"slices"
	"testing"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"claude-opus-5-5", "claude-sonnet-5", "gpt-6-sol", "gpt-6-luna"}
	for name, want := range map[string][]string{
		"gpt-6-soll": {"gpt-6-sol", "gpt-6-luna"}, "opus": {"gpt-6-sol"}, "claude-opus": {"claude-opus-5-5"}, "": {"gpt-6-sol"},
	} {
		if got := nearest(name, names); len(got) != 3 || !slices.Equal(got[:len(want)], want) {
			t.Errorf("%q: got %q, want %q first", name, got, want)
		}
	}
	if got := nearest("x", names[:1]); len(got) != 1 {
		t.Errorf("of one name %q are offered", got)
	}
}

func TestEdits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"日本", "日木", 1}, {"same", "same", 0}} {
		if got := edits(tc.a, tc.b); got != tc.want || edits(tc.b, tc.a) != tc.want {
			t.Errorf("%q to %q: %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
