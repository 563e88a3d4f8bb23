package config

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one finding in a configuration file.
type Problem struct {
	File         string
	Line, Column int // from 1
	// Path is the field, for example "providers[0].nodes[1].url"; "" for the file.
	Path string
	// Text is what is wrong. It never holds a value from the environment.
	Text string
	// Hint is what to do about it.
	Hint string
}

// String is the finding in one line: file:line:column: path: text; hint.
func (p Problem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Text)
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	return b.String()
}

// Problems are the findings in a file, as an error.
type Problems []Problem

// Error lists the findings, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, x := range p {
		lines[i] = x.String()
	}
	return strings.Join(lines, "\n")
}

// sort puts the findings in the order of the file, so that the first line of
// the report is the first to mend.
func (p Problems) sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
}

// suggest names the nearest known word, or lists them all when none is near.
func suggest(got string, known []string, list string) string {
	best, least := "", 1+max(1, len(got)/3)
	for _, k := range known {
		if d := distance(got, k); d < least {
			best, least = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return list + strings.Join(known, ", ")
}

// distance counts the single-letter edits between two words, a swap of
// neighbours being one.
func distance(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+differs(a[i-1], b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

func differs(a, b byte) int {
	if a == b {
		return 0
	}
	return 1
}
