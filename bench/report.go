package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"text/tabwriter"
)

// spread is the median of some figures with their range.
type spread struct{ median, low, high float64 }

func spreadOf(figures []float64) spread {
	if len(figures) == 0 {
		return spread{}
	}
	s := slices.Sorted(slices.Values(figures))
	mid := s[len(s)/2]
	if len(s)%2 == 0 {
		mid = (s[len(s)/2-1] + mid) / 2
	}
	return spread{mid, s[0], s[len(s)-1]}
}

func (s spread) text(format string) string {
	return fmt.Sprintf(format+" ("+format+"–"+format+")", s.median, s.low, s.high)
}

// of are one subject's figures, by round.
func (r result) of(subject string, figure func(sample) float64) []float64 {
	var list []float64
	samples := slices.Clone(r.samples)
	slices.SortStableFunc(samples, func(a, b sample) int { return cmp.Compare(a.Round, b.Round) })
	for _, s := range samples {
		if s.Subject == subject {
			list = append(list, figure(s))
		}
	}
	return list
}

func cpu(s sample) float64    { return s.CPU }
func p50(s sample) float64    { return s.P50 }
func p99(s sample) float64    { return s.P99 }
func rate(s sample) float64   { return s.PerSecond }
func memory(s sample) float64 { return float64(s.RSS) / (1 << 20) }

// paired combines the figures of two subjects round by round, so that what
// troubled both in one round troubles neither's ratio.
func (r result) paired(a, b string, figure func(sample) float64, combine func(a, b float64) float64) spread {
	x, y := r.of(a, figure), r.of(b, figure)
	var list []float64
	for i := range min(len(x), len(y)) {
		list = append(list, combine(x[i], y[i]))
	}
	return spreadOf(list)
}

// ratio is the gateway's processor time in proxies.
func (r result) ratio() spread {
	return r.paired("spillway", "proxy", cpu, func(a, b float64) float64 { return a / max(b, 0.001) })
}

// overLimit names the phases whose ratio is over its limit, or whose answers
// were broken or refused more often than the vendor refuses.
func overLimit(results []result) []string {
	var over []string
	for _, r := range results {
		if m := r.ratio().median; m > r.phase.limit {
			over = append(over, fmt.Sprintf("%s: %.2f × the proxy, at most %.1f", r.phase.name, m, r.phase.limit))
		}
		for _, s := range r.samples {
			if s.Broken > 0 {
				over = append(over, fmt.Sprintf("%s: %d broken answers of %s", r.phase.name, s.Broken, s.Subject))
			}
			if most := 2 * r.phase.mock.ErrorShare * float64(s.OK+s.Refused); float64(s.Refused) > most {
				over = append(over, fmt.Sprintf("%s: %d answers of %s refused that the vendor would have given", r.phase.name, s.Refused, s.Subject))
			}
		}
	}
	return over
}

// report prints the tables.
func report(w io.Writer, o options, results []result) {
	proxy := "httputil.ReverseProxy"
	if o.pooled {
		proxy += " with pooled buffers"
	}
	fmt.Fprintf(w, "\nSpillway with policies, circuits and audit on, against a bare %s.\n%s, %d processors, %d rounds of %v; median (lowest–highest).\n\n",
		proxy, runtime.Version(), runtime.NumCPU(), o.rounds, o.window)
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "CPU µs\tproxy\tSpillway\t×\tat most\t")
	for _, r := range results {
		verdict := "ok"
		if r.ratio().median > r.phase.limit {
			verdict = "OVER"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.1f\t%s\n", r.phase.name, spreadOf(r.of("proxy", cpu)).text("%.1f"),
			spreadOf(r.of("spillway", cpu)).text("%.1f"), r.ratio().text("%.2f"), r.phase.limit, verdict)
	}
	fmt.Fprintln(t, "\t\t\t\t\t\nothers\tproxy\tSpillway\t\t\t")
	for _, r := range results {
		others(t, r)
	}
	_ = t.Flush() // to a terminal or a test's buffer
	notes(w, results)
}

// others prints what is measured beside processor time.
func others(w io.Writer, r result) {
	row := func(what, format string, a, b spread) {
		fmt.Fprintf(w, "%s: %s\t%s\t%s\t\t\t\n", r.phase.name, what, a.text(format), b.text(format))
	}
	minus := func(a, b float64) float64 { return a - b }
	switch {
	case r.phase.kinds[0].stream:
		row("resident MB", "%.0f", spreadOf(r.of("proxy", memory)), spreadOf(r.of("spillway", memory)))
	case r.phase.rate > 0:
		row("added p50 µs", "%.0f", r.paired("proxy", "mock", p50, minus), r.paired("spillway", "mock", p50, minus))
		row("added p99 µs", "%.0f", r.paired("proxy", "mock", p99, minus), r.paired("spillway", "mock", p99, minus))
	default:
		row("requests/s", "%.0f", spreadOf(r.of("proxy", rate)), spreadOf(r.of("spillway", rate)))
		row("resident MB", "%.0f", spreadOf(r.of("proxy", memory)), spreadOf(r.of("spillway", memory)))
	}
}

// notes says how far the figures can be trusted.
func notes(w io.Writer, results []result) {
	whole, refused, broken, disturbed, samples := 0, 0, 0, 0, 0
	for _, r := range results {
		for _, s := range r.samples {
			whole, refused, broken, samples = whole+s.OK, refused+s.Refused, broken+s.Broken, samples+1
			if s.Foreign > maxForeign {
				disturbed++
			}
		}
	}
	fmt.Fprintf(w, "\n%d whole answers, %d refused by the vendor on purpose and passed on, %d broken.\n", whole, refused, broken)
	if disturbed > 0 {
		fmt.Fprintf(w, "%d of %d measurements were disturbed: something else used more than %.0f %% of what the machine worked.\n",
			disturbed, samples, maxForeign*100)
	}
}

func writeJSON(file string, results []result) error {
	var all []sample
	for _, r := range results {
		all = append(all, r.samples...)
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("write samples: %w", err)
	}
	if err := os.WriteFile(file, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write samples: %w", err)
	}
	return nil
}
