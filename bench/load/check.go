package load

import (
	"bytes"
	"fmt"
	"strconv"
)

// Exactly accepts one body and no other: what a gateway that passes answers on untouched must deliver.
func Exactly(want []byte) func([]byte) error {
	return func(body []byte) error {
		if !bytes.Equal(body, want) {
			return fmt.Errorf("%d bytes that are not the vendor's %d: %w", len(body), len(want), ErrAnswer)
		}
		return nil
	}
}

// Containing accepts bodies that hold the mark once: an answer that may have been translated.
func Containing(mark string) func([]byte) error {
	return func(body []byte) error {
		if n := bytes.Count(body, []byte(mark)); n != 1 {
			return fmt.Errorf("the end's mark %d times in %d bytes: %w", n, len(body), ErrAnswer)
		}
		return nil
	}
}

// Stream accepts streams with the chunks 0 to n-1 in order, each once and begun
// by the mark, and a proper end of either wire format.
func Stream(mark string, n int) func([]byte) error {
	return func(body []byte) error {
		rest := body
		for i := range n {
			_, after, found := bytes.Cut(rest, []byte(mark))
			number, _, _ := bytes.Cut(after, []byte(" "))
			if got, err := strconv.Atoi(string(number)); !found || err != nil || got != i {
				return fmt.Errorf("chunk %d of %d missing or out of order: %w", i, n, ErrAnswer)
			}
			rest = after
		}
		if bytes.Contains(rest, []byte(mark)) {
			return fmt.Errorf("more than %d chunks: %w", n, ErrAnswer)
		}
		if !bytes.Contains(rest, []byte(`"message_stop"`)) && !bytes.Contains(rest, []byte("data: [DONE]")) {
			return fmt.Errorf("no end behind the last of %d chunks: %w", n, ErrAnswer)
		}
		return nil
	}
}
