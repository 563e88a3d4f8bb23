package gateway

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// notice is what a caller is told beside the answer (R11). Empty fields are not
// told.
type notice struct {
	decision, idHeader       string
	target, policy, fallback string
	degraded                 string
	attempts                 string
	warnings, circuits       string
}

// differs reports whether a caller who was told the other notice should hear more.
func (n *notice) differs(told *notice) bool {
	return n.target != told.target || n.fallback != told.fallback || n.degraded != told.degraded
}

// news words the notice as a comment of a stream.
func (n *notice) news() string {
	var parts []string
	for _, p := range [...][2]string{
		{"target", n.target}, {"fallback", n.fallback}, {"degraded", n.degraded}, {"attempts", n.attempts},
	} {
		if p[1] != "" {
			parts = append(parts, p[0]+"="+p[1])
		}
	}
	return strings.Join(parts, "; ")
}

// headerValues sets headers whose values share one piece of memory.
type headerValues struct {
	h      http.Header
	values []string
}

func (v *headerValues) set(key, value string) {
	if value == "" {
		return
	}
	v.values = append(v.values, value)
	n := len(v.values)
	v.h[key] = v.values[n-1 : n : n]
}

// headers sets the notice's headers. They are few: up to eight entries a header
// map needs no growing.
func (r *reply) headers() headerValues {
	v := headerValues{h: r.w.Header(), values: make([]string, 0, 12)}
	n := &r.notice
	v.set("Spillway-Decision", n.decision)
	v.set(n.idHeader, n.decision)
	v.set("Spillway-Target", n.target)
	v.set("Spillway-Policy", n.policy)
	v.set("Spillway-Fallback", n.fallback)
	v.set("Spillway-Degraded", n.degraded)
	v.set("Spillway-Attempts", n.attempts)
	v.set("Spillway-Warnings", n.warnings)
	v.set("Spillway-Circuits", n.circuits)
	return v
}

// announce prepares what the caller is told if this attempt answers.
func (x *exchange) announce(a *core.Attempt) {
	d := a.Decision
	disclosure := a.Disclosure
	if a.Situation == core.SituationNone && len(x.form.warnings) > 0 {
		disclosure = x.g.cfg.Engine.Disclosure(&d.Facts, core.SituationTranslated)
	}
	text := fill(disclosure.Text, a.Target.ID, d)
	x.disclosed = core.Disclosed{Detail: disclosure.Detail, Text: text}
	n := notice{decision: d.ID, idHeader: requestIDHeader(x.format), degraded: headerText(text, d.Facts.Language)}
	if disclosure.Detail == core.DetailTarget || disclosure.Detail == core.DetailAdmin {
		n.target, n.policy = a.Target.ID, d.Revision
		n.fallback = strconv.FormatBool(a.Situation == core.SituationFallback)
	}
	if disclosure.Detail == core.DetailAdmin {
		n.attempts = attemptsText(d, a)
		n.warnings = headerText(strings.Join(x.form.warnings, "; "), "en")
		n.circuits = circuitsText(d)
	}
	x.reply.announce(n)
}

// settleDisclosure records what the caller of an answer was told.
func (x *exchange) settleDisclosure() {
	d := &x.req.Decision
	d.Disclosed = x.disclosed
	d.Warnings = append(append(d.Warnings, x.form.warnings...), x.form.lost...)
	if d.Situation == core.SituationNone && len(x.form.warnings) > 0 {
		d.Situation = core.SituationTranslated
	}
}

// fill puts the names into a disclosure text. Placeholders that have no value
// here (a cache's age, a ticket) vanish.
func fill(text, target string, d *core.Decision) string {
	if !strings.Contains(text, "{") {
		return text
	}
	preferred := ""
	if d.Plan != nil {
		preferred = d.Plan.Preferred
	}
	return strings.NewReplacer("{target}", target, "{preferred}", preferred, "{age}", "", "{ticket}", "", "{eta}", "").
		Replace(text)
}

// headerText makes a text safe for a header: plain ASCII as it is, anything
// else as RFC 8187 has it, UTF-8'language'percent-encoded.
func headerText(s, language string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return "UTF-8'" + language + "'" + url.PathEscape(s)
		}
	}
	return s
}

// attemptsText is the chain so far, this attempt included, for admins.
func attemptsText(d *core.Decision, a *core.Attempt) string {
	var b strings.Builder
	b.WriteString(strconv.Itoa(a.Number))
	for i := range d.Attempts {
		r := &d.Attempts[i]
		b.WriteString("; ")
		b.WriteString(r.Target)
		if r.Number == a.Number {
			continue // how it ends is not known yet
		}
		b.WriteByte('=')
		b.WriteString(r.Kind.String())
	}
	return b.String()
}

// circuitsText names the circuits of the use case that are not closed, for admins.
func circuitsText(d *core.Decision) string {
	s := d.Snapshot
	if s == nil {
		return ""
	}
	var b strings.Builder
	for i := range s.Targets {
		if d.UseCase >= len(s.Targets[i].Circuits) {
			continue
		}
		state := s.Targets[i].Circuits[d.UseCase].State
		if state == circuit.Closed {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(s.Catalog.Targets[i].ID)
		b.WriteByte('=')
		b.WriteString(state.String())
	}
	return b.String()
}
