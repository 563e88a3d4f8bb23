package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spillway-llm/spillway/cmd/server/config"
	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/core"
)

var _ console.Reloader = (*Server)(nil)

// Reload reads the configuration again and puts it in force as a whole, or
// changes nothing and says why. Either is recorded.
func (s *Server) Reload(ctx context.Context, by string) error {
	digest, err := s.reload(ctx)
	change := &core.ConfigChange{At: s.rules.clock.Wall(), Digest: digest, By: by}
	if err != nil {
		change.Refused = err.Error()
		s.log.Error("the new configuration was refused, the old one stays", "by", by, "why", err)
		err = fmt.Errorf("%w: %w", console.ErrRefused, err)
	} else {
		s.log.Info("configuration reloaded", "by", by, "digest", digest)
	}
	s.rules.recorders.Record(change)
	return err
}

func (s *Server) reload(ctx context.Context) (digest string, err error) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	c, _, err := s.o.load()
	if err != nil {
		return "", err
	}
	switch simulated := len(c.Providers) == 0; {
	case simulated && s.vendors == nil:
		return "", errors.New("no provider is named any more: restart to serve simulated vendors")
	case !simulated && s.vendors != nil:
		return "", errors.New("providers are named now: restart to leave the simulated vendors")
	case simulated:
		c.Providers, c.Targets = s.cfg.Providers, s.cfg.Targets
	}
	catalog, err := core.NewCatalog(c.Providers, c.Targets)
	if err != nil {
		return "", err
	}
	if err := s.rules.reconfigure(ctx, catalog); err != nil {
		return catalog.Digest, err
	}
	s.warn(c)
	s.cfg.Providers, s.cfg.Targets = c.Providers, c.Targets
	return catalog.Digest, nil
}

// warn tells of findings, and of what a reload can't change.
func (s *Server) warn(c *config.Config) {
	for _, w := range c.Warnings {
		s.log.Warn("configuration", "finding", w.String())
	}
	if c.Listen != s.cfg.Listen || c.Data != s.cfg.Data || c.Timeouts != s.cfg.Timeouts ||
		c.Console.Listen != s.cfg.Console.Listen || !slices.Equal(c.Console.Hosts, s.cfg.Console.Hosts) {
		s.log.Warn("listen, data, console and timeouts take effect at the next start")
	}
}
