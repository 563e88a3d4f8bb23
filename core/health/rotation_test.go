package health_test

import (
	"slices"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/health"
	"pgregory.net/rapid"
)

// picks counts the choices of a thousand evenly spread draws.
func picks(r *health.Rotation, now time.Duration, nodes int) []int {
	counts := make([]int, nodes)
	for i := range 1000 {
		counts[r.Pick(now, float64(i)/1000)]++
	}
	return counts
}

func TestRotation_Weights(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ weights, want []int }{
		"five_three_two":    {[]int{5, 3, 2}, []int{500, 300, 200}},
		"single":            {[]int{7}, []int{1000}},
		"missing_means_one": {[]int{0, -3, 2}, []int{250, 250, 500}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := picks(health.NewRotation(tc.weights), 0, len(tc.weights))
			for i, want := range tc.want {
				if got[i] != want {
					t.Errorf("node %d: got %d of 1000, want %d", i, got[i], want)
				}
			}
		})
	}
}

func TestRotation_DrawsOutOfRange(t *testing.T) {
	t.Parallel()
	r := health.NewRotation([]int{5, 3, 2})
	for u, want := range map[float64]int{-1: 0, 0: 0, 1: 2, 99: 2} {
		if got := r.Pick(0, u); got != want {
			t.Errorf("draw %v: got node %d, want %d", u, got, want)
		}
	}
	if got := health.NewRotation(nil).Pick(0, 0.5); got != -1 {
		t.Errorf("without nodes: got %d, want -1", got)
	}
}

func TestRotation_FailedNodeRests(t *testing.T) {
	t.Parallel()
	r := health.NewRotation([]int{5, 3, 2})
	r.Failed(0, 0)
	if got := picks(r, 0, 3); got[0] != 0 || got[1] != 600 || got[2] != 400 {
		t.Errorf("got %v, want the others in their proportion", got)
	}
	if usable, total := r.Usable(0); usable != 2 || total != 3 {
		t.Errorf("got %d of %d usable, want 2 of 3", usable, total)
	}
	if got := r.NextChange(0); got != 5*time.Second {
		t.Errorf("got next change %v, want 5 s", got)
	}
	if got := picks(r, 5*time.Second, 3); got[0] != 1 || got[1]+got[2] != 999 {
		t.Errorf("after its rest: got %v, want one request on trial", got)
	}
	r.Worked(5*time.Second, 0)
	if got := picks(r, 5*time.Second, 3); got[0] != 500 {
		t.Errorf("after its trial: got %v, want its whole share", got)
	}
	if got := r.NextChange(5 * time.Second); got != 0 {
		t.Errorf("got next change %v, want none", got)
	}
}

func TestRotation_RestDoubles(t *testing.T) {
	t.Parallel()
	r := health.NewRotation([]int{1, 1})
	var now time.Duration
	for _, want := range []time.Duration{5, 10, 20, 40, 60, 60} {
		for range 20 { // calls that ran side by side
			r.Failed(now, 0)
		}
		next := r.NextChange(now)
		if next-now != want*time.Second {
			t.Errorf("got a rest of %v, want %v s", next-now, int(want))
		}
		now = next
	}
	r.Worked(now, 0)
	r.Failed(now, 0)
	if got := r.NextChange(now) - now; got != 5*time.Second {
		t.Errorf("after it worked: got a rest of %v, want 5 s", got)
	}
}

func TestRotation_WorkedDuringTheRest(t *testing.T) {
	t.Parallel()
	r := health.NewRotation([]int{1, 1})
	r.Failed(0, 0)
	r.Worked(time.Second, 0)
	if usable, _ := r.Usable(time.Second); usable != 1 {
		t.Error("the end of an earlier call brought the node back")
	}
	r.Failed(time.Second, 1)
	r.Worked(2*time.Second, 1)
	if usable, _ := r.Usable(2 * time.Second); usable != 1 || r.Pick(2*time.Second, 0) != 1 {
		t.Error("with no node usable, one that works must be back at once")
	}
}

func TestRotation_PanicMode(t *testing.T) {
	t.Parallel()
	r := health.NewRotation([]int{5, 3, 2})
	for i := range 3 {
		r.Failed(time.Duration(i)*time.Second, i)
	}
	now := 3 * time.Second
	if usable, total := r.Usable(now); usable != 0 || total != 3 {
		t.Fatalf("got %d of %d usable, want none of 3", usable, total)
	}
	if got := picks(r, now, 3); got[0] != 500 || got[1] != 300 || got[2] != 200 {
		t.Errorf("got %v, want all nodes by weight", got)
	}
	if got := r.NextChange(now); got != 5*time.Second {
		t.Errorf("got next change %v, want the earliest: 5 s", got)
	}
	if got := r.Pick(5*time.Second, 0.9); got != 0 {
		t.Errorf("got node %d, want the first whose rest is over", got)
	}
	if got := picks(r, 5*time.Second, 3); got[0] != 500 || got[2] != 200 {
		t.Errorf("got %v, want all nodes again while its trial runs", got)
	}
	r.Worked(5500*time.Millisecond, 0)
	if got := picks(r, 5500*time.Millisecond, 3); got[0] != 1000 {
		t.Errorf("got %v, want the one that is up", got)
	}
}

