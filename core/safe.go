package core

import "github.com/spillway-llm/spillway/core/circuit"

// SafePlan is the compiled-in plan of last resort: the catalog's order, without
// what can't serve the request now, a named target first, and standby targets
// only when no other is left. policyError says why it was needed; it is "" where
// there is no policy at all.
func SafePlan(snap *Snapshot, facts *Facts, policyError string) *Plan {
	p := &Plan{Revision: snap.Revision, Source: SourceSafe, Limits: DefaultLimits(), PolicyError: policyError}
	if policyError == "" {
		p.Source = SourceEvaluated
	}
	u := snap.UseCaseIndex(facts.UseCase)
	spare, left := false, snap.ordinaryLeft(u, facts)
	for i := range snap.Catalog.Targets {
		t := &snap.Catalog.Targets[i]
		able, reserve := snap.able(u, i, facts), t.Standby() && t.ID != facts.Target
		if able && (p.Preferred == "" || t.ID == facts.Target || spare && !reserve) {
			p.Preferred, spare = t.ID, reserve
		}
		why := snap.unable(u, i, facts)
		if reserve && left {
			why = append(why, "standby")
		}
		if len(why) > 0 {
			p.Excluded = append(p.Excluded, Exclusion{Target: t.ID, Reasons: why})
			continue
		}
		s := Step{Index: i, Target: t.ID, FirstContentMS: DefaultNextContentMS, IdleMS: DefaultIdleMS}
		p.Steps = append(p.Steps, s)
		if last := len(p.Steps) - 1; t.ID == facts.Target && last > 0 {
			copy(p.Steps[1:], p.Steps[:last])
			p.Steps[0] = s
		}
	}
	if len(p.Steps) == 0 {
		p.NoTarget = "every target is excluded"
		return p
	}
	p.Steps[0].FirstContentMS = DefaultFirstContentMS
	return p
}

// served reports whether a use case uses a target; a snapshot that no engine
// took serves all.
func (s *Snapshot) served(u, t int) bool {
	return s.world == nil || s.world.rev.Tables.Served[u][t]
}

// able reports whether a target could serve a request if nothing held it.
func (s *Snapshot) able(u, t int, facts *Facts) bool {
	return u >= 0 && s.served(u, t) && s.Catalog.Targets[t].Able(facts)
}

// ordinaryLeft reports whether a target that is no standby can serve now.
func (s *Snapshot) ordinaryLeft(u int, facts *Facts) bool {
	for i := range s.Catalog.Targets {
		if !s.Catalog.Targets[i].Standby() && len(s.unable(u, i, facts)) == 0 {
			return true
		}
	}
	return false
}

// unable lists why a target is no candidate in the snapshot.
func (s *Snapshot) unable(u, t int, facts *Facts) []string {
	var why []string
	if !s.able(u, t, facts) {
		why = append(why, "cannot serve the request")
	}
	l := &s.Targets[t]
	if u >= 0 && l.Circuits[u].State == circuit.Open {
		why = append(why, "circuit open")
	}
	if l.CoolingDown {
		why = append(why, "cooling down")
	}
	if !l.Healthy {
		why = append(why, "not healthy")
	}
	if facts.ForceFallback && s.Catalog.Targets[t].ID == facts.Target {
		why = append(why, "fallback forced")
	}
	return why
}

// Able reports whether the target has the abilities and the context window that
// the facts need.
func (t *Target) Able(f *Facts) bool {
	n, c := f.Needs, t.Capabilities
	if n.Tools && !c.Tools || n.Images && !c.Images || n.Documents && !c.Documents ||
		n.JSONSchema && !c.JSONSchema || n.Thinking && !c.Thinking || n.Prefill && !c.Prefill {
		return false
	}
	return t.ContextTokens == 0 || f.InputTokens+f.MaxTokens <= t.ContextTokens
}

// static decides without a policy engine.
type static struct{}

// Decide returns the catalog's order.
func (static) Decide(snap *Snapshot, facts *Facts) (*Plan, bool) {
	return SafePlan(snap, facts, ""), false
}

// Prepare has nothing to do.
func (static) Prepare(*Snapshot) {}

// DefaultRevision is what an embedder without policies runs: the shipped
// figures, and the catalog's order as the route.
func DefaultRevision(c *Catalog) *Revision {
	return &Revision{ID: "default", Catalog: c, Tables: DefaultTables(c), Decider: static{}}
}
