package health_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/health"
)

func sonnet() health.Prior { return health.Prior{P95: 1200 * time.Millisecond} }

func ok(total time.Duration) health.Sample { return health.Sample{OK: true, Total: total} }

func stream(first, total time.Duration) health.Sample {
	return health.Sample{OK: true, Stream: true, FirstContent: first, Total: total}
}

func TestWindow_BeforeData(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		prior health.Prior
		want  health.Figures
	}{
		{sonnet(), health.Figures{SuccessPermille: 1000, P95: 1200 * time.Millisecond, FirstContentP95: 1200 * time.Millisecond}},
		{health.Prior{SuccessPermille: 900}, health.Figures{SuccessPermille: 900}},
		{health.Prior{SuccessPermille: 4000}, health.Figures{SuccessPermille: 1000}},
	} {
		if got := health.NewWindow(tc.prior).Figures(time.Hour); got != tc.want {
			t.Errorf("%+v: got %+v, want %+v", tc.prior, got, tc.want)
		}
	}
}

func TestWindow_SuccessIsAMovingAverage(t *testing.T) {
	t.Parallel()
	w := health.NewWindow(sonnet())
	for i, step := range []struct {
		ok   bool
		want int
	}{{true, 1000}, {false, 900}, {false, 810}, {true, 829}, {false, 746}, {true, 771}} {
		w.Record(0, health.Sample{OK: step.ok, Total: time.Second})
		if got := w.Figures(0).SuccessPermille; got != step.want {
			t.Errorf("call %d: got %d permille, want %d", i, got, step.want)
		}
	}
	for range 200 {
		w.Record(0, health.Sample{})
	}
	if got := w.Figures(0).SuccessPermille; got != 0 {
		t.Errorf("after 200 failures: got %d permille, want 0", got)
	}
}

func TestWindow_Percentile(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		samples []int // ms
		want    int
	}{
		"one":                 {[]int{700}, 700},
		"two":                 {[]int{700, 100}, 700},
		"nineteen_and_a_peak": {append(slices.Repeat([]int{100}, 19), 9000), 100},
		"two_peaks_of_twenty": {append(slices.Repeat([]int{100}, 18), 9000, 8000), 8000},
		"a_hundred":           {upTo(100), 95},
		"last_256_of_many":    {upTo(1000), 988},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := health.NewWindow(sonnet())
			for _, ms := range tc.samples {
				w.Record(0, ok(time.Duration(ms)*time.Millisecond))
			}
			got := w.Figures(0)
			if want := time.Duration(tc.want) * time.Millisecond; got.P95 != want || got.Samples != min(256, len(tc.samples)) {
				t.Errorf("got %v of %d samples, want %v", got.P95, got.Samples, want)
			}
		})
	}
}

