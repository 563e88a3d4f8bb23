package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core/sse"
)

// seen is an event with memory of its own.
type seen struct {
	Name, Data, ID, Raw string
	Canonical           bool
}

func keep(ev sse.Event) seen {
	return seen{string(ev.Name), string(ev.Data), string(ev.ID), string(ev.Raw), ev.Canonical}
}

// scan feeds the chunks one after the other, each through the same buffer, so
// that an event which wrongly points into an old chunk shows.
func scan(t testing.TB, s *sse.Scanner, chunks ...string) []seen {
	t.Helper()
	var got []seen
	buf := make([]byte, 0, 64)
	for _, c := range chunks {
		buf = append(buf[:0], c...)
		s.Feed(buf)
		for {
			ev, ok := s.Next()
			if !ok {
				break
			}
			got = append(got, keep(ev))
		}
		for i := range buf {
			buf[i] = '#'
		}
	}
	return got
}

// meaning is what a caller can tell of the events, without how they were written.
func meaning(events []seen) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%q %q\n", e.Name, e.Data)
	}
	return b.String()
}

// variants are one five-event answer in every legal spelling (field case R19).
func variants() map[string]string {
	lf := "event: a\ndata: {\"n\":1}\n\nevent: a\ndata: {\"n\":2}\n\ndata: plain\n\n" +
		"event: two\ndata: {\"x\":\ndata: 4}\n\nevent: end\ndata: {}\n\n"
	mixed := "event: a\r\ndata: {\"n\":1}\n\revent: a\rdata: {\"n\":2}\r\n\ndata: plain\n\r\n" +
		"event: two\ndata: {\"x\":\r\ndata: 4}\r\r\nevent: end\ndata: {}\n\n"
	noisy := ": hello\n\nretry: 10\n\n: x\nevent: a\nid: 7\ndata: {\"n\":1}\n\n:\nevent: a\n: in between\ndata: {\"n\":2}\n\n" +
		"retry: 3\nunknown: field\nnocolon\ndata: plain\n\nid\nevent: two\ndata: {\"x\":\ndata: 4}\n\nid: 9\n\nevent: end\ndata: {}\n\n"
	return map[string]string{
		"lf":       lf,
		"crlf":     strings.ReplaceAll(lf, "\n", "\r\n"),
		"cr":       strings.ReplaceAll(lf, "\n", "\r"),
		"mixed":    mixed,
		"no_space": strings.ReplaceAll(lf, ": ", ":"),
		"noisy":    noisy,
		"bom":      "\xef\xbb\xbf" + lf,
	}
}

func TestScanner_EverySpellingSaysTheSame(t *testing.T) {
	t.Parallel()
	want := "\"a\" \"{\\\"n\\\":1}\"\n\"a\" \"{\\\"n\\\":2}\"\n\"\" \"plain\"\n\"two\" \"{\\\"x\\\":\\n4}\"\n\"end\" \"{}\"\n"
	for name, stream := range variants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := meaning(scan(t, sse.NewScanner(0), stream)); got != want {
				t.Fatalf("whole:\n%s\nwant\n%s", got, want)
			}
			for cut := range len(stream) {
				if got := meaning(scan(t, sse.NewScanner(0), stream[:cut], stream[cut:])); got != want {
					t.Fatalf("cut at %d (%q | %q):\n%s", cut, stream[:cut], stream[cut:], got)
				}
			}
			if got := meaning(scan(t, sse.NewScanner(0), strings.Split(stream, "")...)); got != want {
				t.Fatalf("byte by byte:\n%s", got)
			}
		})
	}
}

func TestScanner_DeliversAsSoonAsTheBlankLineIsComplete(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{
		"lf": "data: x\n\n", "crlf": "data: x\r\n\r", "cr": "data: x\r\r", "mixed": "data: x\n\r",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sse.NewScanner(0)
			got := scan(t, s, strings.Split(stream, "")...)
			if len(got) != 1 || got[0].Data != "x" {
				t.Fatalf("got %+v, want x without a further byte", got)
			}
			got = scan(t, s, "\n", "data: y\n\n")
			if len(got) != 1 || got[0].Data != "y" {
				t.Errorf("after a line feed that may belong to the CR: %+v", got)
			}
		})
	}
}

