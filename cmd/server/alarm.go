package main

import (
	"log/slog"

	"github.com/spillway-llm/spillway/core"
)

// alarm logs what an operator must hear of without a console open: provider
// keys that leave service, and loudly when most of a pool has.
type alarm struct{ log *slog.Logger }

// Record logs an event of that kind.
func (a alarm) Record(ev core.Event) {
	k, ok := ev.(*core.KeyState)
	if !ok {
		return
	}
	left := core.ProviderLive{UsableKeys: k.Left, Keys: k.Total}
	at := []any{"provider", k.Provider, "key", k.Key, "by", k.By, "left", k.Left, "total", k.Total}
	switch {
	case k.Usable:
		a.log.Info("a provider key is back in service", at...)
	case left.FewKeys():
		a.log.Error("a provider key left service, and few are left", append(at, "why", k.Kind.String())...)
	default:
		a.log.Warn("a provider key left service", append(at, "why", k.Kind.String())...)
	}
}
