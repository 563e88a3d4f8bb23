package console

import (
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// sentence says an event in words. Kinds that have no sentence show as they are.
func (p page) sentence(it feedItem) string {
	switch it.Kind {
	case "transition":
		s := p.T("feed.transition", it.Subject, it.UseCase, p.T("state."+string(wordState(it.To))+".long"))
		if it.Cause != "" {
			s += " · " + p.T("feed.cause", p.Word("kind", it.Cause))
		}
		return s + p.until(it.Until)
	case "cooldown":
		return p.T("feed.cooldown", it.Subject) + p.until(it.Until)
	case "level":
		return p.T("feed.level", it.Subject, p.T("level."+it.To), p.T("level."+it.From))
	case "key.out":
		return p.T("feed.key.out", it.Subject, p.Word("kind", it.Cause), it.By)
	case "key.back":
		return p.T("feed.key.back", it.Subject, it.By)
	case "override":
		return p.override(it)
	case "policy.activate", "policy.rollback", "policy.poisoned", "policy.default":
		return p.T("feed."+it.Kind, it.Number, it.By, it.Reason)
	case "config.loaded":
		if it.By == "start" {
			return p.T("feed.config.start")
		}
		return p.T("feed.config.loaded", it.By)
	case "config.refused":
		return p.T("feed.config.refused", it.By, it.Reason)
	case "fault.set":
		return p.T("feed.fault.set", it.Subject, p.Word("fault", it.To), it.By)
	case "fault.healed":
		return p.T("feed.fault.healed", it.Subject, it.By)
	case "gap":
		return p.gap(it)
	case "run":
		return p.T("feed.run." + first(it.Cause, "started"))
	}
	return it.Kind + " " + short(it.Subject)
}

// override says who held which circuits, or how that ended.
func (p page) override(it feedItem) string {
	target, useCase := first(it.Subject, p.T("hold.every_target")), first(it.UseCase, p.T("hold.every_use_case"))
	switch {
	case it.To != circuit.HoldNone.String():
		return p.T("feed.override", target, useCase, p.Word("hold", it.To), it.By, it.Reason) + p.until(it.Until)
	case it.By == core.ByTime:
		return p.T("feed.override.over", target, useCase)
	}
	return p.T("feed.override.released", target, useCase, it.By) + p.until(it.Until)
}

// gap says how much of the audit is missing, and admits it when nobody knows.
func (p page) gap(it feedItem) string {
	if it.Number > 0 {
		return p.T("feed.gap", it.Number, p.Word("gap", it.Cause))
	}
	return p.T("feed.gap.unknown", p.Word("gap", it.Cause))
}

func (p page) until(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " · " + p.T("feed.until", p.clock(t).text)
}

// wordState is the shown state of a circuit's recorded word.
func wordState(word string) state {
	switch word {
	case circuit.Open.String():
		return stateBlocked
	case circuit.HalfOpen.String():
		return stateProbing
	}
	return stateServing
}

// icon is the shape beside a sentence.
func (it feedItem) icon() state {
	switch it.Kind {
	case "transition":
		return wordState(it.To)
	case "cooldown":
		return stateCooling
	case "level":
		switch it.To {
		case core.Healthy.String():
			return stateServing
		case core.Degraded.String():
			return stateProbing
		}
		return stateBlocked
	case "override":
		if it.To == circuit.HoldNone.String() {
			return stateQuiet
		}
		return stateHeld
	case "key.out", "gap", "config.refused", "policy.poisoned", "fault.set":
		return stateUnusable
	case "key.back", "fault.healed":
		return stateServing
	}
	return stateQuiet
}
