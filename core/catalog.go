package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spillway-llm/spillway/core/health"
	"github.com/spillway-llm/spillway/core/price"
)

// Wire is the protocol that a provider speaks.
type Wire string

// The wire protocols.
const (
	WireAnthropic Wire = "anthropic"
	WireOpenAI    Wire = "openai"
)

// Secret is a credential. It prints, logs and marshals as "[secret]"; only
// Reveal returns it.
type Secret struct{ value string }

// NewSecret wraps a credential.
func NewSecret(s string) Secret { return Secret{s} }

// Reveal returns the credential, for the one place that sends it.
func (s Secret) Reveal() string { return s.value }

// Empty reports whether there is no credential.
func (s Secret) Empty() bool { return s.value == "" }

// String hides the credential.
func (s Secret) String() string { return "[secret]" }

// GoString hides the credential from %#v.
func (s Secret) GoString() string { return "[secret]" }

// MarshalJSON hides the credential.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"[secret]"`), nil }

// Key is one credential of a provider. Keys with the same id at providers of one
// quota group stand for one allowance: a 429 cools them down together.
type Key struct {
	ID     string `json:"id"`
	Secret Secret `json:"-"`
}

// Node is one base URL of a provider.
type Node struct {
	ID      string `json:"id"`
	BaseURL string `json:"base_url"`
	Region  string `json:"region,omitempty"`
	Weight  int    `json:"weight"` // relative share; 0 means 1
}

// Provider is a vendor endpoint with one wire protocol, keys and nodes.
type Provider struct {
	ID        string `json:"id"`
	Wire      Wire   `json:"wire"`
	Vendor    string `json:"vendor"` // who runs it; fallback across vendors compares this
	Simulated bool   `json:"simulated,omitempty"`
	Keys      []Key  `json:"keys"`
	Nodes     []Node `json:"nodes"`
	// Balance is how requests are shared out among the nodes (R8.3).
	Balance health.Balance `json:"balance,omitempty"`
	// NoProbes leaves the nodes to the requests: none is probed (R8.2).
	NoProbes bool `json:"no_probes,omitempty"`
}

// Capabilities are the needs that a target can serve.
type Capabilities = Needs

// Target is one model at one provider: what a plan step names.
type Target struct {
	ID            string            `json:"id"`
	Provider      string            `json:"provider"`
	Model         string            `json:"model"`
	Vendor        string            `json:"vendor"`
	Family        string            `json:"family"` // key of the fit matrix, R2.2
	QuotaGroup    string            `json:"quota_group"`
	ContextTokens int               `json:"context_tokens"`
	MaxOutput     int               `json:"max_output_tokens"`
	Capabilities  Capabilities      `json:"capabilities"`
	Traits        Traits            `json:"traits,omitzero"`
	Profile       Profile           `json:"profile,omitzero"`
	Price         price.Table       `json:"price"` // zero: unknown, which is not free (R13.2)
	Labels        map[string]string `json:"labels,omitempty"`
}

// Standby reports that the target is labelled as a reserve: "standby" is "yes" or
// "true". It serves when no other target can, and its circuit is slower (R1.7).
func (t *Target) Standby() bool {
	s := t.Labels["standby"]
	return s == "yes" || s == "true"
}

// Catalog is the static configuration that decisions depend on. It is immutable
// once built and safe for concurrent use.
type Catalog struct {
	// Digest is the hex SHA-256 over providers and targets, without secrets.
	Digest    string
	Providers []Provider
	Targets   []Target

	targetIndex   map[string]int
	providerIndex map[string]int
	modelIndex    map[string]int
}

// ErrCatalog marks a configuration that can't be used.
var ErrCatalog = errors.New("unusable catalog")

// NewCatalog checks and indexes providers and targets. Targets get their
// provider's vendor and, without a quota group, their own provider's id as one.
func NewCatalog(providers []Provider, targets []Target) (*Catalog, error) {
	c := &Catalog{
		Providers: providers, Targets: targets,
		targetIndex: map[string]int{}, providerIndex: map[string]int{}, modelIndex: map[string]int{},
	}
	for i, p := range providers {
		if _, dup := c.providerIndex[p.ID]; dup || p.ID == "" {
			return nil, fmt.Errorf("provider %q: empty or used twice: %w", p.ID, ErrCatalog)
		}
		if len(p.Nodes) == 0 {
			return nil, fmt.Errorf("provider %q: no nodes: %w", p.ID, ErrCatalog)
		}
		c.providerIndex[p.ID] = i
	}
	for i := range targets {
		if err := c.addTarget(i); err != nil {
			return nil, err
		}
	}
	if len(targets) == 0 {
		return nil, fmt.Errorf("no targets: %w", ErrCatalog)
	}
	b, err := json.Marshal(struct {
		Providers []Provider
		Targets   []Target
	}{providers, targets})
	if err != nil {
		return nil, fmt.Errorf("digest of the catalog: %w", err)
	}
	sum := sha256.Sum256(b)
	c.Digest = hex.EncodeToString(sum[:])
	return c, nil
}

func (c *Catalog) addTarget(i int) error {
	t := &c.Targets[i]
	if _, dup := c.targetIndex[t.ID]; dup || t.ID == "" {
		return fmt.Errorf("target %q: empty or used twice: %w", t.ID, ErrCatalog)
	}
	p, ok := c.providerIndex[t.Provider]
	if !ok {
		return fmt.Errorf("target %q: provider %q is not configured: %w", t.ID, t.Provider, ErrCatalog)
	}
	if t.Vendor == "" {
		t.Vendor = c.Providers[p].Vendor
	}
	if t.QuotaGroup == "" {
		t.QuotaGroup = t.Provider
	}
	c.targetIndex[t.ID] = i
	if _, taken := c.modelIndex[t.Model]; !taken {
		c.modelIndex[t.Model] = i
	}
	return nil
}

// TargetIndex returns the position of a target in Targets.
func (c *Catalog) TargetIndex(id string) (int, bool) {
	i, ok := c.targetIndex[id]
	return i, ok
}

// ByModel returns the position of the first target that serves the model, or
// of the target with that id.
func (c *Catalog) ByModel(name string) (int, bool) {
	if i, ok := c.targetIndex[name]; ok {
		return i, true
	}
	i, ok := c.modelIndex[name]
	return i, ok
}

// Provider returns the provider of a target.
func (c *Catalog) Provider(t *Target) *Provider { return &c.Providers[c.providerIndex[t.Provider]] }
