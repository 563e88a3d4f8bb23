package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/store"
)

func FuzzAppendText(f *testing.F) {
	for _, s := range []string{
		"", "plain", `"quoted" \ back`, "tab\tnew\nline\x00\x1f\x7f", "<script>&amp;", "日本語 🜲", "\xff\xfe broken", "\u2028\u2029", "half \xe6\x97",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > store.MaxText {
			t.Skip()
		}
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := store.AppendText(nil, s); !bytes.Equal(got, want) {
			t.Errorf("%q:\n got %s\nwant %s", s, got, want)
		}
	})
}

func TestAppendText_CutsLongStrings(t *testing.T) {
	t.Parallel()
	for _, s := range []string{strings.Repeat("x", store.MaxText+1), strings.Repeat("日", store.MaxText)} {
		var got string
		if err := json.Unmarshal(store.AppendText(nil, s), &got); err != nil {
			t.Fatal(err)
		}
		if len(got) > store.MaxText || len(got) < store.MaxText-8 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
			t.Errorf("%d bytes became %d: …%s", len(s), len(got), got[len(got)-8:])
		}
	}
	if s := strings.Repeat("x", store.MaxText); len(store.AppendText(nil, s)) != store.MaxText+2 {
		t.Error("a string of just the limit was cut")
	}
}

// TestFacts_SurviveWhole fails when core.Facts gets a field that the encoder
// does not know: replays would then silently use other facts.
func TestFacts_SurviveWhole(t *testing.T) {
	t.Parallel()
	db := open(t, config(t))
	var full core.Facts
	fill(t, reflect.ValueOf(&full).Elem())
	for id, f := range map[string]core.Facts{"full": full, "zero": {}, "some": {Priority: 3, Needs: core.Needs{Prefill: true}}} {
		db.Record(&core.Decision{ID: id, Facts: f})
		flush(t, db)
		d, err := db.Decision(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := json.Marshal(f); !bytes.Equal(d.Facts, want) {
			t.Errorf("%s:\n got %s\nwant %s", id, d.Facts, want)
		}
	}
}

// fill sets every field to something other than its zero value.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("s" + v.Type().Field(i).Name)
		case reflect.Int:
			f.SetInt(int64(i) + 1)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Struct:
			fill(t, f)
		default:
			t.Fatalf("core.Facts has a field of kind %s: teach the encoder and this test", f.Kind())
		}
	}
}

// TestRecord_ForeignText holds that no text of a caller can break a row or pass
// for another member of it.
func TestRecord_ForeignText(t *testing.T) {
	t.Parallel()
	db := open(t, config(t))
	d := answered(nil, nil, 1)
	d.Facts.Model = "x\"},\"outcome\":\"none\" \x00\xff<b>"
	d.Tags = `"use_case":"batch"`
	db.Record(d)
	flush(t, db)
	for useCase, want := range map[string]int{"assistant": 1, "batch": 0} {
		list, err := db.Decisions(context.Background(), auditFilter(useCase))
		if err != nil || len(list) != want {
			t.Errorf("use case %s: %d rows, want %d: %v", useCase, len(list), want, err)
		}
	}
}
