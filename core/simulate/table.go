package simulate

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// lineWidth is where running text is wrapped.
const lineWidth = 100

// WriteTable writes the report as aligned text: a row per contender, then how
// each came about, then what the scenario is about.
func (r *Report) WriteTable(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\n", r.Scenario, r.Title)
	fmt.Fprintf(&b, "seed %d, %g s of virtual time, %d requests\n\n", r.Seed, r.DurationS, r.Results[0].Requests)
	r.rows(&b)
	b.WriteByte('\n')
	for i := range r.Results {
		r.details(&b, &r.Results[i])
	}
	for _, paragraph := range strings.Split(r.Text, "\n") {
		wrap(&b, paragraph)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (r *Report) rows(w *bytes.Buffer) {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, cellGap, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, pad("", r)+"\tanswered\trefused\tfailed\tloss %\tcalls\tamplification\tretries\tdenied\tcost $\tp50 ms\tp95 ms\tavailable %\t")
	for i := range r.Results {
		x := &r.Results[i]
		cost := fmt.Sprintf("%.2f", x.CostUSD)
		if !x.CostKnown {
			cost = "unknown"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.2f\t%d\t%.3f\t%d\t%d\t%s\t%.0f\t%.0f\t%.3f\t\n", pad(x.Name, r),
			x.Answered, x.Refused, x.Failed, x.LossPercent, x.Calls, x.Amplification, x.Retries, x.RetriesDenied, cost,
			x.P50MS, x.P95MS, x.AvailabilityPercent)
	}
	flush(t, &b, w)
}

// cellGap is the space before each column, which the first does not need.
const cellGap = 2

// flush writes a table without the gap before its first column.
func flush(t *tabwriter.Writer, b *bytes.Buffer, to *bytes.Buffer) {
	_ = t.Flush() // into memory
	for line := range bytes.Lines(b.Bytes()) {
		to.Write(line[min(cellGap, len(line)):])
	}
}

// pad sets a name flush left, in a table whose columns are flush right.
func pad(name string, r *Report) string {
	width := 0
	for i := range r.Results {
		width = max(width, len(r.Results[i].Name))
	}
	return fmt.Sprintf("%-*s", width, name)
}

func (r *Report) details(b *bytes.Buffer, x *Result) {
	goal := "met"
	if x.AvailabilityPercent < r.AvailabilityGoalPercent {
		goal = "missed"
	}
	fmt.Fprintf(b, "%s: %s\n", x.Name, x.Note)
	fmt.Fprintf(b, "  availability %.3f %%, goal %g %% %s\n", x.AvailabilityPercent, r.AvailabilityGoalPercent, goal)
	for _, d := range x.Departures {
		if d.Left {
			fmt.Fprintf(b, "  %q: traffic had left after %d s; %d later calls (%.2f %%)\n", d.Phase, d.AfterS, d.LaterCalls, d.LaterPercent)
		} else {
			fmt.Fprintf(b, "  %q: traffic never left\n", d.Phase)
		}
	}
	if len(x.Losses) > 0 {
		var kinds, cases []string
		for _, l := range x.Losses {
			kinds = append(kinds, fmt.Sprintf("%s %d", l.Kind, l.Count))
		}
		for _, p := range x.UseCases {
			cases = append(cases, fmt.Sprintf("%s %d of %d", p.UseCase, p.Refused+p.Failed, p.Requests))
		}
		fmt.Fprintf(b, "  lost to %s\n  lost of %s\n", strings.Join(kinds, ", "), strings.Join(cases, ", "))
	}
	if len(x.Circuits) > 0 {
		fmt.Fprintf(b, "  circuits: . closed, o half-open, # open; a letter is %g s\n", r.BucketS)
		useCase, target := 0, 0
		for _, s := range x.Circuits {
			useCase, target = max(useCase, len(s.UseCase)), max(target, len(s.Target))
		}
		for _, s := range x.Circuits {
			fmt.Fprintf(b, "    %-*s  %-*s  %s\n", useCase, s.UseCase, target, s.Target, s.States)
		}
	}
	b.WriteByte('\n')
}

// wrap writes a paragraph in lines of at most lineWidth characters, longer words
// apart. A no-break space keeps a figure and its unit together.
func wrap(b *bytes.Buffer, paragraph string) {
	used := 0
	for _, word := range strings.Split(paragraph, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case used == 0:
		case used+1+n > lineWidth:
			b.WriteByte('\n')
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	b.WriteByte('\n')
}

// WriteTiming writes how long the runs took in real time, and the share of it
// that went into policy. It is 0 without [Options.Stopwatch].
func (r *Report) WriteTiming(w io.Writer) error {
	for _, x := range r.Results {
		t := x.Timing
		_, err := fmt.Fprintf(w, "%s: %d requests in %.2f s, %.0f %% of it in policy: %d plans, %d snapshots\n",
			x.Name, x.Requests, t.Whole.Seconds(), t.PolicyPercent(), t.Plans, t.Snapshots)
		if err != nil {
			return err
		}
	}
	return nil
}

// WriteRetryBudgetTable writes R5.4's rows as aligned text.
func WriteRetryBudgetTable(w io.Writer) error {
	var b, out bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, cellGap, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%-8s\tcalls\tretries\tdenied\tamplification\tloss %%\t\n", "")
	for _, r := range RetryBudgetTable() {
		fmt.Fprintf(t, "%-8s\t%d\t%d\t%d\t%.2f\t%.1f\t\n", r.Name, r.Calls, r.Retries, r.Denied, r.Amplification(), r.LossPercent())
	}
	flush(t, &b, &out)
	_, err := w.Write(out.Bytes())
	return err
}
