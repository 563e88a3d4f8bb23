package demovendor

import "time"

// Preset returns the vendor that the binary ships for a wire format: models of
// today's names at a realistic pace, lenient about fields, no key asked for.
func Preset(w Wire) Config {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	if w == WireOpenAI {
		return Config{Wire: w, Seed: 2, Models: []Model{
			{Name: "gpt-6-sol", DisplayName: "GPT-6 Sol", FirstContent: ms(600), PerChunk: ms(22), ContextTokens: 400_000, MaxOutput: 128_000},
			{Name: "gpt-6-luna", DisplayName: "GPT-6 Luna", FirstContent: ms(250), PerChunk: ms(16), ContextTokens: 400_000, MaxOutput: 128_000},
		}}
	}
	return Config{Wire: w, Seed: 1, Models: []Model{
		{Name: "claude-opus-5-5", DisplayName: "Claude Opus 5.5", FirstContent: ms(900), PerChunk: ms(25), ContextTokens: 1_000_000, MaxOutput: 128_000},
		{Name: "claude-sonnet-5", DisplayName: "Claude Sonnet 5", FirstContent: ms(450), PerChunk: ms(20), ContextTokens: 1_000_000, MaxOutput: 128_000},
		{Name: "claude-haiku-5-5", DisplayName: "Claude Haiku 5.5", FirstContent: ms(220), PerChunk: ms(16), ContextTokens: 200_000, MaxOutput: 64_000},
	}}
}
