package gateway

import (
	"net/http"
	"time"

	"github.com/spillway-llm/spillway/core"
)

// healthPage is R8.1's document.
type healthPage struct {
	Overall   core.Level                `json:"overall"`
	Models    map[string]modelHealth    `json:"models"`
	Providers map[string]providerHealth `json:"providers"`
	UseCases  map[string]core.Level     `json:"use_cases"`
	Fallback  cacheHealth               `json:"fallback"`
	// Simulated says that the vendors are not real.
	Simulated bool      `json:"simulated"`
	Timestamp time.Time `json:"timestamp"`
}

// modelHealth is one target's state.
type modelHealth struct {
	Healthy           bool              `json:"healthy"`
	Reason            string            `json:"reason,omitempty"`
	Circuits          map[string]string `json:"circuits"`
	CoolingDown       bool              `json:"cooling_down"`
	SuccessRate       float64           `json:"success_rate"`
	P95MS             int               `json:"p95_ms"`
	RequestsPerMinute int               `json:"requests_per_minute"`
	// InFlight attempts run and Waiting requests wait for a place; Limit is the
	// concurrency limit, 0 for none.
	InFlight int `json:"in_flight"`
	Waiting  int `json:"waiting"`
	Limit    int `json:"limit"`
	// Priced is false when nobody said what the target costs, so that no cap on
	// spending sees it (R13.2).
	Priced bool `json:"priced"`
}

// providerHealth is one provider's state.
type providerHealth struct {
	Keys keyHealth `json:"keys"`
}

// keyHealth is the state of a pool of keys. Low asks for somebody to look at it.
type keyHealth struct {
	Usable int  `json:"usable"`
	Total  int  `json:"total"`
	Low    bool `json:"low"`
}

// cacheHealth is the emergency cache's; there is none yet, so both stay 0.
type cacheHealth struct {
	HitRate float64 `json:"cacheHitRate"`
	Size    int     `json:"cacheSize"`
}

// health tells how well every use case is served. It is open to anybody who can
// reach the address, as load balancers carry no keys, and says no more than
// they need.
func (g *Gateway) health(w http.ResponseWriter, _ *http.Request) {
	s := g.cfg.Engine.Snapshot()
	page := healthPage{
		Overall: overall(s.Levels), Models: make(map[string]modelHealth, len(s.Targets)),
		Providers: make(map[string]providerHealth, len(s.Providers)),
		UseCases:  make(map[string]core.Level, len(s.UseCases)), Simulated: g.cfg.Simulated,
		Timestamp: g.cfg.Clock.Wall().UTC(),
	}
	for i, u := range s.UseCases {
		page.UseCases[u] = s.Levels[i]
	}
	for i := range s.Targets {
		m := healthOf(&s.Targets[i], s.UseCases)
		m.Priced = s.Catalog.Targets[i].Price.Known()
		page.Models[s.Catalog.Targets[i].ID] = m
	}
	for i, p := range s.Providers {
		page.Providers[s.Catalog.Providers[i].ID] = providerHealth{keyHealth{p.UsableKeys, p.Keys, p.FewKeys()}}
	}
	for _, l := range g.cfg.Engine.Loads() {
		if m, ok := page.Models[l.Target]; ok { // a reload may have come between
			m.InFlight, m.Waiting, m.Limit = l.Running, l.Waiting, l.Limit
			page.Models[l.Target] = m
		}
	}
	status := http.StatusOK
	if page.Overall == core.Unhealthy {
		status = http.StatusServiceUnavailable
	}
	writePage(w, status, page)
}

func healthOf(l *core.Live, useCases []string) modelHealth {
	m := modelHealth{
		Healthy: l.Healthy, Reason: l.Unusable, Circuits: make(map[string]string, len(useCases)),
		CoolingDown: l.CoolingDown, SuccessRate: float64(l.SuccessPermille) / 1000, P95MS: l.P95MS,
		RequestsPerMinute: l.RequestsPerMinute,
	}
	for i, u := range useCases {
		m.Circuits[u] = l.Circuits[i].State.String()
	}
	return m
}

// overall is unhealthy when every use case is, and degraded when any isn't
// healthy (R8.1).
func overall(levels []core.Level) core.Level {
	worst, best := core.Healthy, core.Unhealthy
	for _, l := range levels {
		worst, best = max(worst, l), min(best, l)
	}
	switch {
	case worst == core.Healthy:
		return core.Healthy
	case best == core.Unhealthy:
		return core.Unhealthy
	}
	return core.Degraded
}

// live says that the process serves.
func (g *Gateway) live(w http.ResponseWriter, _ *http.Request) {
	writePage(w, http.StatusOK, map[string]bool{"live": true})
}

// ready says whether new requests are welcome.
func (g *Gateway) ready(w http.ResponseWriter, _ *http.Request) {
	if g.draining.Load() {
		writePage(w, http.StatusServiceUnavailable, map[string]any{"ready": false, "reason": "shutting down"})
		return
	}
	writePage(w, http.StatusOK, map[string]bool{"ready": true})
}
