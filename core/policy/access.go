package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/spillway-llm/spillway/core"
)

// KeyAttributes are what an operator says about a caller's key; the access
// policy turns them into grants.
type KeyAttributes struct {
	ID, Name, Tenant string
	// Plan is the key's plan, in the shipped policy free, paid, internal or admin.
	Plan string
	// UseCases that the key asks for, its default first; empty: all of its plan.
	UseCases []string
	Language string
}

// access evaluates the access policy.
type access struct {
	program  *program
	data     *documents
	useCases []core.UseCase
	limits   limits
}

func newAccess(p *program, data *documents, useCases []core.UseCase, l limits) *access {
	return &access{program: p, data: data, useCases: useCases, limits: l}
}

// Grants evaluates what a key may ask for (R17.1). It is for the creation of
// keys and for activations, not for requests. An error means that the key must
// not be used.
func (p *Policy) Grants(k KeyAttributes) (core.Grants, error) { return p.access.grants(k) }

func (a *access) grants(k KeyAttributes) (core.Grants, error) {
	asked := make([]*ast.Term, 0, len(k.UseCases))
	for _, id := range k.UseCases {
		if !a.known(id) {
			return core.Grants{}, fmt.Errorf("grants of key %q: use case %q is not known to the revision", k.ID, id)
		}
		asked = append(asked, ast.StringTerm(id))
	}
	key := []pair{
		text("id", k.ID), text("name", k.Name), text("tenant", k.Tenant), text("plan", k.Plan),
		field("use_cases", ast.ArrayTerm(asked...)), text("language", k.Language),
	}
	answer, err := a.ask(entryAccess, key)
	if err != nil {
		return core.Grants{}, fmt.Errorf("grants of key %q: %w", k.ID, err)
	}
	if answer == nil {
		return core.Grants{}, fmt.Errorf("grants of key %q: the access policy grants nothing to plan %q with use cases %q",
			k.ID, k.Plan, k.UseCases)
	}
	r := newReader("grants", answer)
	g := core.Grants{
		Tenant: r.text("tenant"), TenantClass: r.text("tenant_class"),
		Audience: core.Audience(r.word("audience", string(core.AudienceFree), string(core.AudiencePaid), string(core.AudienceAdmin))),
		UseCases: r.texts("use_cases"), MaxPriority: r.number("max_priority", 0, 10),
		Language: r.word("language", core.Languages()...),
	}
	for _, id := range g.UseCases {
		if !a.known(id) {
			r.fail("grants: use case %q is not known to the revision", id)
		}
	}
	if len(g.UseCases) == 0 {
		r.fail("grants: there is no use case in it")
	}
	if err := r.done(); err != nil {
		return core.Grants{}, fmt.Errorf("grants of key %q: %w", k.ID, err)
	}
	if g.Limits, err = a.keyLimits(key); err != nil {
		return core.Grants{}, fmt.Errorf("limits of key %q: %w", k.ID, err)
	}
	return g, nil
}

// ask evaluates an entry point; a nil answer is an undefined one.
func (a *access) ask(entry string, input []pair) (*ast.Term, error) {
	m := a.limits.meter(a.limits.steps)
	answer, err := a.program.run(a.program.queries[entry], &evaluation{data: a.data, meter: m, input: object(input...)})
	if err != nil {
		return nil, errors.New(evaluationMessage(err, m))
	}
	return answer, nil
}

// keyLimits evaluates what the key may use.
func (a *access) keyLimits(key []pair) (core.CallerLimits, error) {
	answer, err := a.ask(entryLimits, append([]pair{text("scope", scopeKey)}, key...))
	if err != nil {
		return core.CallerLimits{}, err
	}
	if answer == nil {
		return core.CallerLimits{}, errors.New("undefined: give the rule a default")
	}
	return decodeCallerLimits(newReader("limits", answer))
}

func (a *access) known(id string) bool {
	return slices.ContainsFunc(a.useCases, func(u core.UseCase) bool { return u.ID == id })
}
