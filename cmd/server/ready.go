package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Ready is what a server tells once it serves: on the terminal, and to the
// ready file as JSON, so that scripts can use port 0.
type Ready struct {
	// Gateway and Console are base URLs; the console's pages are under /console/.
	Gateway string `json:"gateway"`
	Console string `json:"console"`
	// Key is a caller's key of the admin audience. In the file it appears in
	// simulated mode only: a real one is printed once and kept nowhere.
	Key string `json:"key,omitempty"`
	// Password is the console's one-time password, if it was just made.
	Password  string `json:"password,omitempty"`
	Simulated bool   `json:"simulated"`
	PID       int    `json:"pid"`
}

// write puts the file in place whole, readable for its owner only, so that a
// script that waits for it never reads half of it.
func (r Ready) write(file string) error {
	if !r.Simulated {
		r.Key = ""
	}
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write ready file: %w", err)
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".ready-*") // made with mode 0600
	if err != nil {
		return fmt.Errorf("write ready file: %w", err)
	}
	_, err = temp.Write(append(b, '\n'))
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return fmt.Errorf("write ready file: %w", err)
	}
	return nil
}

// greet says on the terminal where everything is, and what to try.
func (r Ready) greet(w io.Writer) {
	mode := "real vendors"
	if r.Simulated {
		mode = "SIMULATED vendors: nothing leaves this machine, every answer is made up"
	}
	fmt.Fprintf(w, "\n  Spillway serves %s\n\n  gateway   %s\n  console   %s/console/\n", mode, r.Gateway, r.Console)
	if r.Password != "" {
		fmt.Fprintf(w, "            sign in as admin with the one-time password %s\n", r.Password)
	}
	key := r.Key
	switch {
	case key == "":
		key = "$SPILLWAY_KEY"
	case r.Simulated:
		fmt.Fprintf(w, "  key       %s\n", key)
	default:
		fmt.Fprintf(w, "  key       %s   (shown only now; `server keys` makes more)\n", key)
	}
	fmt.Fprintf(w, `
  Anthropic's format:
    curl %[1]s/v1/messages -H "x-api-key: %[2]s" -H "anthropic-version: 2023-06-01" \
      -d '{"model":"claude-opus-5-5","max_tokens":100,"messages":[{"role":"user","content":"Hello"}]}'
  OpenAI's format, streamed:
    curl -N %[1]s/v1/chat/completions -H "Authorization: Bearer %[2]s" \
      -d '{"model":"gpt-6-sol","stream":true,"messages":[{"role":"user","content":"Hello"}]}'
`, r.Gateway, key)
	if r.Simulated {
		fmt.Fprintf(w, `  Break the first vendor (fault "" heals it), and ask again:
    curl %s/sim/vendors/anthropic/fault -H "Content-Type: application/json" -d '{"fault":"overloaded"}'
`, r.Gateway)
	}
	fmt.Fprintln(w)
}
