package price_test

import (
	"fmt"

	"github.com/spillway-llm/spillway/core/price"
)

// Cached tokens have prices of their own and are not paid twice.
func ExampleTable_Cost() {
	t := price.Table{
		Input: price.PerMillion(3), Output: price.PerMillion(15), CacheRead: price.PerMillion(0.30),
		CacheWrite: price.PerMillion(3.75), AsOf: "2026-11-29",
	}
	cost, known := t.Cost(price.Usage{Input: 10, CacheRead: 8000, CacheWrite: 2000, Output: 100, Known: true})
	fmt.Println(price.USD(cost), known)

	_, known = t.Cost(price.Usage{})
	fmt.Println("without usage:", known)
	// Output:
	// 0.01143 true
	// without usage: false
}
