package console

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/audit"
)

// decisionView is what the page of one decision shows.
type decisionView struct {
	D     audit.Detail
	Facts core.Facts
	Plan  planDocument
	Live  map[string]core.LiveDocument
	Trace []traceStep
	// Terms are the names of the score's terms, in the order of the table's columns.
	Terms []string
	Body  string
}

// planDocument is the recorded form of a plan.
type planDocument struct {
	Revision      string           `json:"revision"`
	Source        string           `json:"source"`
	Steps         []core.Step      `json:"steps"`
	Excluded      []core.Exclusion `json:"excluded"`
	Scores        []core.Score     `json:"scores"`
	Preferred     string           `json:"preferred"`
	NoTarget      string           `json:"no_target"`
	Limits        core.Limits      `json:"limits"`
	Fired         []string         `json:"fired"`
	PolicyError   string           `json:"policy_error"`
	BuiltinErrors []string         `json:"builtin_errors"`
	EvalSteps     int              `json:"eval_steps"`
}

// traceStep is one line of the trace: an attempt, a step that was skipped, a
// step that the request did not come to, or a target that was no step.
type traceStep struct {
	Target  string
	Kind    traceKind
	Attempt *audit.Attempt
	// Reasons say why nothing was sent, for all but attempts.
	Reasons []string
	// Bar is the attempt's place in the request's time, in permille.
	BarFrom, BarFirst, BarTo int
}

type traceKind string

const (
	traceAnswered traceKind = "answered"
	traceFailed   traceKind = "failed"
	traceSkipped  traceKind = "skipped"
	traceUnused   traceKind = "unused"
	traceExcluded traceKind = "excluded"
)

// decisionPage serves GET /console/decisions/{id}.
func (c *Console) decisionPage(w http.ResponseWriter, r *http.Request, p page) error {
	d, err := c.cfg.History.Decision(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	v := readDecision(p, d)
	p.Area, p.Title = "decisions", p.T("decision.title", d.ID)
	c.adorn(&p)
	return c.render(w, r, http.StatusOK, decisionPageView(p, v))
}

// decisionRaw serves the event as it stands in the database.
func (c *Console) decisionRaw(w http.ResponseWriter, r *http.Request, _ page) error {
	d, err := c.cfg.History.Decision(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	// A failed write means that the browser left: there is nobody to tell.
	_, _ = w.Write(d.Body)
	return nil
}

// readDecision reads the recorded documents. One that can't be read leaves its
// section empty: the raw event is on the page anyway.
func readDecision(p page, d audit.Detail) decisionView {
	v := decisionView{D: d, Body: indent(d.Body)}
	var snapshot struct {
		Live map[string]core.LiveDocument `json:"live"`
	}
	_ = json.Unmarshal(d.Facts, &v.Facts)
	_ = json.Unmarshal(d.Plan, &v.Plan)
	_ = json.Unmarshal(d.Snapshot, &snapshot)
	v.Live = snapshot.Live
	v.Trace = trace(p, d, v.Plan)
	for _, s := range v.Plan.Scores {
		for _, t := range s.Terms {
			if !slices.Contains(v.Terms, t.Name) {
				v.Terms = append(v.Terms, t.Name)
			}
		}
	}
	return v
}

func indent(body json.RawMessage) string {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return string(body)
	}
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return string(body)
	}
	return string(out)
}

// trace lists every target: the plan's steps in order with what became of them,
// then those that were no step.
func trace(p page, d audit.Detail, plan planDocument) []traceStep {
	var out []traceStep
	seen := map[string]bool{}
	steps := len(plan.Steps)
	for _, a := range d.Attempts {
		steps = max(steps, a.Step+1)
	}
	for _, s := range d.Skips {
		steps = max(steps, s.Step+1)
	}
	for i := range steps {
		found := stepTrace(p, d, i)
		if len(found) == 0 && i < len(plan.Steps) {
			found = []traceStep{{Target: plan.Steps[i].Target, Kind: traceUnused, Reasons: []string{p.unused(d)}}}
		}
		for _, t := range found {
			seen[t.Target] = true
		}
		out = append(out, found...)
	}
	for _, e := range plan.Excluded {
		if !seen[e.Target] {
			out = append(out, traceStep{Target: e.Target, Kind: traceExcluded, Reasons: e.Reasons})
		}
	}
	return out
}

