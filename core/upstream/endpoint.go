package upstream

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/spillway-llm/spillway/core"
)

// endpoint is one node's addresses, parsed once. It is immutable: requests
// share its URLs.
type endpoint struct {
	messages, messagesBeta, completions, models url.URL
}

// parseEndpoint reads a node's base URL. The paths are added to it, so it names
// the vendor without /v1; one that ends in /v1 anyway, as OpenAI's clients have
// it, means the same.
func parseEndpoint(base string) (*endpoint, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("base URL: %w", err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("base URL %q: the scheme must be http or https", u.Redacted())
	case u.Host == "":
		return nil, fmt.Errorf("base URL %q: no host", u.Redacted())
	case u.User != nil:
		return nil, fmt.Errorf("base URL %q: credentials belong to the provider's keys", u.Redacted())
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("base URL %q: no query and no fragment allowed", u.Redacted())
	}
	root := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1")
	at := func(path, query string) url.URL {
		return url.URL{Scheme: u.Scheme, Host: u.Host, Path: root + path, RawQuery: query}
	}
	return &endpoint{
		messages:     at("/v1/messages", ""),
		messagesBeta: at("/v1/messages", "beta=true"),
		completions:  at("/v1/chat/completions", ""),
		models:       at("/v1/models", ""),
	}, nil
}

func (e *endpoint) url(w core.Wire, beta bool) *url.URL {
	switch {
	case w == core.WireOpenAI:
		return &e.completions
	case beta:
		return &e.messagesBeta
	}
	return &e.messages
}