func TestRotation_ForeignIndex(t *testing.T) {
	t.Parallel()
	r := health.NewRotation([]int{1})
	for _, i := range []int{-1, 1, 99} {
		r.Failed(0, i)
		r.Worked(0, i)
		r.Served(0, i)
		r.Ended(0, i, health.Call{})
		if got := r.View(0, i); got != (health.NodeView{}) {
			t.Errorf("node %d: got %+v, want none", i, got)
		}
	}
	if usable, total := r.Usable(0); usable != 1 || total != 1 {
		t.Errorf("got %d of %d, want 1 of 1", usable, total)
	}
}

func somebodyUp(r *health.Rotation, now time.Duration, nodes int) bool {
	for i := range nodes {
		if r.View(now, i).State == health.NodeUp {
			return true
		}
	}
	return false
}

func TestRotation_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(-1, 10), 1, 6).Draw(t, "weights")
		r := health.NewRotation(weights)
		var now time.Duration
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(-1000, 9000).Draw(t, "ms")) * time.Millisecond
			i := r.Pick(now, rapid.Float64Range(0, 0.999).Draw(t, "draw"))
			if i < 0 || i >= len(weights) {
				t.Fatalf("picked node %d of %d", i, len(weights))
			}
			if rapid.Bool().Draw(t, "failed") {
				r.Failed(now, i)
				if somebodyUp(r, now, len(weights)) && r.Pick(now, 0) == i {
					t.Fatal("picked the node that just failed")
				}
			} else {
				r.Worked(now, i)
				if usable, _ := r.Usable(now); usable == 0 {
					t.Fatal("a node works and none is usable")
				}
			}
			if next := r.NextChange(now); next != 0 && (next <= now || next > now+2*time.Minute) {
				t.Fatalf("next change at %v, now %v", next, now)
			}
		}
	})
}

// A retry goes elsewhere than where it failed, as long as there is elsewhere.
func TestRotation_PickOther(t *testing.T) {
	t.Parallel()
	const now = 100 * time.Second
	for name, tc := range map[string]struct {
		weights []int
		failed  []int // nodes that rest
		not     int
		want    []int // of 1000
		other   bool
	}{
		"by_weight_among_the_others":   {[]int{5, 3, 2}, nil, 0, []int{0, 600, 400}, true},
		"without_one_to_avoid":         {[]int{5, 3, 2}, nil, -1, []int{500, 300, 200}, true},
		"an_index_that_is_none":        {[]int{5, 5}, nil, 7, []int{500, 500}, true},
		"the_failed_one_rests_anyway":  {[]int{5, 3, 2}, []int{0}, 0, []int{0, 600, 400}, true},
		"panic_among_the_others":       {[]int{5, 3, 2}, []int{0, 1, 2}, 0, []int{0, 600, 400}, false},
		"up_is_better_than_to_rest":    {[]int{5, 3, 2}, []int{1, 2}, 0, []int{1000, 0, 0}, false},
		"one_node_alone":               {[]int{5}, []int{0}, 0, []int{1000}, false},
		"one_node_alone_that_is_up":    {[]int{5}, nil, 0, []int{1000}, false},
		"no_nodes":                     {nil, nil, 0, nil, false},
		"only_other_one_has_its_rests": {[]int{1, 1}, []int{1}, 1, []int{1000, 0}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := health.NewRotation(tc.weights)
			for _, i := range tc.failed {
				r.Failed(now, i)
			}
			if got := r.OtherFree(now, tc.not); got != tc.other {
				t.Errorf("another node is free: %v, want %v", got, tc.other)
			}
			if got := r.OtherUp(now, tc.not); got != tc.other {
				t.Errorf("another node is up: %v, want %v", got, tc.other)
			}
			got := make([]int, len(tc.weights))
			for k := range 1000 {
				if i := r.PickOther(now, (float64(k)+0.5)/1000, tc.not); i >= 0 {
					got[i]++
				}
			}
			if !slices.Equal(got, tc.want) && len(tc.want) > 0 {
				t.Errorf("picked %v, want %v", got, tc.want)
			}
			if len(tc.failed) > 1 && !tc.other {
				if at := r.NextChange(now); !r.OtherFree(at, tc.not) || r.OtherUp(at, tc.not) {
					t.Error("a node on trial is free for a request, and not up")
				}
			}
		})
	}
}

func TestRotation_EndedSaysWhatChanged(t *testing.T) {
	t.Parallel()
	r := health.NewRotation([]int{1, 1})
	answered := func(begun time.Duration) health.Call { return health.Call{Begun: begun, Answered: true} }
	for i, step := range []struct {
		at, begun time.Duration
		ok, want  bool
	}{
		{1 * time.Second, 0, true, false},
		{2 * time.Second, time.Second, false, true},
		{3 * time.Second, time.Second, false, false}, // side by side
		{4 * time.Second, time.Second, true, false},  // began before the failure
		{8 * time.Second, 7 * time.Second, true, true},
		{9 * time.Second, 8 * time.Second, true, false},
	} {
		c := health.Call{Begun: step.begun}
		if step.ok {
			c = answered(step.begun)
		}
		if got := r.Ended(step.at, 0, c); got != step.want {
			t.Errorf("step %d: changed %v, want %v", i, got, step.want)
		}
	}
	if r.Ended(0, 5, health.Call{}) {
		t.Error("a node that is none changed")
	}
}
