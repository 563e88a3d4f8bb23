package main

import (
	"bytes"
	"fmt"

	"github.com/spillway-llm/spillway/bench/load"
	"github.com/spillway-llm/spillway/bench/mock"
)

// kind is one kind of request: whatever differs between two of them makes
// different facts, and so another decision.
type kind struct {
	path   string
	header []string
	body   []byte
	stream bool
}

// The paths of the two wire formats.
const (
	claudePath = "/v1/messages"
	gptPath    = "/v1/chat/completions"
)

// models are those that the gateway's configuration has, with the provider of each.
func models() []model {
	return []model{
		{"claude-opus-5-5", "anthropic", "opus", claudePath}, {"claude-sonnet-5", "anthropic", "sonnet", claudePath},
		{"claude-haiku-5-5", "anthropic", "haiku", claudePath}, {"gpt-6-sol", "openai", "sol", gptPath}, {"gpt-6-luna", "openai", "luna", gptPath},
	}
}

type model struct{ name, provider, family, path string }

// bodySize is about what a prompt of a few paragraphs makes.
const bodySize = 2048

// oneKind is the plainest request, again and again: its decision is always remembered.
func oneKind(stream bool) []kind {
	return []kind{newKind(0, models()[1], 1024, bodySize, stream, nil)}
}

// fortyKinds differ in model, task, quality, priority, latency budget, output
// limit and size, so that each is decided by itself. Each has a prompt of its
// own: one conversation that changed its model with every request would be tied
// to another target each time, and so be many kinds.
func fortyKinds() []kind {
	tasks := []string{"simple", "complex", "creative", "code"}
	qualities := []string{"cost", "balanced", "quality"}
	kinds := make([]kind, 0, 40)
	for i := range 40 {
		kinds = append(kinds, newKind(i, models()[i%5], 256<<(i%3), bodySize/2+(i%4)*bodySize/3, false, []string{
			"Spillway-Task: " + tasks[i/5%4],
			"Spillway-Quality: " + qualities[i%3],
			fmt.Sprintf("Spillway-Priority: %d", i*3%11),
			fmt.Sprintf("Spillway-Latency-Budget: %d", 2000+i%7*1000),
		}))
	}
	return kinds
}

func newKind(number int, m model, maxTokens, size int, stream bool, header []string) kind {
	limit := "max_tokens"
	if m.path == gptPath {
		limit = "max_completion_tokens"
	} else {
		header = append(header, "Anthropic-Version: 2023-06-01")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"model":"%s","%s":%d,`, m.name, limit, maxTokens)
	if stream {
		b.WriteString(`"stream":true,`)
	}
	fmt.Fprintf(&b, `"messages":[{"role":"user","content":"Question %d. `, number)
	for b.Len() < size {
		b.WriteString("Why does water find another way around what stands in it? ")
	}
	b.WriteString(`"}]}`)
	return kind{m.path, header, b.Bytes(), stream}
}

// request prepares the kind for a subject. A key is sent as callers send theirs.
func (k kind) request(host, key string, chunks int, exactly []byte) *load.Request {
	header := append([]string{}, k.header...)
	if key != "" {
		header = append(header, "Authorization: Bearer "+key)
	}
	check := load.Containing(mock.EndMark)
	switch {
	case k.stream:
		check = load.Stream(mock.ChunkMark, chunks)
	case exactly != nil:
		check = load.Exactly(exactly)
	}
	return load.NewRequest(host, k.path, header, k.body, check)
}
