package policy

import (
	"slices"
	"strings"
	"unicode"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/retry"
)

// The bounds of a tabulation: of all cells together, and of the problems that
// are worth reading.
const (
	maxTableSteps    = 100 * defaultSteps
	maxTableProblems = 20
	maxTextRunes     = 300
)

// tabulator evaluates every cell of the finite domains, so that an operator
// sees what a revision means before it acts, and a cell without an answer is
// found now and not in an outage.
type tabulator struct {
	program  *program
	catalog  *core.Catalog
	useCases []core.UseCase
	files    Files
	config   *ast.Term
	data     *documents
	limits   limits
	shared   map[string]*shared
	answers  map[string]*ast.Term // by entry point and the inputs that it reads
	steps    int
	problems Problems
}

// shared is what all cells of one entry point have in common.
type shared struct {
	hoisted *hoisted
	reads   map[string]bool // fields of input
	all     bool            // every field may be read
}

func newTabulator(p *program, files Files, config *ast.Term, c *core.Catalog, useCases []core.UseCase, l limits) *tabulator {
	t := &tabulator{
		program: p, catalog: c, useCases: useCases, files: files, config: config, limits: l, shared: map[string]*shared{}, answers: map[string]*ast.Term{},
		data: newDocuments(pair{ast.StringTerm("config"), config}, pair{ast.StringTerm("targets"), targetsDocument(c)}),
	}
	return t
}

func (t *tabulator) tables() *core.Tables {
	out := &core.Tables{UseCases: t.useCases}
	for _, u := range t.useCases {
		circuits, budgets := t.circuits(u.ID)
		out.Circuits, out.Budgets = append(out.Circuits, circuits), append(out.Budgets, budgets)
		out.Reactions = append(out.Reactions, t.reactions(u.ID))
		out.Tiers = append(out.Tiers, t.tiers(u.ID))
		out.Disclosures = append(out.Disclosures, t.disclosures(u.ID))
	}
	t.limitTables(out)
	return out
}

// cell evaluates one entry point for one input; nil means that a problem was noted.
func (t *tabulator) cell(entry, what string, input ...pair) *reader {
	if len(t.problems) >= maxTableProblems {
		return nil
	}
	key := t.key(entry, input)
	if known, ok := t.answers[key]; ok {
		if known == nil {
			return nil
		}
		return newReader(what, known)
	}
	answer := t.evaluate(entry, what, input)
	t.answers[key] = answer
	if answer == nil {
		return nil
	}
	return newReader(what, answer)
}

// key tells cells apart by what their entry point reads: a thousand use cases
// that a policy does not look at are one cell.
func (t *tabulator) key(entry string, input []pair) string {
	s := t.of(entry)
	key := entry
	for _, p := range input {
		if s.all || s.reads[string(p[0].Value.(ast.String))] {
			key += "\x00" + p[1].String()
		}
	}
	return key
}

// evaluate asks for one cell; nil means that a problem was noted.
func (t *tabulator) evaluate(entry, what string, input []pair) *ast.Term {
	q := t.program.queries[entry]
	if t.steps > maxTableSteps {
		t.note(q.rule, CodeFuel, what, "the tables take more than %d steps", maxTableSteps)
		t.steps = 0
		return nil
	}
	m := t.limits.meter(t.limits.steps)
	ev := evaluation{data: t.data, input: object(input...), virtual: newHoistCache(t.of(entry).hoisted), meter: m}
	answer, err := t.program.run(q, &ev)
	t.steps += m.steps
	switch {
	case err != nil:
		loc := evaluationPlace(err)
		if loc == nil || loc.File == "" {
			loc = t.program.hottest(q, &evaluation{data: t.data, input: ev.input}, t.limits)
		}
		t.note(loc, evaluationCode(err, m), what, "%s", evaluationMessage(err, m))
		return nil
	case answer == nil && len(ev.errs) > 0:
		t.note(ev.errs[0].Location, CodeUndefined, what, "undefined: %s", ev.errs[0].Message)
		return nil
	case answer == nil:
		t.note(q.rule, CodeUndefined, what, "undefined: give the rule a default")
		return nil
	}
	return answer
}

