package locale_test

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/console/locale"
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// used returns the keys that the console's sources name in full.
func used(t *testing.T) []string {
	t.Helper()
	call := regexp.MustCompile(`\.T\("([a-z0-9_.]+)"[,)]`)
	literal := regexp.MustCompile(`"((?:keys|password|review|reason|draft)\.[a-z_.]+)"`)
	var keys []string
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "_templ.go") || strings.HasSuffix(name, "_test.go") ||
			!(strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".templ")) || strings.HasPrefix(name, "locale/") ||
			strings.HasPrefix(name, "storybook/") {
			return err
		}
		body, err := fs.ReadFile(root, name)
		for _, m := range call.FindAllStringSubmatch(string(body), -1) {
			keys = append(keys, m[1])
		}
		for _, m := range literal.FindAllStringSubmatch(string(body), -1) {
			keys = append(keys, m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestCatalogs_HaveEveryKey(t *testing.T) {
	t.Parallel()
	keys := used(t)
	if len(keys) < 250 {
		t.Fatalf("only %d keys found in the sources", len(keys))
	}
	for k := core.KindNone; k < core.KindCount; k++ {
		keys = append(keys, "kind."+k.String())
	}
	for s := core.SituationNone; s < core.SituationCount; s++ {
		keys = append(keys, "situation."+s.String())
	}
	for l := core.Healthy; l < core.LevelCount; l++ {
		keys = append(keys, "level."+l.String())
	}
	for _, s := range []string{"unusable", "blocked", "held", "probing", "cooling", "serving", "nodata"} {
		keys = append(keys, "state."+s, "state."+s+".long")
	}
	for _, h := range circuit.Holds() {
		keys = append(keys, "hold."+h.String(), "hold.do."+h.String(), "hold."+h.String()+".note")
	}
	for _, lang := range locale.Languages() {
		p := locale.For(lang)
		for _, k := range keys {
			if !p.Has(k) {
				t.Errorf("%s has no text for %q", lang, k)
			}
		}
	}
}

// TestCatalogs_Agree holds that both languages have the same keys, and take the
// same arguments in the same order.
func TestCatalogs_Agree(t *testing.T) {
	t.Parallel()
	en, ja := locale.For(locale.English), locale.For(locale.Japanese)
	verb := regexp.MustCompile(`%(?:0?\d*)[a-z%]|\{[a-z]+\}`)
	keys := locale.Keys(locale.English)
	if got := locale.Keys(locale.Japanese); !slices.Equal(got, keys) {
		t.Fatalf("the catalogs have %d and %d keys, or others", len(keys), len(got))
	}
	if once := slices.Compact(slices.Clone(keys)); len(once) != len(keys) {
		t.Errorf("%d keys are in two areas", len(keys)-len(once))
	}
	for _, k := range keys {
		a, b := verb.FindAllString(en.T(k), -1), verb.FindAllString(ja.T(k), -1)
		if !slices.Equal(a, b) {
			t.Errorf("%s takes %v in English and %v in Japanese", k, a, b)
		}
		if en.T(k) == "" || ja.T(k) == "" {
			t.Errorf("%s is empty", k)
		}
	}
}

func TestPrinter_Formats(t *testing.T) {
	t.Parallel()
	en, ja := locale.For("en"), locale.For("ja")
	at := time.Date(2026, 11, 29, 22, 5, 13, 402e6, time.FixedZone("JST", 9*3600))
	for _, tc := range []struct{ name, got, want string }{
		{"seconds", en.Span(23 * time.Second), "23 s"},
		{"minutes", en.Span(192 * time.Second), "3m12s"},
		{"minutes_ja", ja.Span(192 * time.Second), "3分12秒"},
		{"hours", en.Span(125 * time.Minute), "2h05m"},
		{"days", en.Span(50 * time.Hour), "2d02h"},
		{"negative", en.Span(-time.Second), "0 s"},
		{"milliseconds", en.Latency(812 * time.Millisecond), "812 ms"},
		{"latency_seconds", en.Latency(2310 * time.Millisecond), "2.31 s"},
		{"latency_minutes", en.Latency(65 * time.Second), "1m05s"},
		{"stamp", en.Stamp(at), "11-29 22:05:13 JST"},
		{"clock", en.Clock(at), "22:05:13 JST"},
		{"utc", en.UTC(at), "2026-11-29 13:05:13.402 UTC"},
		{"whole_percent", en.Permille(870), "87%"},
		{"permille", en.Permille(875), "87.5%"},
		{"cost", en.Cost(12_340_000_000_000, true), "$12.3400"},
		{"small_cost", en.Cost(9_120_000_000, true), "$0.009120"},
		{"free", en.Cost(0, true), "$0.0000"},
		{"unknown_is_not_free", en.Cost(0, false), "unknown"},
		{"milli", en.Milli(88375), "88.375"},
		{"missing_key", en.T("no.such.key"), "no.such.key"},
		{"unknown_word", en.Word("kind", "brand_new"), "brand_new"},
		{"unknown_language", locale.For("fr").Lang(), "en"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, tc.got, tc.want)
		}
	}
}

func TestNegotiate(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"": "en", "ja": "ja", "ja-JP,en;q=0.9": "ja", "en-GB,ja;q=0.9": "en", "fr,de": "en", "fr, ja;q=0.2": "ja",
		"en;q=0.1, ja;q=0.2": "ja", "ja;q=0": "en", "ja;q=nonsense": "ja", "JA": "ja", ";;;,,": "en",
	} {
		if got := locale.Negotiate(header); got != want {
			t.Errorf("%q: got %s, want %s", header, got, want)
		}
	}
}