func TestScanner_Canonical(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]bool{
		"event: a\ndata: x\n\n":             true,
		"data: x\n\n":                       true,
		"data: x\ndata: y\n\n":              true,
		"data:  x\n\n":                      true,
		": c\n\nevent: a\ndata: x\n\n":      true, // the comment is no part of the event
		"data:x\n\n":                        false,
		"data\n\n":                          false,
		"event:a\ndata: x\n\n":              false,
		"event: \ndata: x\n\n":              false,
		"data: x\nevent: a\n\n":             false,
		"event: a\nevent: b\ndata: x\n\n":   false,
		"event: a\n: c\ndata: x\n\n":        false,
		"id: 1\ndata: x\n\n":                false,
		"retry: 1\ndata: x\n\n":             false,
		"event: a\r\ndata: x\r\n\r\n":       false,
		"event: a\ndata: x\n\r\n":           false,
		"event: a\rdata: x\n\n":             false,
		"\xef\xbb\xbfevent: a\ndata: x\n\n": true,
	} {
		got := scan(t, sse.NewScanner(0), stream)
		if len(got) != 1 || got[0].Canonical != want {
			t.Errorf("%q: %+v, want canonical %v", stream, got, want)
			continue
		}
		written := string(sse.AppendEvent(nil, []byte(got[0].Name), []byte(got[0].Data)))
		if (written == got[0].Raw) != want {
			t.Errorf("%q: canonical is %v, but AppendEvent writes %q", stream, want, written)
		}
	}
}

func TestScanner_Fields(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, stream string
		want         []seen
	}{
		{"id", "id: 7\ndata: x\n\n", []seen{{Data: "x", ID: "7", Raw: "id: 7\ndata: x\n\n"}}},
		{"id_with_nul_is_ignored", "id: 7\x00\ndata: x\n\n", []seen{{Data: "x", Raw: "id: 7\x00\ndata: x\n\n"}}},
		{"empty_data_is_an_event", "data\n\n", []seen{{Data: "", Raw: "data\n\n"}}},
		{"two_empty_data_lines", "data\ndata\n\n", []seen{{Data: "\n", Raw: "data\ndata\n\n"}}},
		{"no_data_is_none", "event: ping\n\n", nil},
		{"name_does_not_leak", "event: a\n\ndata: x\n\n", []seen{{Data: "x", Raw: "data: x\n\n", Canonical: true}}},
		{"unfinished_is_none", "data: x\n", nil},
		{"bare_mark", "\xef\xbb", nil},
		{"name_is_case_sensitive", "Data: x\n\n", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := scan(t, sse.NewScanner(0), tc.stream); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v\nwant %+v", got, tc.want)
			}
		})
	}
}

func TestScanner_LongLines(t *testing.T) {
	t.Parallel()
	for _, size := range []int{70 << 10, 1_200_000, 9 << 20} {
		want := strings.Repeat("0123456789abcde\t", size/16)
		stream := "event: a\ndata: " + want + "\n\ndata: after\n\n"
		var chunks []string
		for rest := stream; rest != ""; {
			n := min(len(rest), 8<<10)
			chunks, rest = append(chunks, rest[:n]), rest[n:]
		}
		got := scan(t, sse.NewScanner(0), chunks...)
		if len(got) != 2 || got[0].Data != want || got[1].Data != "after" {
			t.Errorf("%d bytes: %d events, or other bytes", size, len(got))
		}
	}
}

