package process

import (
	"testing"
	"time"
)

func TestParseCPU(t *testing.T) {
	t.Parallel()
	for stat, want := range map[string]time.Duration{
		"1 (go) S 2 3 4 5 6 7 8 9 10 11 150 50 0 0 20 0":     2 * time.Second,
		"1 (odd) name) S 2 3 4 5 6 7 8 9 10 11 1 0 0 0 20 0": 10 * time.Millisecond,
		"1 (short) S 2 3": -1,
		"1 (not numbers) S 2 3 4 5 6 7 8 9 10 11 x y 0 0 20 0 00": -1,
	} {
		got, err := parseCPU(stat)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %v, %v, want %v", stat, got, err, want)
		}
	}
}

func TestParseRSS(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]int64{
		"Name:\tgo\nVmRSS:\t    2048 kB\nThreads:\t3\n": 2 << 20,
		"Name:\tgo\n":       -1,
		"VmRSS:\tmuch kB\n": -1,
	} {
		got, err := parseRSS(status)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %d, %v, want %d", status, got, err, want)
		}
	}
}

func TestParseBusy(t *testing.T) {
	t.Parallel()
	for stat, want := range map[string]time.Duration{
		"cpu  100 10 50 9999 9999 20 15 5 0 0\ncpu0 1": 2 * time.Second,
		"cpu 1 2":                        -1,
		"disk 1 2 3 4 5 6 7 8":           -1,
		"cpu  1 x 1 1 1 1 1 1 0 0\ncpu0": -1,
	} {
		got, err := parseBusy(stat)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %v, %v, want %v", stat, got, err, want)
		}
	}
}