// of finds what the cells of an entry point share: the rules that read no input.
func (t *tabulator) of(entry string) *shared {
	if s, ok := t.shared[entry]; ok {
		return s
	}
	ref := ast.MustParseRef("data." + entry)
	h := &hoisted{}
	s := &shared{hoisted: h}
	s.reads, s.all = t.program.reads(ref)
	t.shared[entry] = s
	hoists, _ := t.program.hoists(ref)
	cache := newHoistCache(h)
	for _, x := range hoists {
		m := t.limits.meter(hoistSteps)
		ev := evaluation{data: t.data, virtual: cache, meter: m}
		if v, err := t.program.run(x.query, &ev); err == nil && len(ev.errs) == 0 {
			h.put(x.path, v)
		}
	}
	return s
}

func (t *tabulator) note(loc *ast.Location, code, what, format string, args ...any) {
	t.problems = append(t.problems, problemAt(loc, code, what+": "+format, args...))
}

// finish notes what a reader found wrong, at the entry point's rule.
func (t *tabulator) finish(entry string, r *reader, err error) {
	if err == nil {
		err = r.done()
	}
	if err != nil {
		t.problems = append(t.problems, problemAt(t.program.queries[entry].rule, CodeContract, "%v", err))
	}
}

func (t *tabulator) circuits(useCase string) ([]circuit.Settings, []retry.BudgetSettings) {
	circuits := make([]circuit.Settings, len(t.catalog.Targets))
	budgets := make([]retry.BudgetSettings, len(t.catalog.Targets))
	for i := range t.catalog.Targets {
		id := t.catalog.Targets[i].ID
		r := t.cell(entryCircuits, "circuit of "+useCase+" × "+id, text("use_case", useCase), text("target", id))
		if r == nil {
			continue
		}
		const most = 24 * 3_600_000
		circuits[i] = circuit.Settings{
			FailureThreshold: r.number("failure_threshold", 1, most), WindowMS: r.number("window_ms", 1, most),
			ErrorRatePermille: r.number("error_rate_permille", 1, most), MinCalls: r.number("min_calls", 1, most),
			OpenForMS: r.number("open_for_ms", 1, most), OpenForMaxMS: r.number("open_for_max_ms", 1, most),
			HalfOpenPermits: r.number("half_open_permits", 1, most), SuccessThreshold: r.number("success_threshold", 1, most),
			LeaseMS: r.number("lease_ms", 1, most), SlowCallMS: r.number("slow_call_ms", 0, most),
			SlowRatePermille: r.number("slow_rate_permille", 0, most),
		}
		budget := r.field("budget")
		if err := r.done(); err != nil {
			t.finish(entryCircuits, r, err)
			continue
		}
		b := newReader(r.what+": budget", budget)
		budgets[i] = retry.BudgetSettings{Capacity: b.decimal("capacity"), Refund: b.decimal("refund")}
		t.finish(entryCircuits, b, nil)
		for _, err := range []error{circuits[i].Check(), budgets[i].Check()} {
			if err != nil {
				t.note(t.program.queries[entryCircuits].rule, CodeContract, r.what, "%v", err)
			}
		}
	}
	return circuits, budgets
}

