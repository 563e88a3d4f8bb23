package gateway

import (
	"net/http"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
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

// modelHealth is one target's state. Healthy is what its traffic says: that its
// nodes answer their probes is not enough (R57 of the field failures).
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

// providerHealth is the state of one provider's nodes and keys.
type providerHealth struct {
	Nodes []nodeHealth `json:"nodes"`
	Keys  keyHealth    `json:"keys"`
}

// nodeHealth is one node's state. Its probes are counted nowhere else.
type nodeHealth struct {
	ID        string      `json:"id"`
	Region    string      `json:"region,omitempty"`
	State     string      `json:"state"`
	RestUntil *time.Time  `json:"rest_until,omitempty"`
	LatencyMS int         `json:"latency_ms"`
	Probes    probeHealth `json:"probes"`
}

// probeHealth counts a node's probes since the start.
type probeHealth struct {
	Sent    int `json:"sent"`
	Good    int `json:"good"`
	Bad     int `json:"bad"`
	Invalid int `json:"invalid"`
}

// keyHealth is the state of a provider's keys, which are not named here. Low
// asks for somebody to look at them, and so does any that probes found refused.
type keyHealth struct {
	Usable  int  `json:"usable"`
	Total   int  `json:"total"`
	Refused int  `json:"refused"`
	Low     bool `json:"low"`
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
	for _, p := range g.cfg.Engine.Providers() {
		page.Providers[p.ID] = providerOf(&p)
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
		state := l.Circuits[i].State
		m.Circuits[u] = state.String()
		if state != circuit.Closed && m.Healthy {
			m.Healthy, m.Reason = false, "circuit "+state.String()
		}
	}
	if l.CoolingDown && m.Healthy {
		m.Healthy, m.Reason = false, "cooling down"
	}
	return m
}

func providerOf(p *core.ProviderLive) providerHealth {
	h := providerHealth{
		Nodes: make([]nodeHealth, len(p.Nodes)),
		Keys:  keyHealth{Usable: p.UsableKeys, Total: p.Keys, Refused: p.RefusedKeys(), Low: p.FewKeys()},
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		h.Nodes[i] = nodeHealth{
			ID: n.ID, Region: n.Region, State: n.State.String(), LatencyMS: n.LatencyMS,
			Probes: probeHealth{n.Probes.Sent, n.Probes.Good, n.Probes.Bad, n.Probes.Invalid},
		}
		if !n.RestUntil.IsZero() {
			until := n.RestUntil.UTC()
			h.Nodes[i].RestUntil = &until
		}
	}
	return h
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
