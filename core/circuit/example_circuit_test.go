package circuit_test

import (
	"fmt"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
)

// A callee fails five times in a row, is left alone for half a minute, and is
// back after two probes.
func Example() {
	c := circuit.New(circuit.DefaultSettings(), nil)
	call := func(now time.Duration, o circuit.Outcome) {
		p, wait, ok := c.Acquire(now)
		if !ok {
			fmt.Printf("%v refused, try in %v\n", now, wait)
			return
		}
		if t, ok := p.Transition(); ok {
			fmt.Printf("%v %v -> %v (%s)\n", t.At, t.From, t.To, t.Cause)
		}
		if t, ok := p.Done(now, o, "overloaded"); ok {
			fmt.Printf("%v %v -> %v (%s)\n", t.At, t.From, t.To, t.Cause)
		}
	}
	for i := range 5 {
		call(time.Duration(i)*time.Second, circuit.Failure)
	}
	call(10*time.Second, circuit.Success)
	call(34*time.Second, circuit.Success)
	call(35*time.Second, circuit.Success)
	// Output:
	// 4s closed -> open (overloaded)
	// 10s refused, try in 24s
	// 34s open -> half_open (time)
	// 35s half_open -> closed (probes)
}
