package core

import (
	"fmt"

	"github.com/spillway-llm/spillway/core/limit"
)

// TargetLimits bound what is sent to one target (R13.1). The zero value bounds
// nothing.
type TargetLimits struct {
	Concurrency limit.ConcurrencySettings `json:"concurrency"`
	Rate        limit.RateSettings        `json:"rate"`
}

// CallerLimits bound the requests of one caller's key, or of one use case
// (R13.1). The zero value bounds nothing.
type CallerLimits struct {
	Rate  limit.RateSettings  `json:"rate"`
	Spend limit.SpendSettings `json:"spend"`
	// MaxOutputTokens is the most output that one request may ask for. With it a
	// request must say its output limit, because the gateway does not change what a
	// caller sends. 0 is no cap.
	MaxOutputTokens int `json:"max_output_tokens"`
}

// maxOutputCap is more than any model writes in one answer.
const maxOutputCap = 10_000_000

// Check reports the first figure that is out of range.
func (l TargetLimits) Check() error {
	if err := l.Concurrency.Check(); err != nil {
		return fmt.Errorf("concurrency: %w", err)
	}
	if err := l.Rate.Check(); err != nil {
		return fmt.Errorf("rate: %w", err)
	}
	return nil
}

// Check reports the first figure that is out of range.
func (l CallerLimits) Check() error {
	if err := l.Rate.Check(); err != nil {
		return fmt.Errorf("rate: %w", err)
	}
	if err := l.Spend.Check(); err != nil {
		return fmt.Errorf("spend: %w", err)
	}
	if l.MaxOutputTokens < 0 || l.MaxOutputTokens > maxOutputCap {
		return fmt.Errorf("max_output_tokens is %d, not in 0..%d: %w", l.MaxOutputTokens, maxOutputCap, limit.ErrSettings)
	}
	return nil
}

// Counted reports whether anything has to be counted to hold the limits.
func (l CallerLimits) Counted() bool { return l.Rate.Limited() || l.Spend.Capped() }

// checkLimits verifies sizes, ids and figures of the limits. Tables without
// them limit nothing.
func (t *Tables) checkLimits(c *Catalog) error {
	if t.TargetLimits == nil {
		t.TargetLimits = make([]TargetLimits, len(c.Targets))
	}
	if t.UseCaseLimits == nil {
		t.UseCaseLimits = make([]CallerLimits, len(t.UseCases))
	}
	if len(t.TargetLimits) != len(c.Targets) || len(t.UseCaseLimits) != len(t.UseCases) {
		return fmt.Errorf("check tables: limits of %d targets and %d use cases, want %d and %d",
			len(t.TargetLimits), len(t.UseCaseLimits), len(c.Targets), len(t.UseCases))
	}
	for i, l := range t.TargetLimits {
		if err := l.Check(); err != nil {
			return fmt.Errorf("check tables: limits of target %q: %w", c.Targets[i].ID, err)
		}
	}
	for i, l := range t.UseCaseLimits {
		if err := l.Check(); err != nil {
			return fmt.Errorf("check tables: limits of use case %q: %w", t.UseCases[i].ID, err)
		}
	}
	groups := c.QuotaGroups()
	for id, r := range t.GroupRates {
		if !groups[id] {
			return fmt.Errorf("check tables: quota group %q is no target's", id)
		}
		if err := r.Check(); err != nil {
			return fmt.Errorf("check tables: rate of quota group %q: %w", id, err)
		}
	}
	return nil
}

// QuotaGroups returns the quota groups of the targets.
func (c *Catalog) QuotaGroups() map[string]bool {
	groups := make(map[string]bool, len(c.Providers))
	for i := range c.Targets {
		groups[c.Targets[i].QuotaGroup] = true
	}
	return groups
}

// defaultLimits are R13.1's figures: callers are not limited, a family's
// targets by how many calls at once its vendors are known to carry, quota groups
// by the output of a common vendor tier.
func (t *Tables) defaultLimits(c *Catalog) {
	t.GroupRates = map[string]limit.RateSettings{}
	for i := range c.Targets {
		t.TargetLimits = append(t.TargetLimits, TargetLimits{
			Concurrency: limit.ConcurrencySettings{
				Limit: defaultConcurrency(c.Targets[i].Family), Queue: 100, MaxWaitMS: limit.DefaultMaxWaitMS,
			},
			Rate: limit.RateSettings{BurstSeconds: limit.DefaultRate().BurstSeconds},
		})
		t.GroupRates[c.Targets[i].QuotaGroup] = limit.DefaultRate()
	}
	for range t.UseCases {
		t.UseCaseLimits = append(t.UseCaseLimits, CallerLimits{
			Rate: limit.RateSettings{BurstSeconds: limit.DefaultRate().BurstSeconds},
		})
	}
}

func defaultConcurrency(family string) int {
	switch family {
	case "opus":
		return 20
	case "haiku":
		return 60
	case "luna":
		return 80
	default:
		return 40
	}
}
