package sse_test

import (
	"fmt"

	"github.com/spillway-llm/spillway/core/sse"
)

func ExampleScanner() {
	s := sse.NewScanner(0)
	for _, chunk := range []string{"event: greeting\ndata: Hel", "lo\n\n: keep alive\n\nda", "ta: [DONE]\n\n"} {
		s.Feed([]byte(chunk))
		for ev, ok := s.Next(); ok; ev, ok = s.Next() {
			fmt.Printf("%q %q\n", ev.Name, ev.Data)
		}
	}
	fmt.Println(s.Err())
	// Output:
	// "greeting" "Hello"
	// "" "[DONE]"
	// <nil>
}
