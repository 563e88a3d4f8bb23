package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spillway-llm/spillway/core"
)

// The bounds of a scenario: a day of traffic, and what fits in memory.
const (
	mostSeconds  = 86_400
	mostRequests = 1_000_000
)

// FailureKinds are the kinds that a phase can make calls fail with: what a
// vendor or the way to it can do. Those that Spillway itself says are not here.
func FailureKinds() []core.Kind {
	return []core.Kind{
		core.KindConnect, core.KindTimeoutConnect, core.KindTimeoutFirstContent, core.KindTimeoutIdle,
		core.KindRateLimited, core.KindQuotaExhausted, core.KindBilling, core.KindOverloaded, core.KindServerError,
		core.KindConflict, core.KindStreamCut, core.KindStreamError, core.KindBadResponse, core.KindInvalidRequest,
		core.KindAuthProvider,
	}
}

// complaint keeps the first thing that is wrong.
type complaint struct{ err error }

func (c *complaint) unless(ok bool, path, format string, args ...any) {
	if !ok && c.err == nil {
		c.err = fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...))
	}
}

// between complains about a figure out of range.
func (c *complaint) between(path string, got, least, most float64) {
	c.unless(got >= least && got <= most, path, "%v is not in %v to %v", got, least, most)
}

// oneOf complains about a word that is not in a list; "" is the default.
func oneOf[T ~string](c *complaint, path string, got T, known ...T) {
	c.unless(got == "" || slices.Contains(known, got), path, "%q is not one of %q", got, known)
}

// unique complains about an id that is missing or was seen before.
func (c *complaint) unique(path, id string, seen map[string]bool) {
	c.unless(id != "", path, "must not be empty")
	c.unless(!seen[id], path, "%q is used twice", id)
	seen[id] = true
}

