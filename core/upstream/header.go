package upstream

import (
	"net/http"

	"github.com/spillway-llm/spillway/core"
)

// header builds the outgoing header from nothing: an allow-list, because a list
// of what to remove always misses one of the places where callers put their
// keys (R47).
func (c *Client) header(call *Call) http.Header {
	h := make(http.Header, 6)
	h["Content-Type"] = []string{"application/json"}
	h["User-Agent"] = c.agent
	if call.Stream {
		h["Accept"] = []string{"text/event-stream"}
	} else {
		h["Accept"] = []string{"application/json"}
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
		h["Anthropic-Version"] = []string{DefaultVersion}
	}
	if len(call.Betas) > 0 {
		h["Anthropic-Beta"] = call.Betas
	}
	return h
}
