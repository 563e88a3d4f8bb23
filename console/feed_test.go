package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/console/locale"
	"github.com/spillway-llm/spillway/core/audit"
)

// recorded is a history of events alone.
type recorded struct {
	events []audit.Event
	err    error
}

func (r *recorded) Decisions(context.Context, audit.Filter) ([]audit.Decision, error) {
	return nil, r.err
}

func (r *recorded) Decision(context.Context, string) (audit.Detail, error) {
	return audit.Detail{}, r.err
}

func (r *recorded) Events(_ context.Context, _, after int64, limit int, _ ...string) (out []audit.Event, err error) {
	for _, e := range r.events {
		if e.Seq > after && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, r.err
}

func event(seq int64, kind, body string) audit.Event {
	return audit.Event{Seq: seq, At: time.Unix(1_800_000_000+seq, 0), Kind: kind, Subject: "s", Body: json.RawMessage(body)}
}

// TestFeed_ReadsGapsLater holds that what the recorder tells comes once, and
// what only the history knows comes too.
func TestFeed_ReadsGapsLater(t *testing.T) {
	t.Parallel()
	f := newFeed(time.Unix(1_800_000_003, 0))
	h := &recorded{events: []audit.Event{event(2, "level", `{"use_case":"batch","from":"healthy","to":"degraded"}`), event(1, "run", `{"what":"started"}`)}}
	read := func() {
		t.Helper()
		if err := f.read(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if since := f.levelSince("batch"); since.Unix() != 1_800_000_002 {
		t.Errorf("the level changed at %v", since)
	}
	f.add(feedItem{At: time.Unix(1_800_000_003, 0), Kind: "level", Subject: "batch", To: "healthy"})
	h.events = append([]audit.Event{event(4, "gap", `{"missing":3,"cause":"queue_full"}`), event(3, "level", `{"use_case":"batch"}`)}, h.events...)
	read()
	read()
	var kinds []string
	for _, it := range f.newest() {
		kinds = append(kinds, it.Kind)
	}
	if got, want := fmt.Sprint(kinds), "[gap level level run]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := f.unannounced(); len(got) != 1 || f.unannounced() != nil {
		t.Errorf("%d events to announce, want the live one, once", len(got))
	}
	h.err = errors.New("disk")
	if err := f.read(t.Context(), h); err == nil {
		t.Error("an unreadable history passes for an empty one")
	}
}

func TestFeed_Bounded(t *testing.T) {
	t.Parallel()
	f := newFeed(time.Time{})
	for i := range 200 {
		f.add(feedItem{At: time.Unix(int64(i), 0), Kind: "level", Subject: "a"})
	}
	items := f.newest()
	if len(items) != feedLength || items[0].At.Unix() != 199 || items[feedLength-1].At.Unix() != 170 {
		t.Errorf("%d items from %v to %v", len(items), items[0].At, items[len(items)-1].At)
	}
	if n := len(f.unannounced()); n != feedLength {
		t.Errorf("%d events wait for their announcement", n)
	}
}

func TestSentence_Announcement(t *testing.T) {
	t.Parallel()
	items := []feedItem{
		{Kind: "level", Subject: "a", From: "healthy", To: "degraded"}, {Kind: "level", Subject: "b", From: "healthy", To: "degraded"},
		{Kind: "level", Subject: "c", From: "healthy", To: "degraded"}, {Kind: "level", Subject: "d"}, {Kind: "level", Subject: "e"},
	}
	for lang, want := range map[string]string{
		"en": "a is degraded now (was healthy). b is degraded now (was healthy). c is degraded now (was healthy). And 2 more.",
		"ja": "a は 低下 になりました（以前：正常）。 b は 低下 になりました（以前：正常）。 c は 低下 になりました（以前：正常）。 ほか 2 件。",
	} {
		if got := (page{Printer: locale.For(lang)}).announcement(items); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// FuzzRecordedItem holds that no recorded body breaks the feed: another version
// of the program may have written it.
func FuzzRecordedItem(f *testing.F) {
	for _, kind := range []string{"transition", "cooldown", "level", "key", "override", "policy", "config", "fault", "gap", "run", "new"} {
		f.Add(kind, "subject", []byte(`{"target":"a","use_case":"b","to":"open","until_us":1,"usable":false}`))
	}
	f.Add("transition", "", []byte("{"))
	f.Add("key", "", []byte(`[1]`))
	c := &Console{cfg: Config{Now: time.Now}}
	f.Fuzz(func(t *testing.T, kind, subject string, body []byte) {
		it := recordedItem(audit.Event{Kind: kind, Subject: subject, Body: body})
		p := page{Printer: locale.For("en"), c: c}
		if it.Kind == "" && kind != "" {
			t.Errorf("the kind %q is lost", kind)
		}
		if p.sentence(it) == "" {
			t.Errorf("no sentence for %q", kind)
		}
		_ = it.icon()
	})
}