// check holds the scenario to its rules and reports the first one broken.
func (s *Scenario) check() error {
	c := &complaint{}
	plain := s.Name != "" && strings.Trim(s.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
	c.unless(plain, "name", "%q must be of lower-case letters, digits and -", s.Name)
	c.unless(s.Seed != 0, "seed", "must not be 0")
	c.between("duration_s", s.DurationS, 1, mostSeconds)
	c.unless(len(s.Providers) > 0, "providers", "there is none")
	c.unless(len(s.Targets) > 0, "targets", "there is none")
	c.unless(len(s.Traffic) > 0, "traffic", "there is none")
	s.checkProviders(c)
	s.checkTargets(c)
	requests := 0.0
	for i := range s.Traffic {
		requests += s.Traffic[i].check(c, fmt.Sprintf("traffic[%d]", i), s.DurationS)
	}
	c.unless(requests <= mostRequests, "traffic", "about %.0f requests, at most %d are run", requests, mostRequests)
	for i := range s.Phases {
		s.checkPhase(c, fmt.Sprintf("phases[%d]", i), &s.Phases[i])
	}
	return c.err
}

func (s *Scenario) checkProviders(c *complaint) {
	ids := map[string]bool{}
	for i := range s.Providers {
		p, path := &s.Providers[i], fmt.Sprintf("providers[%d]", i)
		c.unique(path+".id", p.ID, ids)
		c.unless(p.Wire != "", path+".wire", "must not be empty")
		oneOf(c, path+".wire", p.Wire, core.WireAnthropic, core.WireOpenAI)
		keys, nodes := map[string]bool{}, map[string]bool{}
		for j, k := range p.Keys {
			c.unique(fmt.Sprintf("%s.keys[%d]", path, j), k, keys)
		}
		for j, n := range p.Nodes {
			at := fmt.Sprintf("%s.nodes[%d]", path, j)
			c.unique(at+".id", n.ID, nodes)
			c.between(at+".weight", float64(n.Weight), 0, 1000)
		}
	}
}

func (s *Scenario) checkTargets(c *complaint) {
	ids := map[string]bool{}
	for i := range s.Targets {
		t, path := &s.Targets[i], fmt.Sprintf("targets[%d]", i)
		c.unique(path+".id", t.ID, ids)
		c.unless(s.hasProvider(t.Provider), path+".provider", "%q is not a provider of the scenario", t.Provider)
		c.between(path+".context_tokens", float64(t.ContextTokens), 1, 100_000_000)
		t.FirstContentMS.check(c, path+".first_content_ms")
		c.between(path+".ms_per_token", t.MSPerToken, 0, 10_000)
		if p := t.USDPerMillion; p != nil {
			c.between(path+".usd_per_million.input", p.Input, 0, 100_000)
			c.between(path+".usd_per_million.output", p.Output, 0, 100_000)
		}
	}
}

func (s *Scenario) hasProvider(id string) bool {
	return slices.ContainsFunc(s.Providers, func(p Provider) bool { return p.ID == id })
}

func (d Spread) check(c *complaint, path string) {
	c.between(path+".p50", d.P50, 0.001, 3_600_000)
	c.between(path+".p95", d.P95, d.P50, 3_600_000)
}

// check returns about how many requests the traffic has.
func (t *Traffic) check(c *complaint, path string, seconds float64) float64 {
	c.unless(t.UseCase != "", path+".use_case", "must not be empty")
	oneOf(c, path+".audience", t.Audience, core.Audiences()...)
	c.between(path+".patience_s", t.PatienceS, 0, mostSeconds)
	c.unless(len(t.Rate) > 0, path+".rate", "there is none")
	requests := 0.0
	for i, r := range t.Rate {
		at := fmt.Sprintf("%s.rate[%d]", path, i)
		c.between(at+".from_s", r.FromS, 0, seconds)
		c.between(at+".per_s", r.PerS, 0, 10_000)
		c.unless(i == 0 || r.FromS > t.Rate[i-1].FromS, at+".from_s", "must be later than the one before")
		until := seconds
		if i+1 < len(t.Rate) {
			until = t.Rate[i+1].FromS
		}
		requests += r.PerS * max(until-r.FromS, 0)
	}
	c.unless(len(t.Mix) > 0, path+".mix", "there is none")
	for i := range t.Mix {
		t.Mix[i].check(c, fmt.Sprintf("%s.mix[%d]", path, i))
	}
	return requests
}

func (k *RequestKind) check(c *complaint, path string) {
	c.between(path+".share", k.Share, 0, 1_000_000)
	oneOf(c, path+".task", k.Task, core.Tasks()...)
	oneOf(c, path+".quality", k.Quality, core.Qualities()...)
	c.between(path+".priority", float64(k.Priority), 0, 10)
	c.between(path+".latency_budget_ms", float64(k.LatencyBudgetMS), 0, 3_600_000)
	c.between(path+".input_tokens", float64(k.InputTokens), 0, 100_000_000)
	c.between(path+".max_tokens", float64(k.MaxTokens), 0, 100_000_000)
	c.between(path+".output_tokens", float64(k.OutputTokens), 1, 1_000_000)
}

func (s *Scenario) checkPhase(c *complaint, path string, p *Phase) {
	c.between(path+".from_s", p.FromS, 0, mostSeconds)
	c.unless(p.ToS > p.FromS, path+".to_s", "must be later than from_s")
	s.checkChoice(c, path, p)
	sum := 0.0
	for _, k := range slices.Sorted(maps.Keys(p.Failures)) {
		at := path + ".failures." + k.String()
		c.unless(slices.Contains(FailureKinds(), k), at, "is nothing that a vendor does; there are %v", FailureKinds())
		c.between(at, p.Failures[k], 0, 1)
		sum += p.Failures[k]
	}
	c.unless(sum <= 1+1e-9, path+".failures", "add up to %v, at most 1", sum)
	if p.FailAfterMS != nil {
		p.FailAfterMS.check(c, path+".fail_after_ms")
	}
	c.between(path+".retry_after_s", p.RetryAfterS, 0, mostSeconds)
	c.between(path+".first_content_factor", p.FirstContentFactor, 0, 10_000)
	c.between(path+".token_factor", p.TokenFactor, 0, 10_000)
	if l := p.Limit; l != nil {
		c.between(path+".limit.calls", float64(l.Calls), 0, 1_000_000)
		c.between(path+".limit.per_s", l.PerS, 0.001, mostSeconds)
		limits := l.Kind == core.KindRateLimited || l.Kind == core.KindOverloaded
		c.unless(limits, path+".limit.kind", "must be rate_limited or overloaded")
	}
}

// checkChoice holds that a phase chooses something that is there: a misspelt
// node would otherwise make the scenario a healthy one.
func (s *Scenario) checkChoice(c *complaint, path string, p *Phase) {
	c.unless(p.Provider == "" || s.hasProvider(p.Provider), path+".provider", "%q is not a provider of the scenario", p.Provider)
	hasTarget := slices.ContainsFunc(s.Targets, func(t Target) bool { return t.ID == p.Target })
	c.unless(p.Target == "" || hasTarget, path+".target", "%q is not a target of the scenario", p.Target)
	var keys, nodes, regions []string
	for i := range s.Providers {
		x := &s.Providers[i]
		if p.Provider != "" && p.Provider != x.ID {
			continue
		}
		keys = append(keys, x.keys()...)
		for _, n := range x.nodes() {
			nodes, regions = append(nodes, n.ID), append(regions, n.Region)
		}
	}
	c.unless(p.Key == "" || slices.Contains(keys, p.Key), path+".key", "%q is not one of %q", p.Key, keys)
	c.unless(p.Node == "" || slices.Contains(nodes, p.Node), path+".node", "%q is not one of %q", p.Node, nodes)
	c.unless(p.Region == "" || slices.Contains(regions, p.Region), path+".region", "%q is not one of %q", p.Region, regions)
}