// stepTrace is what happened at one step of the plan.
func stepTrace(p page, d audit.Detail, step int) (out []traceStep) {
	for _, s := range d.Skips {
		if s.Step == step {
			reasons := []string{p.Word("kind", s.Kind)}
			if s.Detail != "" {
				reasons = append(reasons, s.Detail)
			}
			if s.WaitMS > 0 {
				reasons = append(reasons, p.T("trace.wait", p.Span(milliseconds(s.WaitMS))))
			}
			out = append(out, traceStep{Target: s.Target, Kind: traceSkipped, Reasons: reasons})
		}
	}
	for i := range d.Attempts {
		a := &d.Attempts[i]
		if a.Step != step {
			continue
		}
		t := traceStep{Target: a.Target, Kind: traceFailed, Attempt: a}
		if a.Kind == core.KindNone.String() {
			t.Kind = traceAnswered
		}
		t.BarFrom, t.BarFirst, t.BarTo = bar(a, d.Duration)
		out = append(out, t)
	}
	return out
}

// bar places an attempt in the request's time.
func bar(a *audit.Attempt, whole time.Duration) (from, content, to int) {
	ms := max(1, whole.Milliseconds())
	at := func(n int64) int { return int(min(1000, max(0, n*1000/ms))) }
	from, to = at(a.StartMS), at(a.StartMS+a.DurationMS)
	if to <= from {
		to = min(1000, from+4) // still to be seen
		from = to - 4
	}
	content = to
	if a.FirstMS > 0 {
		content = min(to, max(from, at(a.StartMS+a.FirstMS)))
	}
	return from, content, to
}

// unused says why a step that was planned never came.
func (p page) unused(d audit.Detail) string {
	switch {
	case d.Outcome == core.KindNone.String():
		return p.T("trace.unused.answered")
	case d.Outcome == core.KindCallerGone.String():
		return p.T("trace.unused.gone")
	}
	return p.T("trace.unused.stopped", p.Word("kind", d.Outcome))
}

// summary is the outcome in one sentence.
func (p page) summary(v decisionView) string {
	d := v.D
	failed := 0
	for _, a := range d.Attempts {
		if a.Kind != core.KindNone.String() {
			failed++
		}
	}
	switch {
	case d.Outcome != core.KindNone.String() && len(d.Attempts) == 0:
		return p.T("summary.refused", p.Word("kind", d.Outcome))
	case d.Outcome != core.KindNone.String():
		return p.T("summary.failed", p.Word("kind", d.Outcome), len(d.Attempts), p.Latency(d.Duration))
	case failed > 0:
		return p.T("summary.after", d.Target, p.Latency(d.Duration), failed)
	case v.Plan.Preferred != "" && v.Plan.Preferred != d.Target:
		return p.T("summary.rerouted", d.Target, p.Latency(d.Duration), v.Plan.Preferred)
	}
	return p.T("summary.answered", d.Target, p.Latency(d.Duration))
}

// term is one score's term in thousandths of a point, "–" where it has none.
func (p page) term(s core.Score, name string) string {
	for _, t := range s.Terms {
		if t.Name == name {
			return p.Milli(t.Value)
		}
	}
	return "–"
}

// factRow is one fact with its value, for the table of facts.
type factRow struct{ Name, Value string }

// facts lists what the policy knew of the request, in the recorded words.
func (v decisionView) facts() []factRow {
	f := v.Facts
	yes := strconv.FormatBool
	rows := []factRow{
		{"use_case", f.UseCase}, {"task", string(f.Task)}, {"priority", strconv.Itoa(f.Priority)},
		{"audience", string(f.Audience)}, {"quality", string(f.Quality)},
		{"latency_budget_ms", strconv.Itoa(f.LatencyBudgetMS)}, {"input_tokens", strconv.Itoa(f.InputTokens)},
		{"max_tokens", strconv.Itoa(f.MaxTokens)}, {"stream", yes(f.Stream)}, {"model", f.Model}, {"target", f.Target},
		{"tenant_class", f.TenantClass}, {"language", f.Language}, {"affinity_target", f.AffinityTarget},
		{"drill", yes(f.Drill)}, {"force_fallback", yes(f.ForceFallback)}, {"needs", needs(f.Needs)},
	}
	for i := range rows {
		if rows[i].Value == "" {
			rows[i].Value = "–"
		}
	}
	return rows
}

func needs(n core.Needs) string {
	s := ""
	for _, x := range []struct {
		name string
		set  bool
	}{
		{"tools", n.Tools}, {"images", n.Images}, {"documents", n.Documents},
		{"json_schema", n.JSONSchema}, {"thinking", n.Thinking}, {"prefill", n.Prefill},
	} {
		if x.set && s != "" {
			s += ", "
		}
		if x.set {
			s += x.name
		}
	}
	return s
}

// liveState is what the snapshot said about a target for the decision's use case.
func (v decisionView) liveState(target string) (core.LiveDocument, string, bool) {
	l, ok := v.Live[target]
	return l, l.Circuit[v.D.UseCase], ok
}