func upTo(n int) []int {
	var all []int
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

// The percentile is that of a naive computation over the last 256 samples of
// the last five minutes.
func TestWindow_PercentileAgainstOracle(t *testing.T) {
	t.Parallel()
	type sample struct{ at, took time.Duration }
	var all []sample
	rng := rand.New(rand.NewPCG(20260921, 2))
	w := health.NewWindow(sonnet())
	var now time.Duration
	for i := range 3000 {
		now += time.Duration(rng.IntN(4000)) * time.Millisecond
		if i%500 == 499 {
			now += 5*time.Minute - time.Second
		}
		took := time.Duration(rng.IntN(10_000)) * time.Millisecond
		w.Record(now, ok(took))
		all = append(all, sample{now, took})
		var recent []time.Duration
		for j := len(all) - 1; j >= max(0, len(all)-256); j-- {
			if now-all[j].at <= 5*time.Minute {
				recent = append(recent, all[j].took)
			}
		}
		slices.Sort(recent)
		above := len(recent) * 5 / 100
		if got, want := w.Figures(now).P95, recent[len(recent)-1-above]; got != want {
			t.Fatalf("sample %d: got %v, want %v of %d", i, got, want, len(recent))
		}
	}
}

func TestWindow_FirstContentApartFromTotal(t *testing.T) {
	t.Parallel()
	w := health.NewWindow(sonnet())
	w.Record(0, ok(8*time.Second))
	if got := w.Figures(0); got.P95 != 8*time.Second || got.FirstContentP95 != 1200*time.Millisecond {
		t.Errorf("without streams: got %+v, want the prior for first content", got)
	}
	w.Record(0, stream(400*time.Millisecond, 20*time.Second))
	if got := w.Figures(0); got.P95 != 20*time.Second || got.FirstContentP95 != 400*time.Millisecond {
		t.Errorf("got %+v, want 20 s and 400 ms", got)
	}
	w.Record(0, health.Sample{FirstContent: 9 * time.Second, OK: true, Total: time.Second})
	if got := w.Figures(0).FirstContentP95; got != 400*time.Millisecond {
		t.Errorf("an answer that was not streamed moved first content to %v", got)
	}
}

func TestWindow_FailuresAreNotFast(t *testing.T) {
	t.Parallel()
	w := health.NewWindow(sonnet())
	for range 50 {
		w.Record(0, health.Sample{Total: time.Millisecond})
		w.Record(0, health.Sample{Stream: true, Total: time.Millisecond})
	}
	got := w.Figures(0)
	if got.P95 != 1200*time.Millisecond || got.FirstContentP95 != 1200*time.Millisecond || got.Samples != 0 {
		t.Errorf("got %+v, want the priors", got)
	}
	if got.RequestsPerMinute != 100 {
		t.Errorf("got %d requests, want failures counted: 100", got.RequestsPerMinute)
	}
	w.Record(0, health.Sample{Stream: true, FirstContent: 3 * time.Second, Total: 4 * time.Second})
	if got := w.Figures(0); got.FirstContentP95 != 3*time.Second || got.Samples != 0 {
		t.Errorf("cut stream: got %+v, want its first content and not its total", got)
	}
}

func TestWindow_ReadsAge(t *testing.T) {
	t.Parallel()
	w := health.NewWindow(sonnet())
	for i := range 60 {
		w.Record(time.Duration(i)*time.Second, stream(time.Second, 2*time.Second))
	}
	for _, tc := range []struct {
		at               time.Duration
		requests, sample int
	}{
		{59 * time.Second, 60, 60}, {59999 * time.Millisecond, 60, 60}, {60 * time.Second, 59, 60},
		{89 * time.Second, 30, 60}, {118 * time.Second, 1, 60}, {119 * time.Second, 0, 60},
		{5 * time.Minute, 0, 60}, {5*time.Minute + 30*time.Second, 0, 30},
		{5*time.Minute + 59*time.Second, 0, 1}, {6 * time.Minute, 0, 0},
	} {
		got := w.Figures(tc.at)
		if got.RequestsPerMinute != tc.requests || got.Samples != tc.sample {
			t.Errorf("at %v: got %d requests, %d samples, want %d and %d",
				tc.at, got.RequestsPerMinute, got.Samples, tc.requests, tc.sample)
		}
	}
	if got := w.Figures(6 * time.Minute); got.P95 != sonnet().P95 || got.FirstContentP95 != sonnet().P95 {
		t.Errorf("everything too old: got %+v, want the priors", got)
	}
	w.Record(10*time.Minute, ok(time.Second))
	if got := w.Figures(10 * time.Minute); got.RequestsPerMinute != 1 || got.Samples != 1 {
		t.Errorf("after a long pause: got %+v", got)
	}
}

func TestWindow_TimeGoingBackwards(t *testing.T) {
	t.Parallel()
	w := health.NewWindow(sonnet())
	for range 50 {
		w.Record(100*time.Second, ok(time.Second))
	}
	for range 4 {
		w.Record(90*time.Second, ok(3*time.Second))
	}
	got := w.Figures(80 * time.Second)
	if got.RequestsPerMinute != 54 || got.Samples != 54 || got.P95 != 3*time.Second {
		t.Errorf("got %+v, want 54 requests and no history lost", got)
	}
}

func TestWindow_InFlight(t *testing.T) {
	t.Parallel()
	w := health.NewWindow(sonnet())
	w.Begin()
	w.Begin()
	w.End()
	if got := w.Figures(0).InFlight; got != 1 {
		t.Errorf("got %d in flight, want 1", got)
	}
	w.End()
	w.End()
	if got := w.Figures(0).InFlight; got != 0 {
		t.Errorf("got %d in flight, want 0 and never fewer", got)
	}
}

func TestWindow_Concurrently(t *testing.T) {
	t.Parallel()
	w := health.NewWindow(sonnet())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				w.Begin()
				w.Record(time.Second, ok(time.Second))
				w.Figures(time.Second)
				w.End()
			}
		})
	}
	wg.Wait()
	if got := w.Figures(time.Second); got.RequestsPerMinute != 800 || got.InFlight != 0 || got.Samples != 256 {
		t.Errorf("got %+v, want 800 requests and 256 samples", got)
	}
}

// Not parallel, because allocations are counted for the whole process.
func TestWindow_AllocatesNothing(t *testing.T) {
	w := health.NewWindow(sonnet())
	var now time.Duration
	if n := testing.AllocsPerRun(1000, func() {
		now += 50 * time.Millisecond
		w.Begin()
		w.Record(now, stream(time.Second, time.Second))
		w.End()
	}); n != 0 {
		t.Errorf("record: %v allocations, want 0", n)
	}
	if n := testing.AllocsPerRun(100, func() { w.Figures(now) }); n != 0 {
		t.Errorf("figures: %v allocations, want 0", n)
	}
	r := health.NewRotation([]int{5, 3, 2})
	if n := testing.AllocsPerRun(1000, func() {
		r.Failed(now, r.Pick(now, 0.4))
		r.NextChange(now)
		r.Worked(now, 1)
	}); n != 0 {
		t.Errorf("rotation: %v allocations, want 0", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	w := health.NewWindow(sonnet())
	b.ReportAllocs()
	var now time.Duration
	for b.Loop() {
		now += time.Millisecond
		w.Record(now, stream(time.Second, now))
	}
}

func BenchmarkFigures(b *testing.B) {
	w := health.NewWindow(sonnet())
	rng := rand.New(rand.NewPCG(1, 2))
	for range 256 {
		w.Record(0, stream(time.Duration(rng.IntN(1e9)), time.Duration(rng.IntN(1e9))))
	}
	b.ReportAllocs()
	for b.Loop() {
		w.Figures(time.Second)
	}
}
