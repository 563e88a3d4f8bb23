package simulate

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spillway-llm/spillway/core"
)

func TestSpread_HasItsPercentiles(t *testing.T) {
	t.Parallel()
	for _, d := range []Spread{{P50: 100, P95: 400}, {P50: 800, P95: 800}, {P50: 0.5, P95: 60_000}} {
		for u, want := range map[float64]float64{0.5: d.P50, 0.95: d.P95} {
			got := float64(d.at(u)) / float64(time.Millisecond)
			if math.Abs(got-want) > 1e-6*max(want, 1) {
				t.Errorf("%+v at %v: %v ms, want %v", d, u, got, want)
			}
		}
	}
}

func TestSpread_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p50 := rapid.Float64Range(0.001, 1e6).Draw(t, "p50")
		d := Spread{P50: p50, P95: p50 * rapid.Float64Range(1, 100).Draw(t, "times")}
		u, v := rapid.Float64Range(0, 0.9999999).Draw(t, "u"), rapid.Float64Range(0, 0.9999999).Draw(t, "v")
		a, b := d.at(min(u, v)), d.at(max(u, v))
		if a < 0 || a > b || b > time.Hour {
			t.Fatalf("%+v: %v at %v, %v at %v", d, a, min(u, v), b, max(u, v))
		}
	})
}

func TestExponential(t *testing.T) {
	t.Parallel()
	r, sum := core.Random{Seed: 1}, 0.0
	for i := range 100_000 {
		x := exponential(r.Float64(uint64(i), purposeArrival, 0))
		if x < 0 || math.IsInf(x, 0) {
			t.Fatalf("draw %d is %v", i, x)
		}
		sum += x
	}
	if mean := sum / 100_000; mean < 0.99 || mean > 1.01 {
		t.Errorf("mean %v, want 1", mean)
	}
	if exponential(0) != 0 {
		t.Errorf("the least gap is %v", exponential(0))
	}
}

func TestTraffic_After(t *testing.T) {
	t.Parallel()
	tr := Traffic{Rate: []Rate{{FromS: 10, PerS: 2}, {FromS: 20, PerS: 0}, {FromS: 30, PerS: 1}}}
	for _, c := range []struct {
		now, gap, want float64
		ok             bool
	}{
		{0, 0, 10, true},   // not before traffic begins
		{0, 10, 15, true},  // 10 requests at 2 a second
		{12, 10, 17, true}, // from now on
		{0, 25, 35, true},  // over the pause
		{25, 5, 35, true},  // out of the pause
		{0, 30, 0, false},  // exactly at the end is beyond it
		{39, 2, 0, false},
	} {
		got, ok := tr.after(duration(c.now), c.gap, 40)
		if ok != c.ok || ok && math.Abs(got.Seconds()-c.want) > 1e-6 {
			t.Errorf("%v after %v s: %v %v, want %v %v", c.gap, c.now, got.Seconds(), ok, c.want, c.ok)
		}
	}
	if got, _ := tr.after(15*time.Second, 0, 40); got != 15*time.Second+1 {
		t.Errorf("time stands still at %v", got)
	}
}

func TestTraffic_Kind(t *testing.T) {
	t.Parallel()
	tr := Traffic{Mix: []RequestKind{{Share: 1, InputTokens: 1}, {Share: 3, InputTokens: 2}, {InputTokens: 3}}}
	for u, want := range map[float64]int{0: 1, 0.19: 1, 0.21: 2, 0.79: 2, 0.81: 3, 0.999: 3} {
		if got := tr.kind(u).InputTokens; got != want {
			t.Errorf("at %v kind %d, want %d", u, got, want)
		}
	}
}

func TestRequestKind_Facts(t *testing.T) {
	t.Parallel()
	got := (&RequestKind{InputTokens: 1234, MaxTokens: 1001, Stream: true}).facts(&Traffic{UseCase: "batch"})
	want := core.Facts{
		UseCase: "batch", Task: core.TaskSimple, Priority: 5, Audience: core.AudiencePaid, Quality: core.QualityBalanced,
		LatencyBudgetMS: 5000, InputTokens: 1300, MaxTokens: 1100, Stream: true, TenantClass: "paid", Language: "en",
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	full := RequestKind{Task: core.TaskCode, Quality: core.QualityCost, Priority: 9, LatencyBudgetMS: 100}
	if f := full.facts(&Traffic{Audience: core.AudienceAdmin}); f.Task != core.TaskCode || f.Quality != core.QualityCost || f.Priority != 9 ||
		f.LatencyBudgetMS != 100 || f.Audience != core.AudienceAdmin {
		t.Errorf("what is said is lost: %+v", f)
	}
}

// The first numbers of mulberry32 with seed 1, as its JavaScript prints them.
func TestMulberry(t *testing.T) {
	t.Parallel()
	m := mulberry{1}
	for i, want := range []float64{0.6270739405881613, 0.002735721180215478, 0.5274470399599522} {
		if got := m.float64(); got != want {
			t.Errorf("number %d is %v, want %v", i+1, got, want)
		}
	}
}

func TestPhase_Failure(t *testing.T) {
	t.Parallel()
	p := Phase{Failures: map[core.Kind]float64{core.KindOverloaded: 0.25, core.KindConnect: 0.5}}
	for u, want := range map[float64]core.Kind{
		0: core.KindConnect, 0.49: core.KindConnect, 0.5: core.KindOverloaded, 0.74: core.KindOverloaded, 0.75: core.KindNone, 0.99: core.KindNone,
	} {
		if got := p.failure(u); got != want {
			t.Errorf("at %v: %v, want %v", u, got, want)
		}
	}
	p.RetryAfterS = 2
	if p.hint(core.KindOverloaded) != 2*time.Second || p.hint(core.KindConnect) != 0 {
		t.Errorf("hints %v and %v", p.hint(core.KindOverloaded), p.hint(core.KindConnect))
	}
}

func TestCeiling(t *testing.T) {
	t.Parallel()
	var got []float64
	for _, x := range []float64{0.3, 1, 1.1, 3, 5, 10, 134, 420} {
		got = append(got, ceiling(x))
	}
	if want := []float64{0.4, 1, 2, 4, 10, 10, 200, 1000}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
