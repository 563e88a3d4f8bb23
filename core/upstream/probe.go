package upstream

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/spillway-llm/spillway/core"
)

var _ core.Prober = (*Client)(nil)

// mostProbeBytes of a list of models are read, so that the connection can be
// kept: vendors with hundreds of models send less.
const mostProbeBytes = 1 << 20

// Probe asks a node for its list of models, which spends no tokens, and returns
// the answer's status; 0 and a reason when there is none. A 401 or 403 is the
// vendor's word on the key. Redirects are not followed.
func (c *Client) Probe(ctx context.Context, p *core.Provider, n *core.Node, k *core.Key) (status int, err error) {
	call := Call{Provider: p, Node: n, Key: k}
	if err := call.checkKey(); err != nil {
		return 0, err
	}
	e, err := c.endpoint(n)
	if err != nil {
		return 0, fmt.Errorf("probe node %s: %w", n.ID, err)
	}
	header := c.header(&call)
	header.Del("Content-Type") // there is no body
	req := (&http.Request{
		Method: http.MethodGet, URL: &e.models, Host: e.models.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header,
	}).WithContext(ctx)
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		return 0, callFailure(ctx, n.ID, err)
	}
	defer func() { _ = res.Body.Close() }()
	// What the list says is nobody's business here, and one that breaks off has
	// shown the node alive all the same.
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, mostProbeBytes))
	return res.StatusCode, nil
}