func TestScanner_Limit(t *testing.T) {
	t.Parallel()
	fits := "data: " + strings.Repeat("x", 92) + "\n\n" // 100 bytes
	tooBig := "data: " + strings.Repeat("x", 93) + "\n\n"
	s := sse.NewScanner(100)
	if got := scan(t, s, fits); len(got) != 1 || s.Err() != nil {
		t.Fatalf("100 bytes at a limit of 100: %d events, %v", len(got), s.Err())
	}
	for name, chunks := range map[string][]string{
		"whole":      {tooBig},
		"unfinished": {tooBig[:101]},
		"in_pieces":  strings.Split(tooBig, ""),
		"comments":   {"data: y\n" + strings.Repeat(": c\n", 40)},
	} {
		s.Reset()
		got := scan(t, s, append([]string{fits}, chunks...)...)
		if len(got) != 1 || !errors.Is(s.Err(), sse.ErrTooLarge) {
			t.Errorf("%s: %d events, %v; want the first and ErrTooLarge", name, len(got), s.Err())
		}
		if got := scan(t, s, "\n\n", fits); got != nil {
			t.Errorf("%s: events after the limit was broken: %+v", name, got)
		}
	}
	s.Reset()
	if got := scan(t, s, fits); len(got) != 1 || s.Err() != nil {
		t.Errorf("after Reset: %d events, %v", len(got), s.Err())
	}
	if got := scan(t, s, strings.Repeat(": keep alive\n", 1000), fits); len(got) != 1 || s.Err() != nil {
		t.Errorf("comments alone broke the limit: %d events, %v", len(got), s.Err())
	}
}

func TestScanner_WholeEventsAreNotCopied(t *testing.T) {
	chunk := []byte("event: a\ndata: {\"n\":1}\n\nevent: a\ndata: {\"n\":2}\n\n")
	s := sse.NewScanner(0)
	s.Feed(chunk)
	ev, ok := s.Next()
	if !ok || &ev.Raw[0] != &chunk[0] {
		t.Error("the first event is a copy")
	}
	allocs := testing.AllocsPerRun(100, func() {
		s.Feed(chunk)
		for {
			if _, ok := s.Next(); !ok {
				return
			}
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations for a chunk of whole events, want 0", allocs)
	}
}

func TestScanner_CutEventsReuseMemory(t *testing.T) {
	stream := []byte("event: a\ndata: {\"n\":1}\ndata: more\n\n")
	s := sse.NewScanner(0)
	run := func() {
		for i := range stream {
			s.Feed(stream[i : i+1])
			s.Next()
		}
	}
	run()
	if allocs := testing.AllocsPerRun(100, run); allocs != 0 {
		t.Errorf("%v allocations for an event that came in single bytes, want 0", allocs)
	}
}

// FuzzScanner holds that how a stream is cut changes nothing.
func FuzzScanner(f *testing.F) {
	for _, stream := range variants() {
		f.Add([]byte(stream), uint8(3))
	}
	f.Add([]byte("\xef\xbb\xbf\r\r\n\ndata\r\rdata:\n\n"), uint8(1))
	f.Fuzz(func(t *testing.T, stream []byte, step uint8) {
		whole := scan(t, sse.NewScanner(0), string(stream))
		var chunks []string
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), int(step)%17+1)
			chunks, rest = append(chunks, string(rest[:n])), rest[n:]
		}
		cut := scan(t, sse.NewScanner(0), chunks...)
		for _, events := range [][]seen{whole, cut} {
			for i := range events {
				// The LF of a CRLF that a cut took apart comes after the event.
				events[i].Raw = strings.TrimSuffix(events[i].Raw, "\n")
			}
		}
		if !reflect.DeepEqual(whole, cut) {
			t.Fatalf("%q in steps of %d:\n%+v\nwhole:\n%+v", stream, int(step)%17+1, cut, whole)
		}
	})
}

func BenchmarkScanner(b *testing.B) {
	chunk := bytes.Repeat([]byte("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"+
		"\"delta\":{\"type\":\"text_delta\",\"text\":\"some words of it\"}}\n\n"), 20)
	s := sse.NewScanner(0)
	b.ReportAllocs()
	events := 0
	for b.Loop() {
		s.Feed(chunk)
		for {
			if _, ok := s.Next(); !ok {
				break
			}
			events++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
}
