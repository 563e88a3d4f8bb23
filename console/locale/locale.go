// Package locale holds the console's texts in English and Japanese and formats
// durations, times and money for them.
package locale

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The languages, the default first.
const (
	English  = "en"
	Japanese = "ja"
)

// Languages returns the languages that have a catalog, the default first.
func Languages() []string { return []string{English, Japanese} }

// Printer writes texts in one language. It is immutable and safe for
// concurrent use.
type Printer struct {
	lang  string
	texts []map[string]string // the catalog, by area; no key is in two
}

// For returns the printer of a language; an unknown one gets English.
func For(lang string) Printer {
	if lang == Japanese {
		return Printer{lang: Japanese, texts: []map[string]string{japanese, japaneseTarget}}
	}
	return Printer{lang: English, texts: []map[string]string{english, englishTarget}}
}

// Lang is the language's tag.
func (p Printer) Lang() string { return p.lang }

// T returns the text of a key, with args put in as [fmt.Sprintf] does. A key
// without a text is returned itself, so that a gap is seen and breaks nothing.
func (p Printer) T(key string, args ...any) string {
	text, ok := p.text(key)
	if !ok {
		return key
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

func (p Printer) text(key string) (string, bool) {
	for _, area := range p.texts {
		if text, ok := area[key]; ok {
			return text, true
		}
	}
	return "", false
}

// Word returns the text of prefix.word, or the word itself when the catalog has
// none: words of policies and vendors are not a closed list.
func (p Printer) Word(prefix, word string) string {
	if text, ok := p.text(prefix + "." + word); ok {
		return text
	}
	return word
}

// Has reports whether the catalog has a text for the key.
func (p Printer) Has(key string) bool { _, ok := p.text(key); return ok }

// Negotiate picks a language by an Accept-Language header. Quality values are
// read; languages without a catalog are passed over.
func Negotiate(header string) string {
	best, weight := English, 0.0
	for part := range strings.SplitSeq(header, ",") {
		tag, params, _ := strings.Cut(part, ";")
		base, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
		if base != English && base != Japanese {
			continue
		}
		q := 1.0
		if v, ok := strings.CutPrefix(strings.TrimSpace(params), "q="); ok {
			if f, err := strconv.ParseFloat(v, 64); err == nil {
				q = f
			}
		}
		if q > weight {
			best, weight = base, q
		}
	}
	return best
}

// Span formats a duration of seconds and more: "23 s", "3m12s", "2h05m".
// Negative durations become 0.
func (p Printer) Span(d time.Duration) string {
	s := max(0, int(d.Round(time.Second)/time.Second))
	switch {
	case s < 60:
		return p.T("span.s", s)
	case s < 3600:
		return p.T("span.ms", s/60, s%60)
	case s < 48*3600:
		return p.T("span.hm", s/3600, s/60%60)
	}
	return p.T("span.dh", s/86400, s/3600%24)
}

// Latency formats a duration of a call: "812 ms", "2.31 s", "1m05s".
func (p Printer) Latency(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	}
	return p.Span(d)
}

// Clock formats the time of day with its zone: "22:05:13 JST".
func (p Printer) Clock(t time.Time) string { return t.Format("15:04:05 MST") }

// Stamp formats a date and time: "11-29 22:05:13 JST".
func (p Printer) Stamp(t time.Time) string { return t.Format("01-02 15:04:05 MST") }

// UTC formats the same moment for tooltips: "2026-11-29 13:05:13.402 UTC".
func (p Printer) UTC(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") }

// Permille formats a share: 875 is "87.5%".
func (p Printer) Permille(n int) string {
	if n%10 == 0 {
		return strconv.Itoa(n/10) + "%"
	}
	return strconv.FormatFloat(float64(n)/10, 'f', 1, 64) + "%"
}

// Cost formats picodollars; an unknown cost is never shown as 0 (R13.2).
func (p Printer) Cost(pico int64, known bool) string {
	if !known {
		return p.T("cost.unknown")
	}
	usd := float64(pico) / 1e12
	if usd == 0 || usd >= 0.01 {
		return "$" + strconv.FormatFloat(usd, 'f', 4, 64)
	}
	return "$" + strconv.FormatFloat(usd, 'f', 6, 64)
}

// Milli formats thousandths of a point: 88375 is "88.375".
func (p Printer) Milli(n int64) string { return strconv.FormatFloat(float64(n)/1000, 'f', 3, 64) }

// Keys returns a language's keys, sorted.
func Keys(lang string) []string {
	var keys []string
	for _, area := range For(lang).texts {
		keys = slices.AppendSeq(keys, maps.Keys(area))
	}
	slices.Sort(keys)
	return keys
}
