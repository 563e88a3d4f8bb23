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

// New settings are watched before they may act: the circuit says what it would
// have done, and lets everything through.
func ExampleCircuit_SetHold() {
	c := circuit.New(circuit.DefaultSettings(), nil)
	c.SetHold(circuit.HoldObserve, 0, time.Hour)
	for range 5 {
		p, _, _ := c.Acquire(time.Second)
		if t, ok := p.Done(time.Second, circuit.Failure, "connect"); ok {
			fmt.Printf("would be %v after %d failures, is %v\n", t.To, t.Failures, t.Effective())
		}
	}
	p, _, ok := c.Acquire(2 * time.Second)
	fmt.Println("passes:", ok, "only by the hold:", p.OnlyHeld())
	p.Done(2*time.Second, circuit.Success, "")

	c.SetHold(circuit.HoldNone, 3*time.Second, 0)
	_, wait, ok := c.Acquire(3 * time.Second)
	fmt.Println("passes:", ok, "wait:", wait)
	// Output:
	// would be open after 5 failures, is closed
	// passes: true only by the hold: true
	// passes: false wait: 28s
}

// In an emergency a vendor that works badly is better than none.
func ExampleCircuit_SetHold_emergency() {
	c := circuit.New(circuit.DefaultSettings(), nil)
	c.SetHold(circuit.HoldEmergency, 0, 10*time.Minute)
	failures := 0
	for c.View(time.Second).State == circuit.Closed {
		p, _, _ := c.Acquire(time.Second)
		p.Done(time.Second, circuit.Failure, "overloaded")
		failures++
	}
	fmt.Println("open after", failures)
	// Output:
	// open after 20
}
