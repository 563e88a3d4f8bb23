package exchange

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"claude-opus-5-5", "claude-sonnet-5", "gpt-6-sol", "gpt-6-luna", "gpt-6-sol"}
	for name, want := range map[string][]string{
		"claude-opus-5":          {"claude-opus-5-5", "claude-sonnet-5"},
		"GPT-6-SOL":              {"gpt-6-sol", "gpt-6-luna"},
		"gpt6sol":                {"gpt-6-sol"}, // luna differs in more than half
		"llama":                  nil,
		strings.Repeat("x", 101): nil,
	} {
		if got := Nearest(name, names, 3); !slices.Equal(got, want) {
			t.Errorf("nearest to %.20q: %q, want %q", name, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"same", "same", 0}} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

// FuzzPreferred holds that no Accept-Language yields anything but a known
// language.
func FuzzPreferred(f *testing.F) {
	for _, s := range []string{"", "ja", "en-GB,ja;q=0.9", ";q=", ",,;", "ja;q=1e999", "ja;q=NaN", "*;q=0.1,en"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		if got := preferred(list, core.Languages()); got != "" && !slices.Contains(core.Languages(), got) {
			t.Errorf("%q prefers %q", list, got)
		}
	})
}

// FuzzHeaderText holds that no text breaks a header, and that none is lost.
func FuzzHeaderText(f *testing.F) {
	for _, s := range []string{"", "plain", "現在は", "a\r\nSet-Cookie: x", "\x00", "100%", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := headerText(s, "ja")
		for i := range len(got) {
			if got[i] < ' ' || got[i] > '~' {
				t.Fatalf("%q has byte %#x", got, got[i])
			}
		}
		back := got
		if got != s {
			var err error
			if back, err = url.PathUnescape(strings.TrimPrefix(got, "UTF-8'ja'")); err != nil {
				t.Fatal(err)
			}
		}
		if back != s {
			t.Errorf("%q came back as %q", s, back)
		}
	})
}
