package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/access"
	"github.com/spillway-llm/spillway/core/policy"
	"github.com/spillway-llm/spillway/store"
)

// The keys of simulated vendors. They are well known, so that examples can be
// copied, and are therefore never stored: with real vendors nobody gets in with
// them.
const (
	simulatedFreeKey  = "sw_simulated_free"
	simulatedPaidKey  = "sw_simulated_paid"
	simulatedAdminKey = "sw_simulated_admin"
)

// granter says what a key may ask for: the acting revision's access policy.
type granter interface {
	Grants(k policy.KeyAttributes) (core.Grants, error)
}

// callers keeps the table of callers' keys in step with the stored keys and the
// acting policy. It is safe for concurrent use.
type callers struct {
	db        *store.DB
	table     *access.Table
	simulated bool
	log       *slog.Logger

	mu      sync.Mutex // held while keys or the acting policy change
	granter granter
}

var _ keeper = (*callers)(nil)

func newCallers(db *store.DB, log *slog.Logger) *callers {
	return &callers{db: db, table: &access.Table{}, log: log}
}

// stored returns the keys that are in service.
func (c *callers) stored(ctx context.Context) ([]store.CallerKey, error) {
	list, err := c.db.Keys(ctx)
	if err != nil {
		return nil, err
	}
	var active []store.CallerKey
	for _, k := range list {
		if k.DisabledAt.IsZero() {
			active = append(active, k)
		}
	}
	if c.simulated {
		for plan, key := range map[string]string{"free": simulatedFreeKey, "paid": simulatedPaidKey, "admin": simulatedAdminKey} {
			active = append(active, store.CallerKey{
				ID: "simulated-" + plan, Plan: plan, Tenant: "simulated", Hash: store.HashKey(key),
			})
		}
	}
	return active, nil
}

// entries evaluates the grants of all keys in service. Keys that get none are
// left out and returned as lost, with the reasons.
func (c *callers) entries(ctx context.Context, g granter) (entries []access.Entry, lost map[string]error, err error) {
	list, err := c.stored(ctx)
	if err != nil {
		return nil, nil, err
	}
	lost = map[string]error{}
	for _, k := range list {
		grants, err := g.Grants(attributes(k))
		if err != nil {
			lost[k.ID] = err
			continue
		}
		entries = append(entries, access.Entry{Hash: k.Hash, Caller: access.Caller{KeyID: k.ID, Grants: grants}})
	}
	return entries, lost, nil
}

func attributes(k store.CallerKey) policy.KeyAttributes {
	return policy.KeyAttributes{
		ID: k.ID, Name: k.Name, Tenant: k.Tenant, Plan: k.Plan,
		UseCases: k.Attributes.UseCases, Language: k.Attributes.Language,
	}
}

// losers reports an error that names the keys which are in service now and
// would get nothing from g: a slip in the access policy must not lock callers out.
func (c *callers) losers(ctx context.Context, g granter) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, now, err := c.entries(ctx, c.granter)
	if err != nil {
		return err
	}
	_, then, err := c.entries(ctx, g)
	if err != nil {
		return err
	}
	for id, why := range then {
		if now[id] == nil {
			return fmt.Errorf("the key %q would lose its access, disable it first if that is meant: %w", id, why)
		}
	}
	return nil
}

// adopt makes g the acting policy. On an error the table is as it was.
func (c *callers) adopt(ctx context.Context, g granter) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.replace(ctx, g); err != nil {
		return err
	}
	c.granter = g
	return nil
}

// replace fills the table by g. The caller holds mu.
func (c *callers) replace(ctx context.Context, g granter) error {
	entries, lost, err := c.entries(ctx, g)
	if err != nil {
		return err
	}
	for id, why := range lost {
		c.log.Warn("a caller's key is out of service: the access policy grants it nothing", "key", id, "why", why)
	}
	return c.table.Replace(entries)
}

// keyName keeps names fit for logs, headers and the audit.
var keyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// add makes a key, which is in force when add returns.
func (c *callers) add(ctx context.Context, o keyOrder) (keyMade, error) {
	if !keyName.MatchString(o.Name) || strings.HasPrefix(o.Name, "simulated-") {
		return keyMade{}, fmt.Errorf("--name %q: give up to 64 letters, digits and . _ @ -; simulated- is taken", o.Name)
	}
	if o.Plan == "" {
		return keyMade{}, errors.New("--plan is missing: one of the access policy's plans, such as free, paid, internal or admin")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key, _, err := access.NewKey(rand.Reader)
	if err != nil {
		return keyMade{}, err
	}
	k := store.CallerKey{
		ID: o.Name, Name: o.Name, Plan: o.Plan, Tenant: o.Tenant,
		Attributes: store.KeyAttributes{UseCases: o.UseCases, Language: o.Language},
	}
	grants, err := c.granter.Grants(attributes(k))
	if err != nil {
		return keyMade{}, err
	}
	if _, err := c.db.AddKey(ctx, k, key); err != nil {
		return keyMade{}, err
	}
	if err := c.replace(ctx, c.granter); err != nil {
		return keyMade{}, err
	}
	c.log.Info("a caller's key was made", "key", k.ID, "plan", k.Plan)
	return keyMade{ID: k.ID, Key: key, Audience: string(grants.Audience), UseCases: grants.UseCases}, nil
}

// list returns all stored keys, disabled ones included.
func (c *callers) list(ctx context.Context) ([]keyListed, error) {
	stored, err := c.db.Keys(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]keyListed, len(stored))
	for i, k := range stored {
		out[i] = keyListed{ID: k.ID, Plan: k.Plan, Tenant: k.Tenant, Created: k.CreatedAt.UTC().Format(time.DateTime), State: "active"}
		if !k.DisabledAt.IsZero() {
			out[i].State = "disabled"
		} else if _, err := c.granter.Grants(attributes(k)); err != nil {
			out[i].State = err.Error()
		}
	}
	return out, nil
}

// disable takes a key out of service for good, at once.
func (c *callers) disable(ctx context.Context, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.db.DisableKey(ctx, id); err != nil {
		return err
	}
	c.log.Info("a caller's key was disabled", "key", id)
	return c.replace(ctx, c.granter)
}
