package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-llm/spillway/core"
)

// DefaultConnectTimeout bounds making a connection, and once more the TLS handshake.
const DefaultConnectTimeout = 5 * time.Second

// DefaultVersion is the anthropic-version that is spoken for callers who name
// none: those of the other wire format.
const DefaultVersion = "2023-06-01"

// Config shapes a client. Its zero value is usable.
type Config struct {
	// Transport replaces the built-in one, for tests. It must not follow
	// redirects: [http.Transport] doesn't, [http.Client] does.
	Transport http.RoundTripper
	// UserAgent is what vendors see; "" means "spillway".
	UserAgent string
	// ConnectTimeout bounds making a connection, and then the TLS handshake; 0
	// means [DefaultConnectTimeout].
	ConnectTimeout time.Duration
	// Dial replaces how the built-in transport reaches an address, for tests. Its
	// context ends with ConnectTimeout.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client calls providers. It is safe for concurrent use.
type Client struct {
	transport http.RoundTripper
	shared    sharedValues
	endpoints atomic.Pointer[map[string]*endpoint]
	payloads  sync.Pool
}

// New returns a client that knows no nodes yet: see [Client.Replace].
func New(cfg Config) *Client {
	if cfg.UserAgent == "" {
		cfg.UserAgent = "spillway"
	}
	c := &Client{transport: cfg.Transport, shared: newSharedValues(cfg.UserAgent)}
	if cfg.ConnectTimeout <= 0 {
		cfg.ConnectTimeout = DefaultConnectTimeout
	}
	if c.transport == nil {
		c.transport = newTransport(cfg)
	}
	c.endpoints.Store(&map[string]*endpoint{})
	return c
}

// newTransport returns a transport without a time limit on the answer, because
// a long stream is healthy (R27): the engine limits what matters. It speaks
// HTTP/1.1, which was cheaper than HTTP/2 at every load measured, takes no
// proxy from the environment and asks for no compression, so that bytes pass
// as they came.
func newTransport(cfg Config) *http.Transport {
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext
	}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, cfg.ConnectTimeout)
			defer cancel()
			return dial(ctx, network, address)
		},
		TLSHandshakeTimeout:    cfg.ConnectTimeout,
		MaxIdleConnsPerHost:    4096,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// Replace makes the client ready for a catalog's nodes. Calls that already run
// are not disturbed. On an error, a base URL that can't be used, nothing has
// changed.
func (c *Client) Replace(cat *core.Catalog) error {
	next := map[string]*endpoint{}
	for i := range cat.Providers {
		p := &cat.Providers[i]
		if p.Wire != core.WireAnthropic && p.Wire != core.WireOpenAI {
			return fmt.Errorf("provider %q: wire %q is not %q or %q", p.ID, p.Wire, core.WireAnthropic, core.WireOpenAI)
		}
		for j := range p.Nodes {
			e, err := parseEndpoint(p.Nodes[j].BaseURL)
			if err != nil {
				return fmt.Errorf("provider %q: node %q: %w", p.ID, p.Nodes[j].ID, err)
			}
			next[p.Nodes[j].BaseURL] = e
		}
	}
	c.endpoints.Store(&next)
	return nil
}

// CloseIdle closes connections that nobody uses, for a shutdown.
func (c *Client) CloseIdle() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// NewPayload returns an empty request body, with memory of earlier ones if
// there is some.
func (c *Client) NewPayload() *Payload {
	if p, ok := c.payloads.Get().(*Payload); ok {
		return p
	}
	return newPayload(&c.payloads)
}

// Call is one attempt.
type Call struct {
	Provider *core.Provider
	Node     *core.Node
	Key      *core.Key
	Payload  *Payload
	// Stream asks for an event stream.
	Stream bool
	// Beta adds ?beta=true to Anthropic's path, as the caller did.
	Beta bool
	// Version and Betas are the caller's anthropic-version and anthropic-beta
	// lines, passed on verbatim where the provider speaks the caller's own
	// format, and otherwise nil.
	Version, Betas []string
}

// Do sends the call and returns at the answer's headers. The caller reads and
// closes the answer's body; [ReadFailure] classifies what goes wrong there. The
// error is a [*core.Error].
func (c *Client) Do(ctx context.Context, call *Call) (*http.Response, error) {
	if err := call.checkKey(); err != nil {
		return nil, err
	}
	e, err := c.endpoint(call.Node)
	if err != nil {
		return nil, &core.Error{Op: "call node " + call.Node.ID, Kind: core.KindConnect, Err: err}
	}
	u := e.url(call.Provider.Wire, call.Beta)
	req := (&http.Request{
		Method: http.MethodPost, URL: u, Host: u.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: c.header(call), Body: call.Payload.reader(), GetBody: call.Payload.getBody,
		ContentLength: int64(len(call.Payload.Bytes)),
	}).WithContext(httptrace.WithClientTrace(ctx, &call.Payload.trace))
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, callFailure(ctx, call.Node.ID, err)
	}
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		// Following it would take the credential to a host nobody configured.
		_ = res.Body.Close()
		return nil, &core.Error{
			Op: "call node " + call.Node.ID, Kind: core.KindBadResponse, Status: res.StatusCode,
			Err: errors.New("redirects are not followed"),
		}
	}
	return res, nil
}

// checkKey refuses a call without a credential: it would go out with none, or
// with whatever a proxy on the way adds, and nobody would notice (R47).
func (call *Call) checkKey() error {
	if !call.Key.Secret.Empty() || call.Provider.Simulated {
		return nil
	}
	return &core.Error{
		Op: "call node " + call.Node.ID, Kind: core.KindAuthProvider,
		Err: fmt.Errorf("provider %q has no credential in key %q", call.Provider.ID, call.Key.ID),
	}
}

// endpoint finds a node's addresses. A request that began before a reload may
// still name a node that the new catalog doesn't have.
func (c *Client) endpoint(n *core.Node) (*endpoint, error) {
	if e, ok := (*c.endpoints.Load())[n.BaseURL]; ok {
		return e, nil
	}
	return parseEndpoint(n.BaseURL)
}
