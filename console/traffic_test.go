package console

import (
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
)

func TestTraffic_Instead(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_800_000_000, 0)
	tr := newTraffic()
	answer := func(after time.Duration, preferred, target string) {
		tr.count(&core.Decision{At: start.Add(after), Target: target, Plan: &core.Plan{Preferred: preferred}})
	}
	if target, _ := tr.instead("a", start); target != "" || !tr.last().IsZero() {
		t.Errorf("before any traffic: %q, %v", target, tr.last())
	}
	answer(0, "a", "b")
	answer(time.Second, "a", "b")
	answer(2*time.Second, "a", "c")
	answer(3*time.Second, "a", "b")
	answer(4*time.Second, "z", "c")
	answer(5*time.Second, "a", "a")
	for _, tc := range []struct {
		name     string
		from     string
		after    time.Duration
		target   string
		permille int
	}{
		{"most", "a", 10 * time.Second, "b", 750},
		{"other_target", "z", 10 * time.Second, "c", 1000},
		{"nobody", "q", 10 * time.Second, "", 0},
		{"a_minute_later", "a", 90 * time.Second, "", 0},
	} {
		if target, permille := tr.instead(tc.from, start.Add(tc.after)); target != tc.target || permille != tc.permille {
			t.Errorf("%s: got %q, %d, want %q, %d", tc.name, target, permille, tc.target, tc.permille)
		}
	}
	answer(100*time.Second, "a", "c")
	if target, permille := tr.instead("a", start.Add(100*time.Second)); target != "c" || permille != 1000 {
		t.Errorf("the old minute still counts: %q, %d", target, permille)
	}
	if tr.total() != 7 || !tr.last().Equal(start.Add(100*time.Second)) {
		t.Errorf("%d decisions, the last at %v", tr.total(), tr.last())
	}
}

func TestTraffic_Concurrent(t *testing.T) {
	t.Parallel()
	tr := newTraffic()
	now := time.Unix(1_800_000_000, 0)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 500 {
				tr.count(&core.Decision{At: now, Target: "b", Plan: &core.Plan{Preferred: "a"}})
				tr.instead("a", now)
			}
		})
	}
	wg.Wait()
	if target, permille := tr.instead("a", now); target != "b" || permille != 1000 || tr.total() != 2000 {
		t.Errorf("got %q, %d of %d", target, permille, tr.total())
	}
}