func (t *tabulator) reactions(useCase string) (out [core.KindCount][2][2]core.Reaction) {
	for k := range core.KindCount {
		for i := range 4 {
			repeated, after := i>>1 == 1, i&1 == 1
			what := "reaction of " + useCase + " to " + k.String()
			r := t.cell(entryReactions, what, text("use_case", useCase), text("kind", k.String()),
				boolean("repeated", repeated), boolean("after_content", after))
			if r == nil {
				continue
			}
			x := core.Reaction{
				Retries: r.number("retries", 0, 10), BaseMS: r.number("base_ms", 0, 60_000), MaxMS: r.number("max_ms", 0, 600_000),
				Schedule: core.Schedule(r.word("schedule", string(core.ScheduleExponential), string(core.ScheduleConnect),
					string(core.ScheduleOverloaded))),
				MaxInlineWaitMS: r.number("max_inline_wait_ms", 0, 600_000), PauseMS: r.number("pause_ms", 0, 600_000),
				Next: core.Next(r.word("next", string(core.NextAny), string(core.NextOtherVendor), string(core.NextSameVendor),
					string(core.NextNone))),
			}
			if after && (x.Retries > 0 || x.Next != core.NextNone) {
				r.fail("%s: after first content there are no retries and next is none (R6.2)", what)
			}
			t.finish(entryReactions, r, nil)
			out[k][i>>1][i&1] = x
		}
	}
	return out
}

func (t *tabulator) tiers(useCase string) (out [core.LevelCount]core.Tier) {
	for l := range core.LevelCount {
		r := t.cell(entryTiers, "tier of "+useCase+" when "+l.String(), text("use_case", useCase), text("level", l.String()))
		if r == nil {
			continue
		}
		out[l] = core.Tier{
			Name: r.text("name"), RTOSeconds: r.number("rto_s", 0, 30*86_400), RPOSeconds: r.number("rpo_s", -1, 30*86_400),
			Outage: core.OutagePath(r.word("outage", string(core.OutageQueue), string(core.OutageGraceful),
				string(core.OutageStatic), string(core.OutageRefuse))),
			QueueBelow: r.number("queue_below", 0, 11),
		}
		if out[l].Name == "" {
			r.fail("%s: a tier needs a name", r.what)
		}
		t.finish(entryTiers, r, nil)
	}
	return out
}

func (t *tabulator) disclosures(useCase string) (out [3][core.SituationCount][2]core.Disclosure) {
	for a, audience := range core.Audiences() {
		for s := range core.SituationCount {
			for l, language := range core.Languages() {
				out[a][s][l] = t.disclosure(useCase, audience, s, language)
			}
		}
	}
	return out
}

func (t *tabulator) disclosure(useCase string, audience core.Audience, s core.Situation, language string) core.Disclosure {
	what := "disclosure to " + string(audience) + " in " + useCase + " of " + s.String()
	r := t.cell(entryDisclosure, what, text("use_case", useCase), text("audience", string(audience)),
		text("situation", s.String()), text("language", language))
	if r == nil {
		return core.Disclosure{}
	}
	d := core.Disclosure{
		Detail: core.Detail(r.word("detail", string(core.DetailNone), string(core.DetailTarget), string(core.DetailAdmin))),
		Text:   r.text("text"), AliasModel: r.boolean("alias_model"),
	}
	if d.Detail == core.DetailAdmin && audience != core.AudienceAdmin {
		r.fail("%s: detail admin is for the admin audience alone (R11.3)", what)
	}
	if d.AliasModel {
		// A setting that acts on nothing would be believed (R27).
		r.fail("%s: alias_model is not supported yet: answers name the model that gave them; set it to false", what)
	}
	checkText(r, what, d.Text)
	t.finish(entryDisclosure, r, nil)
	return d
}

// checkText holds a disclosure's text to one line and to the known placeholders:
// it travels in headers and comments.
func checkText(r *reader, what, s string) {
	if len([]rune(s)) > maxTextRunes || strings.ContainsFunc(s, unicode.IsControl) {
		r.fail("%s: a text is one line of at most %d characters", what, maxTextRunes)
	}
	known := []string{"{target}", "{preferred}", "{age}", "{ticket}", "{eta}"}
	for _, part := range strings.SplitAfter(s, "}") {
		_, name, found := strings.Cut(part, "{")
		if found && !slices.Contains(known, "{"+name) {
			r.fail("%s: unknown placeholder %q in the text; known are %q", what, "{"+name, known)
		}
	}
}
