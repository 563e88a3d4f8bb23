package exchange

import (
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// Notice is what a caller is told beside the answer (R11). Its zero value tells
// nothing.
type Notice struct {
	decision, idHeader       string
	target, policy, fallback string
	degraded                 string
	attempts                 string
	warnings, circuits       string
	retryAfter, shouldRetry  string
}

// Differs reports whether a caller who was told the other notice should hear more.
func (n *Notice) Differs(told *Notice) bool {
	return n.target != told.target || n.fallback != told.fallback || n.degraded != told.degraded
}

// News words the notice as a comment of a stream.
func (n *Notice) News() string {
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

// HeaderValues sets headers whose values share one piece of memory.
type HeaderValues struct {
	h      http.Header
	values []string
}

// Set sets a header by its canonical name; an empty value sets nothing.
func (v *HeaderValues) Set(key, value string) {
	if value == "" {
		return
	}
	v.values = append(v.values, value)
	n := len(v.values)
	v.h[key] = v.values[n-1 : n : n]
}

// Headers sets the notice's headers and takes more. They are few: up to eight
// entries a header map needs no growing.
func (n *Notice) Headers(h http.Header) HeaderValues {
	v := HeaderValues{h: h, values: make([]string, 0, 12)}
	v.Set("Spillway-Decision", n.decision)
	v.Set(n.idHeader, n.decision)
	v.Set("Spillway-Target", n.target)
	v.Set("Spillway-Policy", n.policy)
	v.Set("Spillway-Fallback", n.fallback)
	v.Set("Spillway-Degraded", n.degraded)
	v.Set("Spillway-Attempts", n.attempts)
	v.Set("Spillway-Warnings", n.warnings)
	v.Set("Spillway-Circuits", n.circuits)
	v.Set("Retry-After", n.retryAfter)
	v.Set("X-Should-Retry", n.shouldRetry)
	return v
}

// sdkPatience is the longest Retry-After that the SDKs obey: above it openai's
// falls back to its own short backoff (wire.md 2.3).
const sdkPatience = 60 * time.Second

// adviseRetry tells the caller's SDK whether and when to try again: the layers
// must not multiply (R4.5).
func (n *Notice) adviseRetry(e *core.Error, attempts int) {
	if e.RetryAfter > 0 {
		n.retryAfter = strconv.FormatInt(int64(math.Ceil(e.RetryAfter.Seconds())), 10)
	}
	wait := e.RetryAfter > 0 && e.RetryAfter <= sdkPatience
	throttled := e.Kind == core.KindRateLimited || attempts == 0
	if throttled && wait && !e.Spent {
		return // obeying the hint is the right retry
	}
	never := e.Kind == core.KindLimitLocal && e.RetryAfter == 0
	if attempts > 0 || e.RetryAfter > sdkPatience || never {
		n.shouldRetry = "false"
	}
}

// RequestIDHeader is where each vendor's SDKs look for the request's id.
func RequestIDHeader(w core.Wire) string {
	if w == core.WireAnthropic {
		return "Request-Id"
	}
	return "X-Request-Id"
}

// announce prepares what the caller is told if this attempt answers.
func (x *Exchange) announce(a *core.Attempt) {
	d := a.Decision
	disclosure := a.Disclosure
	if a.Situation == core.SituationNone && len(x.form.warnings) > 0 {
		disclosure = x.pool.cfg.Engine.Disclosure(&d.Facts, core.SituationTranslated)
	}
	text := fill(disclosure.Text, a.Target.ID, d)
	x.disclosed = core.Disclosed{Detail: disclosure.Detail, Text: text}
	n := Notice{decision: d.ID, idHeader: RequestIDHeader(x.format.Wire()), degraded: headerText(text, d.Facts.Language)}
	if disclosure.Detail == core.DetailTarget || disclosure.Detail == core.DetailAdmin {
		n.target, n.policy = a.Target.ID, d.Revision
		n.fallback = strconv.FormatBool(a.Situation == core.SituationFallback)
	}
	if disclosure.Detail == core.DetailAdmin {
		n.attempts = attemptsText(d, a)
		n.warnings = headerText(strings.Join(x.form.warnings, "; "), "en")
		n.circuits = circuitsText(d)
	}
	x.sink.Announce(n)
}

// settleDisclosure records what the caller of an answer was told.
func (x *Exchange) settleDisclosure() {
	d := &x.Request.Decision
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
