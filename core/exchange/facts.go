package exchange

import (
	"hash/maphash"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spillway-llm/spillway/core"
)

// ask turns what was read of the request into the engine's request: what the
// caller asks for, bounded by what its key grants.
func (x *Exchange) ask(h http.Header, keyID string, g *core.Grants) *core.Error {
	a, e := readAsks(h)
	if e != nil {
		return e
	}
	m, e := x.pool.Resolve(x.peek.Model, g)
	if e != nil {
		return e
	}
	useCase, e := useCaseOf(a.useCase, m.UseCase, x.pool.cfg.Engine.Revision().Tables, g)
	if e != nil {
		return e
	}
	x.Request.KeyID, x.Request.Tenant, x.Request.Wire, x.Request.Tags = keyID, g.Tenant, x.format.Wire(), a.tags
	x.Request.Affinity, x.Request.RetryOf, x.Request.Limits = x.affinity(g.Tenant, a.affinity), retryCount(h), g.Limits
	audience := g.Audience
	if audience == "" {
		audience = core.AudienceFree
	}
	x.Request.Facts = core.Facts{
		UseCase: useCase, Task: a.task, Priority: min(a.priority, g.MaxPriority), Audience: audience,
		Quality: a.quality, LatencyBudgetMS: core.RoundUp2(a.latencyMS),
		InputTokens: core.RoundUp2(x.peek.InputTokens), MaxTokens: core.RoundUp2(x.peek.MaxTokens),
		Stream: x.peek.Stream, Model: m.Model, Target: m.Target, TenantClass: g.TenantClass, Needs: x.peek.Needs,
		ForceFallback: a.forceFallback, Language: language(h, g.Language),
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
		return "", BadRequest("use case %.60q is not known: this key may use %s", id, strings.Join(granted, ", "))
	}
	if !slices.Contains(granted, id) {
		return "", Refusal(core.KindInvalidRequest, http.StatusForbidden,
			"this key does not grant the use case %.60q: it may use %s, or ask the operator for a key that does",
			id, strings.Join(granted, ", "))
	}
	return t.UseCases[i].ID, nil
}

// affinity is the conversation's key (R2.4): the header, else the vendor's user
// id, else the start of the prompt. It is 0 without any of them. Tenants never
// share one.
func (x *Exchange) affinity(tenant, header string) uint64 {
	var h maphash.Hash
	h.SetSeed(x.pool.seed)
	_, _ = h.WriteString(tenant)
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
