package console

import (
	"cmp"
	"slices"
)

// nearMost is how many names are offered for one that does not exist.
const nearMost = 3

// nearest returns the names that are most like one that does not exist.
func nearest(name string, names []string) []string {
	type candidate struct {
		name  string
		edits int
	}
	list := make([]candidate, len(names))
	for i, n := range names {
		list[i] = candidate{n, edits(name, n)}
	}
	slices.SortFunc(list, func(a, b candidate) int { return cmp.Or(a.edits-b.edits, cmp.Compare(a.name, b.name)) })
	var out []string
	for _, c := range list[:min(nearMost, len(list))] {
		out = append(out, c.name)
	}
	return out
}

// longestName bounds the work for a name that somebody made up.
const longestName = 100

// edits counts the letters to insert, drop or change to make b of a.
func edits(a, b string) int {
	x, y := []rune(a), []rune(b)
	x, y = x[:min(len(x), longestName)], y[:min(len(y), longestName)]
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			change := diagonal
			if x[i] != y[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}
