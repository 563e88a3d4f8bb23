package upstream

import (
	"net/http"

	"github.com/spillway-llm/spillway/core"
)

// sharedValues are header values that every request uses; nobody changes them.
type sharedValues struct{ agent, json, stream, version []string }

func newSharedValues(agent string) sharedValues {
	return sharedValues{
		agent: []string{agent}, json: []string{"application/json"}, stream: []string{"text/event-stream"},
		version: []string{DefaultVersion},
	}
}

// header builds the outgoing header from nothing: an allow-list, because a list
// of what to remove always misses one of the places where callers put their
// keys (R47).
func (c *Client) header(call *Call) http.Header {
	h := make(http.Header, 6)
	h["Content-Type"] = c.shared.json
	h["User-Agent"] = c.shared.agent
	h["Accept"] = c.shared.json
	if call.Stream {
		h["Accept"] = c.shared.stream
	}
	secret := call.Key.Secret.Reveal()
	if call.Provider.Wire != core.WireAnthropic {
		if secret != "" {
			h["Authorization"] = []string{"Bearer " + secret}
		}
		return h
	}
	if secret != "" {
		h["X-Api-Key"] = []string{secret}
	}
	h["Anthropic-Version"] = call.Version
	if len(call.Version) == 0 {
		h["Anthropic-Version"] = c.shared.version
	}
	if len(call.Betas) > 0 {
		h["Anthropic-Beta"] = call.Betas
	}
	return h
}
