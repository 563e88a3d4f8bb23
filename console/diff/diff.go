// Package diff compares two texts line by line.
package diff

import "strings"

// Op is what happened to a line.
type Op byte

// The operations.
const (
	Equal  Op = ' '
	Insert Op = '+'
	Delete Op = '-'
)

// Line is one line of a comparison. Old and New are its numbers in the two
// texts, from 1, and 0 where it does not exist.
type Line struct {
	Op       Op
	Old, New int
	Text     string
}

// Hunk is a run of changed lines with the equal lines around them.
type Hunk struct{ Lines []Line }

// maxEdits bounds the work: texts that differ more are shown as replaced whole,
// so that no draft can make the server compare for long.
const maxEdits = 2000

// Lines compares two texts.
func Lines(before, after string) []Line {
	a, b := split(before), split(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	out := make([]Line, 0, len(b)+8)
	for i := range head {
		out = append(out, Line{Equal, i + 1, i + 1, a[i]})
	}
	out = append(out, middle(a[head:len(a)-tail], b[head:len(b)-tail], head)...)
	for i := range tail {
		ai, bi := len(a)-tail+i, len(b)-tail+i
		out = append(out, Line{Equal, ai + 1, bi + 1, a[ai]})
	}
	return out
}

// Hunks groups the changes of two texts with so many equal lines around them.
// Equal texts have none.
func Hunks(before, after string, context int) []Hunk {
	lines := Lines(before, after)
	var hunks []Hunk
	end := -1
	for i, l := range lines {
		if l.Op == Equal {
			continue
		}
		from, to := max(0, i-context), min(len(lines), i+context+1)
		if len(hunks) > 0 && from <= end {
			last := &hunks[len(hunks)-1]
			last.Lines = append(last.Lines, lines[end:max(end, to)]...)
		} else {
			hunks = append(hunks, Hunk{append([]Line(nil), lines[from:to]...)})
		}
		end = max(end, to)
	}
	return hunks
}

// Stat counts inserted and deleted lines.
func Stat(before, after string) (inserted, deleted int) {
	for _, l := range Lines(before, after) {
		switch l.Op {
		case Insert:
			inserted++
		case Delete:
			deleted++
		}
	}
	return inserted, deleted
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// middle is Myers' greedy shortest edit script (1986) between two runs without
// a common head or tail.
func middle(a, b []string, offset int) []Line {
	trace, ok := forward(a, b)
	if !ok {
		return replaced(a, b, offset)
	}
	var rev []Line
	x, y := len(a), len(b)
	back := func(px, py int) {
		for x > px && y > py {
			x, y = x-1, y-1
			rev = append(rev, Line{Equal, offset + x + 1, offset + y + 1, a[x]})
		}
	}
	for d := len(trace) - 1; d > 0; d-- {
		v, k := trace[d], x-y
		prev := k - 1
		if k == -d || (k != d && v[d+k-1] < v[d+k+1]) {
			prev = k + 1
		}
		px := v[d+prev]
		back(px, px-prev)
		if prev == k+1 {
			y--
			rev = append(rev, Line{Insert, 0, offset + y + 1, b[y]})
		} else {
			x--
			rev = append(rev, Line{Delete, offset + x + 1, 0, a[x]})
		}
	}
	back(0, 0)
	out := make([]Line, len(rev))
	for i, l := range rev {
		out[len(rev)-1-i] = l
	}
	return out
}

// forward returns the furthest x per diagonal before each edit count. Entry d
// covers the diagonals -d-1…d+1 around its middle.
func forward(a, b []string) (trace [][]int, ok bool) {
	n, m := len(a), len(b)
	most := min(n+m, maxEdits)
	v := make([]int, 2*most+3)
	mid := most + 1
	for d := 0; d <= most; d++ {
		trace = append(trace, window(v, mid, d))
		for k := -d; k <= d; k += 2 {
			x := v[mid+k-1] + 1
			if k == -d || (k != d && v[mid+k-1] < v[mid+k+1]) {
				x = v[mid+k+1]
			}
			for x < n && x-k < m && a[x] == b[x-k] {
				x++
			}
			v[mid+k] = x
			if x >= n && x-k >= m {
				return trace, true
			}
		}
	}
	return nil, false
}

// window copies v around mid so that index d+k is diagonal k; indexes -1 and
// 2d+1 are not needed, because the walk back never leaves [-d, d].
func window(v []int, mid, d int) []int {
	return append([]int(nil), v[mid-d:mid+d+1]...)
}

func replaced(a, b []string, offset int) []Line {
	out := make([]Line, 0, len(a)+len(b))
	for i, s := range a {
		out = append(out, Line{Delete, offset + i + 1, 0, s})
	}
	for i, s := range b {
		out = append(out, Line{Insert, 0, offset + i + 1, s})
	}
	return out
}
