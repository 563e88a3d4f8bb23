package simulate

// mulberry is the 32-bit generator that R5.4 names. Its zero value is seed 0.
type mulberry struct{ state uint32 }

// float64 returns the next number in [0, 1), a multiple of 2⁻³².
func (m *mulberry) float64() float64 {
	m.state += 0x6d2b79f5
	t := (m.state ^ m.state>>15) * (m.state | 1)
	t ^= t + (t^t>>7)*(t|61)
	return float64(t^t>>14) / (1 << 32)
}
