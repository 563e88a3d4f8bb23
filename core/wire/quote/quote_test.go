package quote_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/spillway-llm/spillway/core/wire/quote"
)

func TestAppend(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":               `""`,
		"gpt-6-sol":      `"gpt-6-sol"`,
		"a\"b\\c/d":      `"a\"b\\c/d"`,
		"\n\r\t\b\x00":   `"\n\r\t\u0008\u0000"`,
		"é <b>&😀 \u2028": "\"é <b>&😀 \u2028\"",
	} {
		if got := string(quote.Append([]byte("x"), in)); got != "x"+want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// FuzzAppend holds that what is written is JSON and reads back as it was.
func FuzzAppend(f *testing.F) {
	f.Add("a\"\n\x1f")
	f.Fuzz(func(t *testing.T, s string) {
		b := quote.Append(nil, s)
		var back string
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("%q became %s: %v", s, b, err)
		}
		if utf8.ValidString(s) && back != s {
			t.Fatalf("%q came back as %q", s, back)
		}
	})
}
