//go:build !race

package simulate_test

// raced is whether the race detector slows policies down tenfold.
const raced = false
