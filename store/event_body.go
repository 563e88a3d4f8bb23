package store

import (
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// The kinds of events, as they stand in the table.
const (
	kindDecision   = "decision"
	kindTransition = "transition"
	kindCooldown   = "cooldown"
	kindBudget     = "budget"
	kindSpend      = "spend"
	kindLevel      = "level"
	kindKey        = "key"
	kindOverride   = "override"
	kindPolicy     = "policy"
	kindConfig     = "config"
	kindFault      = "fault"
	kindRun        = "run"
	kindGap        = "gap"
)

// change is what an event does to the state table, in the same transaction.
type change struct {
	kind, subject, qualifier string
	untilUS                  int64
	// body is the new row's JSON, "" to delete the row.
	body string
}

// note is an event other than a decision, encoded.
type note struct {
	kind, id string
	at       time.Time
	change   *change
}

// event encodes anything but a decision and says what it does to the state. ok
// is false for a type that this package does not know.
func (e *encoder) event(ev core.Event) (n note, ok bool) {
	e.b = append(e.b, '{')
	switch ev := ev.(type) {
	case *core.Transition:
		n = e.transition(ev)
	case *core.Cooldown:
		n = e.cooldown(ev)
	case *core.BudgetSample:
		n = e.budget(ev)
	case *core.SpendSample:
		n = e.spend(ev)
	case *core.LevelChange:
		n = note{kind: kindLevel, id: ev.UseCase, at: ev.At}
		e.text("use_case", ev.UseCase)
		e.text("from", ev.From.String())
		e.text("to", ev.To.String())
	case *core.KeyState:
		n = e.keyState(ev)
	case *core.Override:
		n = e.override(ev)
	case *core.PolicyChange:
		n = e.policyChange(ev)
	case *core.ConfigChange:
		n = note{kind: kindConfig, id: ev.Digest, at: ev.At}
		e.text("digest", ev.Digest)
		e.text("by", ev.By)
		e.textIf("refused", ev.Refused)
	case *core.FaultChange:
		n = note{kind: kindFault, id: ev.Vendor, at: ev.At}
		e.text("vendor", ev.Vendor)
		e.text("fault", ev.Fault)
		e.text("by", ev.By)
	default:
		return note{}, false
	}
	e.b = append(e.b, '}')
	return n, true
}

func (e *encoder) transition(t *core.Transition) note {
	e.text("target", t.Target)
	e.text("use_case", t.UseCase)
	e.text("from", t.From.String())
	e.text("to", t.To.String())
	e.text("cause", t.Cause)
	e.number("failures", int64(t.Failures))
	e.number("calls", int64(t.Calls))
	e.micros("until_us", t.Until)
	e.number("opens", int64(t.Opens))
	e.text("effective", t.Effective.String())
	e.textIf("revision", t.Revision)
	c := &change{kind: stateCircuit, subject: t.Target, qualifier: t.UseCase}
	if t.To != circuit.Closed {
		var s encoder
		s.b = append(s.b, '{')
		s.text("state", t.To.String())
		s.micros("since_us", t.At)
		s.micros("until_us", t.Until)
		s.text("cause", t.Cause)
		s.number("opens", int64(t.Opens))
		c.body = string(append(s.b, '}'))
	}
	return note{kind: kindTransition, id: t.Target, at: t.At, change: c}
}

func (e *encoder) cooldown(c *core.Cooldown) note {
	start := len(e.b) - 1
	e.text("quota_group", c.QuotaGroup)
	e.text("key", c.Key)
	e.text("target", c.Target)
	e.micros("until_us", c.Until)
	e.flag("hinted", c.Hinted)
	return note{kind: kindCooldown, id: c.QuotaGroup, at: c.At, change: &change{
		kind: stateCooldown, subject: c.QuotaGroup, qualifier: c.Key, untilUS: micros(c.Until), body: e.copyFrom(start),
	}}
}

func (e *encoder) budget(s *core.BudgetSample) note {
	start := len(e.b) - 1
	e.text("target", s.Target)
	e.text("use_case", s.UseCase)
	e.float("tokens", s.Tokens)
	e.float("capacity", s.Capacity)
	e.float("zero_seconds", s.ZeroSeconds)
	return note{kind: kindBudget, id: s.Target, at: s.At, change: &change{
		kind: stateBudget, subject: s.Target, qualifier: s.UseCase, body: e.copyFrom(start),
	}}
}

// spend is kept until its month is over, when nothing in it counts any more.
func (e *encoder) spend(s *core.SpendSample) note {
	start := len(e.b) - 1
	e.text("scope", s.Scope.String())
	e.text("id", s.ID)
	e.micros("day_us", s.Day)
	e.micros("month_us", s.Month)
	e.numberIf("day_picousd", s.DayPico)
	e.numberIf("month_picousd", s.MonthPico)
	e.numberIf("day_cap_picousd", s.DayCapPico)
	e.numberIf("month_cap_picousd", s.MonthCapPico)
	return note{kind: kindSpend, id: s.ID, at: s.At, change: &change{
		kind: stateSpend, subject: s.ID, qualifier: s.Scope.String(), untilUS: micros(s.Month.AddDate(0, 1, 0)),
		body: e.copyFrom(start),
	}}
}

func (e *encoder) keyState(k *core.KeyState) note {
	start := len(e.b) - 1
	e.text("provider", k.Provider)
	e.text("key", k.Key)
	e.flag("usable", k.Usable)
	e.text("kind", k.Kind.String())
	e.text("by", k.By)
	e.textIf("reason", k.Reason)
	e.numberIf("left", int64(k.Left))
	e.numberIf("total", int64(k.Total))
	c := &change{kind: stateKey, subject: k.Provider, qualifier: k.Key}
	if !k.Usable {
		c.body = e.stampedFrom(start, k.At)
	}
	return note{kind: kindKey, id: k.Provider + "/" + k.Key, at: k.At, change: c}
}

func (e *encoder) override(o *core.Override) note {
	start := len(e.b) - 1
	e.text("target", o.Target)
	e.text("use_case", o.UseCase)
	e.text("hold", o.Hold.String())
	e.text("by", o.By)
	e.text("reason", o.Reason)
	e.micros("until_us", o.Until)
	c := &change{kind: stateOverride, subject: o.Target, qualifier: o.UseCase, untilUS: micros(o.Until)}
	// A release inside a wider hold has an end too, and is part of the state.
	if o.Hold != circuit.HoldNone || !o.Until.IsZero() {
		c.body = e.stampedFrom(start, o.At)
	}
	return note{kind: kindOverride, id: o.Target, at: o.At, change: c}
}

func (e *encoder) policyChange(p *core.PolicyChange) note {
	e.text("action", p.Action)
	e.text("revision", p.Revision)
	e.textIf("previous", p.Previous)
	e.number("number", int64(p.Number))
	e.text("by", p.By)
	e.text("reason", p.Reason)
	return note{kind: kindPolicy, id: p.Revision, at: p.At}
}

// copyFrom returns what was written since start as a whole object.
func (e *encoder) copyFrom(start int) string { return string(e.b[start:]) + "}" }

// stampedFrom is copyFrom with the event's time, which a state row has no column for.
func (e *encoder) stampedFrom(start int, at time.Time) string {
	s := encoder{b: append([]byte(nil), e.b[start:]...)}
	s.micros("at_us", at)
	return string(append(s.b, '}'))
}

// micros is the database's form of a time, 0 for none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// fromMicros is the reverse of micros.
func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
