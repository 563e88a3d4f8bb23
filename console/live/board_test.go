package live_test

import (
	"maps"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/spillway-llm/spillway/console/live"
)

func TestBoard_Since(t *testing.T) {
	t.Parallel()
	b := live.NewBoard("one")
	first := b.Set(map[string]string{"a": "1", "b": "2"}, map[string]string{"p": "<p>"})
	if again := b.Set(map[string]string{"a": "1", "b": "2"}, map[string]string{"p": "<p>"}); again != first {
		t.Errorf("the same state has version %d, then %d", first, again)
	}
	second := b.Set(map[string]string{"a": "1", "b": "3"}, map[string]string{"p": "<p>"})

	if f := b.Since("one", first); !maps.Equal(f.Fields, map[string]string{"b": "3"}) || f.Parts != nil || f.Seq != second {
		t.Errorf("since the first version: got %+v, want only b", f)
	}
	if f := b.Since("one", second); f.Fields != nil || f.Parts != nil {
		t.Errorf("since the newest version: got %+v, want nothing", f)
	}
	for name, f := range map[string]live.Frame{
		"other_epoch": b.Since("two", second), "future_version": b.Since("one", second+10), "start": b.Since("one", 0),
	} {
		if len(f.Fields) != 2 || len(f.Parts) != 1 {
			t.Errorf("%s: got %+v, want everything", name, f)
		}
	}
}

func TestBoard_ForgetsMissingKeys(t *testing.T) {
	t.Parallel()
	b := live.NewBoard("one")
	b.Set(map[string]string{"a": "1", "b": "2"}, nil)
	b.Set(map[string]string{"a": "1"}, nil)
	if f := b.Since("", 0); !maps.Equal(f.Fields, map[string]string{"a": "1"}) {
		t.Errorf("got %v, want a alone", f.Fields)
	}
}

func TestBoard_Announce(t *testing.T) {
	t.Parallel()
	b := live.NewBoard("one")
	v := b.Set(map[string]string{"a": "1"}, nil)
	b.Announce("first")
	b.Announce("second")
	f := b.Since("one", v)
	if f.Note != "second" {
		t.Errorf("got %q, want the newest announcement", f.Note)
	}
	if f := b.Since("one", f.Seq); f.Note != "" {
		t.Errorf("announced twice: %q", f.Note)
	}
	if f := b.Since("two", 0); f.Note != "" {
		t.Errorf("a page that was just loaded is told old news: %q", f.Note)
	}
}

// TestBoard_Converges holds what the live view rests on: whoever applies the
// differences, however rarely, ends with the board's own state.
func TestBoard_Converges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := live.NewBoard("one")
		seen, since := map[string]string{}, uint64(0)
		state := map[string]string{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			key := strconv.Itoa(rapid.IntRange(0, 4).Draw(t, "key"))
			state[key] = strconv.Itoa(rapid.IntRange(0, 2).Draw(t, "value"))
			b.Set(state, nil)
			if rapid.Bool().Draw(t, "read") {
				f := b.Since("one", since)
				maps.Copy(seen, f.Fields)
				since = f.Seq
			}
		}
		maps.Copy(seen, b.Since("one", since).Fields)
		if !maps.Equal(seen, state) {
			t.Fatalf("reader has %v, board %v", seen, state)
		}
	})
}

func TestBoard_Concurrent(t *testing.T) {
	t.Parallel()
	b := live.NewBoard("one")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 200 {
				b.Set(map[string]string{"a": strconv.Itoa(n)}, map[string]string{"p": strconv.Itoa(i)})
				b.Since("one", uint64(n))
				b.Announce("x")
			}
		})
	}
	wg.Wait()
	if f := b.Since("", 0); f.Fields["a"] == "" {
		t.Errorf("the board lost its field: %+v", f)
	}
}
