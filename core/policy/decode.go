package policy

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/spillway-llm/spillway/core"
)

// The ranges of a plan's figures. An answer outside them is a mistake in the
// policy, and the safe plan serves instead.
const (
	maxHops      = 10
	maxAttempts  = 20
	maxTotalMS   = 3_600_000
	maxStepMS    = 600_000
	maxScore     = 1e12
	maxScoreTerm = 32
)

// reader reads the fields of one object and keeps the first mistake.
type reader struct {
	object ast.Object
	words  *vocabulary // nil: none
	what   string
	left   int // fields not read yet
	err    error
}

func newReader(what string, t *ast.Term) *reader {
	o, ok := t.Value.(ast.Object)
	if !ok {
		return &reader{what: what, object: ast.NewObject(), err: fmt.Errorf("%s is %s, not an object", what, ast.ValueName(t.Value))}
	}
	return &reader{what: what, object: o, left: o.Len()}
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reader) field(name string) *ast.Term {
	t := r.object.Get(r.words.word(name))
	if t == nil {
		r.fail("%s has no field %q", r.what, name)
		return nil
	}
	r.left--
	return t
}

func (r *reader) number(name string, least, most int) int {
	t := r.field(name)
	if t == nil {
		return 0
	}
	n, ok := t.Value.(ast.Number)
	if !ok {
		r.fail("%s: %s is %s, not a number", r.what, name, ast.ValueName(t.Value))
		return 0
	}
	i, ok := n.Int()
	if !ok {
		r.fail("%s: %s is not a whole number", r.what, name)
		return 0
	}
	if i < least || i > most {
		r.fail("%s: %s is %d, not in %d..%d", r.what, name, i, least, most)
	}
	return i
}

func (r *reader) decimal(name string) float64 {
	t := r.field(name)
	if t == nil {
		return 0
	}
	n, ok := t.Value.(ast.Number)
	if !ok {
		r.fail("%s: %s is %s, not a number", r.what, name, ast.ValueName(t.Value))
		return 0
	}
	f, _ := n.Float64()
	return f
}

func (r *reader) boolean(name string) bool {
	t := r.field(name)
	if t == nil {
		return false
	}
	b, ok := t.Value.(ast.Boolean)
	if !ok {
		r.fail("%s: %s is %s, not true or false", r.what, name, ast.ValueName(t.Value))
	}
	return bool(b)
}

func (r *reader) text(name string) string {
	t := r.field(name)
	if t == nil {
		return ""
	}
	s, ok := t.Value.(ast.String)
	if !ok {
		r.fail("%s: %s is %s, not a text", r.what, name, ast.ValueName(t.Value))
	}
	return string(s)
}

// word reads a text from a closed list.
func (r *reader) word(name string, words ...string) string {
	s := r.text(name)
	if r.err == nil && !slices.Contains(words, s) {
		r.fail("%s: %s is %q, not one of %q", r.what, name, s, words)
	}
	return s
}

// texts reads an array or a set of texts.
func (r *reader) texts(name string) []string {
	t := r.field(name)
	if t == nil {
		return nil
	}
	list, ok := texts(t)
	if !ok {
		r.fail("%s: %s is not a list of texts", r.what, name)
	}
	return list
}

// done reports the first mistake; a field that was not asked for is one.
func (r *reader) done() error {
	if r.err == nil && r.left > 0 {
		r.err = fmt.Errorf("%s has %d unknown fields among %v", r.what, r.left, r.object.Keys())
	}
	return r.err
}

func texts(t *ast.Term) ([]string, bool) {
	ok := true
	var list []string
	add := func(t *ast.Term) {
		s, isText := t.Value.(ast.String)
		list, ok = append(list, string(s)), ok && isText
	}
	switch v := t.Value.(type) {
	case *ast.Array:
		list = make([]string, 0, v.Len())
		v.Foreach(add)
	case ast.Set:
		list = make([]string, 0, v.Len())
		v.Foreach(add)
		slices.Sort(list)
	default:
		return nil, false
	}
	return list, ok
}

// decodePlan reads routing's answer and holds it to its contract.
func decodePlan(t *ast.Term, c *core.Catalog, words *vocabulary) (*core.Plan, error) {
	r := newReader("plan", t)
	r.words = words
	p := &core.Plan{
		Preferred: r.text("preferred"), NoTarget: r.text("no_target"),
		PauseBeforeVendorSwitchMS: r.number("pause_before_vendor_switch_ms", 0, maxStepMS),
		AllowContinuation:         r.boolean("allow_continuation"), AllowHedge: r.boolean("allow_hedge"),
	}
	ranked, limits, excluded, scores := r.texts("ranked"), r.field("limits"), r.field("excluded"), r.field("scores")
	if err := r.done(); err != nil {
		return nil, err
	}
	if _, ok := c.TargetIndex(p.Preferred); !ok && p.Preferred != "" {
		return nil, fmt.Errorf("plan: preferred is %q, which is no target", p.Preferred)
	}
	if (len(ranked) == 0) != (p.NoTarget != "") {
		return nil, errors.New("plan: no_target says why there is no ranked target, and is empty when there is one")
	}
	step, next, err := decodeLimits(p, limits, words)
	if err != nil {
		return nil, err
	}
	if err := rank(p, ranked, step, next, c); err != nil {
		return nil, err
	}
	if err := decodeExcluded(p, excluded, c, words); err != nil {
		return nil, err
	}
	return p, decodeScores(p, scores, words)
}

