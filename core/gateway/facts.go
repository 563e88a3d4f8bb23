package gateway

import (
	"hash/maphash"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spillway-llm/spillway/core"
)

// The bounds of what callers may say in headers.
const (
	maxPriority        = 10
	maxLatencyBudgetMS = 600_000 // the longest that a whole request may take (R3.1)
	maxAffinityBytes   = 256
	maxTagsBytes       = 256
)

// asks are the Spillway headers of one request, checked but not yet bounded by
// the key's grants.
type asks struct {
	useCase       string
	task          core.Task
	priority      int
	latencyMS     int
	quality       core.Quality
	affinity      string
	forceFallback bool
	tags          string
}

// headerPrefix starts every header that asks something of the gateway.
const headerPrefix = "Spillway-"

// askNames are the headers that callers may send.
func askNames() []string {
	return []string{
		"Spillway-Use-Case", "Spillway-Task", "Spillway-Priority", "Spillway-Latency-Budget", "Spillway-Quality",
		"Spillway-Affinity", "Spillway-Force-Fallback", "Spillway-Cache", "Spillway-Tags",
	}
}

// readAsks reads the Spillway headers. A misspelt one is an error: as a silent
// default it would be found out much later.
func readAsks(h http.Header) (asks, *core.Error) {
	a := asks{
		task: core.TaskSimple, priority: core.DefaultPriority, quality: core.QualityBalanced,
		latencyMS: core.DefaultLatencyBudgetMS,
	}
	var first *core.Error
	at := ""
	for name, values := range h {
		if !strings.HasPrefix(name, headerPrefix) {
			continue
		}
		e := a.set(name, values)
		if e != nil && (first == nil || name < at) {
			first, at = e, name // of several, always the same one
		}
	}
	return a, first
}

// set takes one header.
func (a *asks) set(name string, values []string) *core.Error {
	if len(values) != 1 {
		return badRequest("header %s was sent %d times: send it once", name, len(values))
	}
	v := values[0]
	var e *core.Error
	switch name {
	case "Spillway-Use-Case":
		a.useCase = v
	case "Spillway-Task":
		a.task, e = oneOf(name, v, core.Tasks())
	case "Spillway-Priority":
		a.priority, e = number(name, v, 0, maxPriority)
	case "Spillway-Latency-Budget":
		a.latencyMS, e = number(name, v, 1, maxLatencyBudgetMS)
	case "Spillway-Quality":
		a.quality, e = oneOf(name, v, core.Qualities())
	case "Spillway-Affinity":
		a.affinity, e = text(name, v, maxAffinityBytes)
	case "Spillway-Force-Fallback":
		a.forceFallback, e = boolean(name, v)
	case "Spillway-Cache":
		_, e = oneOf(name, v, []string{"off"}) // there is none yet: off is what everybody has
	case "Spillway-Tags":
		a.tags, e = text(name, v, maxTagsBytes)
	default:
		return unknownAsk(name)
	}
	return e
}

func unknownAsk(name string) *core.Error {
	hint := ""
	if near := nearest(name, askNames(), 1); len(near) > 0 {
		hint = "did you mean " + near[0] + "? "
	}
	return badRequest("header %.60q is not known: %sknown are %s", name, hint, strings.Join(askNames(), ", "))
}

func oneOf[T ~string](name, v string, known []T) (T, *core.Error) {
	if i := slices.Index(known, T(v)); i >= 0 {
		return known[i], nil
	}
	list := make([]string, len(known))
	for i, k := range known {
		list[i] = string(k)
	}
	return known[0], badRequest("header %s is %.60q: use %s", name, v, strings.Join(list, ", "))
}

func number(name, v string, least, most int) (int, *core.Error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		return 0, badRequest("header %s is %.60q: use a whole number from %d to %d", name, v, least, most)
	}
	return n, nil
}

