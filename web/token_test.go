package web_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"
)

// rgb is a colour in linear light.
type rgb [3]float64

func parse(t *testing.T, hex string) rgb {
	t.Helper()
	n, err := strconv.ParseUint(hex[1:], 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	var c rgb
	for i := range c {
		v := float64(n>>(16-8*i)&0xff) / 255
		if v <= 0.04045 {
			c[i] = v / 12.92
		} else {
			c[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return c
}

func contrast(a, b rgb) float64 {
	l := func(c rgb) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }
	x, y := l(a), l(b)
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

type matrix [3]rgb

func (m matrix) apply(c rgb) (out rgb) {
	for i, row := range m {
		out[i] = min(1, max(0, row[0]*c[0]+row[1]*c[1]+row[2]*c[2]))
	}
	return out
}

// sights are ways of seeing colours: Machado, Oliveira and Fernandes (2009) at
// full severity.
func sights() map[string]matrix {
	return map[string]matrix{
		"normal": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
		"protan": {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
		"deutan": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
		"tritan": {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
	}
}

// oklab is Ottosson's (2020) perceptual space.
func oklab(c rgb) rgb {
	lms := rgb{
		math.Cbrt(0.4122214708*c[0] + 0.5363325363*c[1] + 0.0514459929*c[2]),
		math.Cbrt(0.2119034982*c[0] + 0.6806995451*c[1] + 0.1073969566*c[2]),
		math.Cbrt(0.0883024619*c[0] + 0.2817188376*c[1] + 0.6299787005*c[2]),
	}
	return rgb{
		0.2104542553*lms[0] + 0.7936177850*lms[1] - 0.0040720468*lms[2],
		1.9779984951*lms[0] - 2.4285922050*lms[1] + 0.4505937099*lms[2],
		0.0259040371*lms[0] + 0.7827717662*lms[1] - 0.8086757660*lms[2],
	}
}

func distance(a, b rgb) float64 {
	x, y := oklab(a), oklab(b)
	return 100 * math.Sqrt((x[0]-y[0])*(x[0]-y[0])+(x[1]-y[1])*(x[1]-y[1])+(x[2]-y[2])*(x[2]-y[2]))
}

// tokens reads the stylesheet's colours, per scheme.
func tokens(t *testing.T) map[string]map[string]rgb {
	t.Helper()
	out := map[string]map[string]rgb{"light": {}, "dark": {}}
	css := string(assets(t).File("console.css"))
	for _, m := range regexp.MustCompile(`--([a-z0-9-]+): light-dark\((#[0-9A-F]{6}), (#[0-9A-F]{6})\)`).FindAllStringSubmatch(css, -1) {
		out["light"][m[1]], out["dark"][m[1]] = parse(t, m[2]), parse(t, m[3])
	}
	if len(out["light"]) != 14 {
		t.Fatalf("%d tokens found, want 14", len(out["light"]))
	}
	return out
}

func states() []string { return []string{"serving", "probing", "blocked", "held", "nodata", "cooling"} }

func TestTokens_Contrast(t *testing.T) {
	t.Parallel()
	for scheme, c := range tokens(t) {
		check := func(name string, least float64) {
			for _, bg := range []string{"bg0", "bg1", "bg2"} {
				if got := contrast(c[name], c[bg]); got < least {
					t.Errorf("%s: %s on %s has contrast %.2f, want %.1f", scheme, name, bg, got, least)
				}
			}
		}
		for _, name := range append(states(), "fg0", "fg1", "focus") {
			check(name, 4.5)
		}
		check("line-strong", 3)
		for _, filled := range []string{"blocked", "serving", "fg0"} {
			if got := contrast(c["bg1"], c[filled]); got < 4.5 {
				t.Errorf("%s: text on a filled %s has contrast %.2f", scheme, filled, got)
			}
		}
	}
}

// TestTokens_Distance holds that no two states look alike, whichever colours an
// operator can tell apart. A hand-picked palette once fell to 0.7 here.
func TestTokens_Distance(t *testing.T) {
	t.Parallel()
	const least = 7.5
	for scheme, c := range tokens(t) {
		for sight, m := range sights() {
			for i, a := range states() {
				for _, b := range states()[i+1:] {
					if d := distance(m.apply(c[a]), m.apply(c[b])); d < least {
						t.Errorf("%s, %s: %s and %s are %.1f apart, want %.1f", scheme, sight, a, b, d, least)
					}
				}
			}
		}
	}
}

// TestTokens_NoOtherColours holds that colour stays with the tokens, and that
// none of them is green: healthy is not a colour here.
func TestTokens_NoOtherColours(t *testing.T) {
	t.Parallel()
	css := string(assets(t).File("console.css"))
	for _, line := range regexp.MustCompile(`(?m)^.*(?:#[0-9A-Fa-f]{3,8}\b|rgba?\(|hsl).*$`).FindAllString(css, -1) {
		if regexp.MustCompile(`light-dark\(|#notice|#open-help|::backdrop|@media print|body \{ background: #fff`).MatchString(line) {
			continue
		}
		t.Errorf("a colour outside of the tokens: %s", line)
	}
	for scheme, c := range tokens(t) {
		for _, name := range states() {
			lab := oklab(c[name])
			hue := math.Atan2(lab[2], lab[1]) * 180 / math.Pi
			if chroma := math.Hypot(lab[1], lab[2]); chroma > 0.05 && hue > 110 && hue < 200 {
				t.Errorf("%s: %s is green: %s", scheme, name, fmt.Sprintf("hue %.0f", hue))
			}
		}
	}
}
