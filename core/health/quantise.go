package health

import "math"

// Quantise2 rounds n to the nearest number of two significant digits, a half
// away from zero, so that a snapshot changes only when a figure really moved.
func Quantise2(n int) int {
	if n < 0 {
		return -Quantise2(-max(n, -math.MaxInt))
	}
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	q := n / unit
	if n%unit*2 >= unit && (q+1)*unit > 0 { // not past the largest int
		q++
	}
	return q * unit
}