// decodeLimits returns the settings of the first and of the later steps.
func decodeLimits(p *core.Plan, t *ast.Term, words *vocabulary) (first, next core.Step, err error) {
	r := newReader("plan.limits", t)
	r.words = words
	p.Limits = core.Limits{
		MaxHops: r.number("max_hops", 0, maxHops), MaxAttempts: r.number("max_attempts", 1, maxAttempts),
		TotalMS: r.number("total_ms", 1, maxTotalMS),
	}
	first.FirstContentMS = r.number("first_content_ms", 1, maxStepMS)
	next.FirstContentMS = r.number("next_content_ms", 1, maxStepMS)
	first.IdleMS = r.number("idle_ms", 1, maxStepMS)
	next.IdleMS = first.IdleMS
	return first, next, r.done()
}

func rank(p *core.Plan, ranked []string, step, next core.Step, c *core.Catalog) error {
	p.Steps = make([]core.Step, 0, len(ranked))
	for _, id := range ranked {
		i, ok := c.TargetIndex(id)
		if !ok {
			return fmt.Errorf("plan: ranked has %q, which is no target", id)
		}
		if isRanked(p, id) {
			return fmt.Errorf("plan: ranked has %q twice", id)
		}
		step.Index, step.Target = i, id
		p.Steps = append(p.Steps, step)
		step = next
	}
	return nil
}

// decodeExcluded lists the other targets in the catalog's order.
func decodeExcluded(p *core.Plan, t *ast.Term, c *core.Catalog, words *vocabulary) error {
	o, ok := t.Value.(ast.Object)
	if !ok {
		return fmt.Errorf("plan: excluded is %s, not an object", ast.ValueName(t.Value))
	}
	p.Excluded = make([]core.Exclusion, 0, len(c.Targets)-len(p.Steps))
	found := 0
	for i := range c.Targets {
		id := c.Targets[i].ID
		ranked := isRanked(p, id)
		why := o.Get(words.word(id))
		switch {
		case why == nil && ranked:
			continue
		case why == nil:
			return fmt.Errorf("plan: target %q is neither ranked nor excluded", id)
		case ranked:
			return fmt.Errorf("plan: target %q is both ranked and excluded", id)
		}
		reasons, ok := texts(why)
		if !ok || len(reasons) == 0 {
			return fmt.Errorf("plan: target %q is excluded without a list of reasons", id)
		}
		p.Excluded = append(p.Excluded, core.Exclusion{Target: id, Reasons: reasons})
		found++
	}
	if found != o.Len() {
		return fmt.Errorf("plan: excluded names something that is no target among %v", o.Keys())
	}
	return nil
}

// decodeScores reads the scores of the ranked targets, in their order.
func decodeScores(p *core.Plan, t *ast.Term, words *vocabulary) error {
	o, ok := t.Value.(ast.Object)
	if !ok {
		return fmt.Errorf("plan: scores is %s, not an object", ast.ValueName(t.Value))
	}
	p.Scores = make([]core.Score, 0, len(p.Steps))
	for i := range p.Steps {
		terms := o.Get(words.word(p.Steps[i].Target))
		if terms == nil {
			continue
		}
		s, err := decodeScore(p.Steps[i].Target, terms)
		if err != nil {
			return err
		}
		p.Scores = append(p.Scores, s)
	}
	return nil
}

func decodeScore(id string, t *ast.Term) (core.Score, error) {
	s := core.Score{Target: id}
	o, ok := t.Value.(ast.Object)
	if !ok || o.Len() > maxScoreTerm {
		return s, fmt.Errorf("plan: the score of %q is no object of at most %d terms", id, maxScoreTerm)
	}
	s.Terms = make([]core.Term, 0, o.Len())
	var bad error
	o.Foreach(func(k, v *ast.Term) {
		name, isText := k.Value.(ast.String)
		value, isNumber := whole(v)
		if !isText || !isNumber {
			bad = fmt.Errorf("plan: the score of %q has a term that is no number", id)
			return
		}
		s.Terms = append(s.Terms, core.Term{Name: string(name), Value: value})
		s.Total += value
	})
	return s, bad
}

// whole rounds a number to thousandths of a point as an integer.
func whole(t *ast.Term) (int64, bool) {
	n, ok := t.Value.(ast.Number)
	if !ok {
		return 0, false
	}
	if i, ok := n.Int64(); ok && i > -maxScore && i < maxScore {
		return i, true
	}
	f, ok := n.Float64()
	if !ok || !(math.Abs(f) < maxScore) {
		return 0, false
	}
	return int64(math.Round(f)), true
}

func isRanked(p *core.Plan, id string) bool {
	return slices.ContainsFunc(p.Steps, func(s core.Step) bool { return s.Target == id })
}