func boolean(name, v string) (bool, *core.Error) {
	switch v {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, badRequest("header %s is %.60q: use true or false", name, v)
}

func text(name, v string, most int) (string, *core.Error) {
	if len(v) > most {
		return "", badRequest("header %s has %d bytes: at most %d are kept", name, len(v), most)
	}
	for i := range len(v) {
		if v[i] < ' ' || v[i] > '~' {
			return "", badRequest("header %s: byte %d is not printable ASCII", name, i+1)
		}
	}
	return v, nil
}

// ask turns what was read of the request into the engine's request: what the
// caller asks for, bounded by what its key grants.
func (x *exchange) ask() *core.Error {
	a, e := readAsks(x.r.Header)
	if e != nil {
		return e
	}
	rev := x.g.cfg.Engine.Revision()
	g := &x.caller.Grants
	m, e := resolve(x.peek.Model, rev, g)
	if e != nil {
		return e
	}
	useCase, e := useCaseOf(a.useCase, m.useCase, rev.Tables, g)
	if e != nil {
		return e
	}
	x.req.KeyID, x.req.Tenant, x.req.Wire, x.req.Tags = x.caller.KeyID, g.Tenant, x.format.Wire(), a.tags
	x.req.Affinity, x.req.RetryOf, x.req.Limits = x.affinity(a.affinity), retryCount(x.r.Header), g.Limits
	audience := g.Audience
	if audience == "" {
		audience = core.AudienceFree
	}
	x.req.Facts = core.Facts{
		UseCase: useCase, Task: a.task, Priority: min(a.priority, g.MaxPriority), Audience: audience,
		Quality: a.quality, LatencyBudgetMS: core.RoundUp2(a.latencyMS),
		InputTokens: core.RoundUp2(x.peek.InputTokens), MaxTokens: core.RoundUp2(x.peek.MaxTokens),
		Stream: x.peek.Stream, Model: m.model, Target: m.target, TenantClass: g.TenantClass, Needs: x.peek.Needs,
		ForceFallback: a.forceFallback, Language: language(x.r.Header, g.Language),
	}
	return nil
}

// useCaseOf decides the use case: the header's, the one named as model, the
// key's default.
func useCaseOf(header, model string, t *core.Tables, g *core.Grants) (string, *core.Error) {
	granted := g.UseCases
	if len(granted) == 0 {
		granted = []string{core.DefaultUseCase}
	}
	id := header
	if id == "" {
		id = model
	}
	if id == "" {
		id = granted[0]
	}
	i, ok := t.UseCaseIndex(id)
	if !ok {
		return "", badRequest("use case %.60q is not known: this key may use %s", id, strings.Join(granted, ", "))
	}
	if !slices.Contains(granted, id) {
		return "", refusal(core.KindInvalidRequest, http.StatusForbidden,
			"this key does not grant the use case %.60q: it may use %s, or ask the operator for a key that does",
			id, strings.Join(granted, ", "))
	}
	return t.UseCases[i].ID, nil
}

// affinity is the conversation's key (R2.4): the header, else the vendor's user
// id, else the start of the prompt. It is 0 without any of them. Tenants never
// share one.
func (x *exchange) affinity(header string) uint64 {
	var h maphash.Hash
	h.SetSeed(x.g.seed)
	_, _ = h.WriteString(x.caller.Grants.Tenant)
	_ = h.WriteByte(0)
	p := &x.peek
	switch {
	case header != "":
		_, _ = h.WriteString(header)
	case len(p.User) > 0:
		_, _ = h.Write(p.User)
	case len(p.Prefix[0])+len(p.Prefix[1]) > 0:
		_, _ = h.Write(p.Prefix[0])
		_ = h.WriteByte(0)
		_, _ = h.Write(p.Prefix[1])
	default:
		return 0
	}
	return max(h.Sum64(), 1)
}

// retryCount is what the SDKs say about their own retries, 0 for anything that
// is no count.
func retryCount(h http.Header) int {
	v := h["X-Stainless-Retry-Count"]
	if len(v) == 0 || v[0] == "0" {
		return 0
	}
	n, err := strconv.Atoi(v[0])
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// language is the first of the known languages that the caller prefers, else
// the key's, else the default.
func language(h http.Header, ofKey string) string {
	known := core.Languages()
	if v := h["Accept-Language"]; len(v) > 0 {
		if l := preferred(v[0], known); l != "" {
			return l
		}
	}
	if slices.Contains(known, ofKey) {
		return ofKey
	}
	return known[0]
}

// preferred picks from an Accept-Language list by its weights; "" without a match.
func preferred(list string, known []string) string {
	best, weight := "", 0.0
	for item := range strings.SplitSeq(list, ",") {
		tag, q, weighted := strings.Cut(item, ";")
		tag, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
		w := 1.0
		if weighted {
			n, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(q), "q="), 64)
			if err != nil {
				continue
			}
			w = n
		}
		if i := slices.Index(known, tag); i >= 0 && w > weight {
			best, weight = known[i], w
		}
	}
	return best
}
