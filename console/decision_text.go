package console

import (
	"strconv"
	"strings"

	"github.com/spillway-llm/spillway/core/audit"
)

// barLabel says what the bar of an attempt shows.
func (p page) barLabel(t traceStep) string {
	a := t.Attempt
	if a.FirstMS > 0 {
		return p.T("trace.bar.content", p.Latency(milliseconds(a.StartMS)), p.Latency(milliseconds(a.FirstMS)), p.Latency(milliseconds(a.DurationMS)))
	}
	return p.T("trace.bar", p.Latency(milliseconds(a.StartMS)), p.Latency(milliseconds(a.DurationMS)))
}

// vendorSaid is the vendor's status and its own closed words for the error.
func (p page) vendorSaid(a audit.Attempt) string {
	var said []string
	if a.Status != 0 {
		said = append(said, strconv.Itoa(a.Status))
	}
	for _, s := range []string{a.Type, a.Code} {
		if s != "" {
			said = append(said, s)
		}
	}
	if a.RetryAfterMS > 0 {
		said = append(said, "Retry-After "+p.Span(milliseconds(a.RetryAfterMS)))
	}
	if len(said) == 0 {
		return "–"
	}
	return strings.Join(said, " · ")
}

// tokens is an attempt's usage, with what came from and went to caches apart.
func (p page) tokens(a audit.Attempt) string {
	if a.Input+a.Output+a.CacheRead+a.CacheWrite == 0 {
		return "–"
	}
	s := strconv.FormatInt(a.Input, 10) + " / " + strconv.FormatInt(a.Output, 10)
	if a.CacheRead+a.CacheWrite > 0 {
		s += " " + p.T("tokens.cache", a.CacheRead, a.CacheWrite)
	}
	return s
}

// liveFigures is what the decision's snapshot said about a target.
func (p page) liveFigures(v decisionView, target string) string {
	l, circuit, ok := v.liveState(target)
	if !ok {
		return "–"
	}
	s := []string{
		p.T("state." + string(wordState(circuit))),
		p.Permille(l.SuccessPermille),
		p.figure(l.P95MS),
	}
	if l.CoolingDown {
		s = append(s, p.T("state.cooling"))
	}
	return strings.Join(s, " · ")
}
