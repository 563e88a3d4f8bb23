package walk_test

import (
	"fmt"

	"github.com/spillway-llm/spillway/core/wire/walk"
)

func ExampleWalker() {
	w := walk.New([]byte(`{"model": "gpt-6-sol", "messages": [{}, {}], "stream": true}`))
	w.Enter()
	for name, ok := w.Member(); ok; name, ok = w.Member() {
		if string(name) == "messages" {
			n := 0
			for w.Enter(); w.Element(); n++ {
				w.Skip()
			}
			fmt.Println(n, "messages")
			continue
		}
		fmt.Printf("%s is %s\n", name, w.Value())
	}
	fmt.Println(w.End())
	// Output:
	// model is "gpt-6-sol"
	// 2 messages
	// stream is true
	// true
}
