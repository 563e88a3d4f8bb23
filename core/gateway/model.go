package gateway

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/spillway-llm/spillway/core"
)

// autoModel asks for no model in particular, for clients that insist on naming one.
const autoModel = "auto"

// named is what a request's model turned out to name: a target, a use case, or
// nothing.
type named struct{ model, target, useCase string }

// resolve finds out what the caller's model names (R2.6). The strings are the
// catalog's own, so that facts don't point into a request's body.
func resolve(model string, rev *core.Revision, g *core.Grants) (named, *core.Error) {
	if model == "" || model == autoModel {
		return named{}, nil
	}
	if i, ok := rev.Catalog.ByModel(model); ok {
		t := &rev.Catalog.Targets[i]
		if t.ID == model {
			return named{model: t.ID, target: t.ID}, nil
		}
		return named{model: t.Model, target: t.ID}, nil
	}
	if i, ok := rev.Tables.UseCaseIndex(model); ok {
		return named{useCase: rev.Tables.UseCases[i].ID}, nil
	}
	names := append(modelNames(rev.Catalog), g.UseCases...)
	hint := "see GET " + pathModels
	if near := nearest(model, names, 3); len(near) > 0 {
		hint = "nearest are " + strings.Join(near, ", ") + "; all are at GET " + pathModels
	}
	return named{}, refusal(core.KindNotFound, http.StatusNotFound,
		"model %.100q is not configured: %s. Use %q to leave the choice to the policy", model, hint, autoModel)
}

// modelNames are the names that callers may use for targets: ids, and models
// that are no id.
func modelNames(c *core.Catalog) []string {
	names := make([]string, 0, len(c.Targets))
	for i := range c.Targets {
		names = append(names, c.Targets[i].ID)
	}
	for i := range c.Targets {
		if !slices.Contains(names, c.Targets[i].Model) {
			names = append(names, c.Targets[i].Model)
		}
	}
	return names
}

// models serves the list of models, one of them, and everything that has no
// other page.
func (g *Gateway) models(w http.ResponseWriter, r *http.Request) {
	id, one := strings.CutPrefix(r.URL.Path, pathModels+"/")
	f := g.spoken(r)
	switch {
	case r.URL.Path != pathModels && (!one || id == ""):
		g.refuse(w, r, f, wrongPath(r))
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		g.refuse(w, r, f, wrongMethod(r, http.MethodGet))
		return
	}
	c, e := g.identify(r)
	if e != nil {
		g.refuse(w, r, f, e)
		return
	}
	rev := g.cfg.Engine.Revision()
	describe := g.describeOpenAI
	list := listOpenAI
	if f.Wire() == core.WireAnthropic {
		describe, list = g.describeAnthropic, listAnthropic
	}
	var out any
	if one {
		i, ok := rev.Catalog.ByModel(id)
		if !ok {
			_, e := resolve(id, rev, &c.Grants)
			if e == nil {
				e = refusal(core.KindNotFound, http.StatusNotFound, "%.100q is no model: see GET %s", id, pathModels)
			}
			g.refuse(w, r, f, e)
			return
		}
		out = describe(id, &rev.Catalog.Targets[i])
	} else {
		var all []any
		for _, name := range modelNames(rev.Catalog) {
			if i, ok := rev.Catalog.ByModel(name); ok {
				all = append(all, describe(name, &rev.Catalog.Targets[i]))
			}
		}
		out = list(all, modelNames(rev.Catalog))
	}
	writePage(w, http.StatusOK, out)
}

// writePage answers with a JSON document.
func writePage(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		// Only documents of this package come here, and they all have a form.
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	writeJSON(w, status, append(b, '\n'))
}

// unknownDate is what Anthropic's API says for a model without a known release date.
const unknownDate = "1970-01-01T00:00:00Z"

type anthropicModel struct {
	Type           string `json:"type"`
	ID             string `json:"id"`
	DisplayName    string `json:"display_name"`
	CreatedAt      string `json:"created_at"`
	MaxInputTokens int    `json:"max_input_tokens,omitempty"`
	MaxTokens      int    `json:"max_tokens,omitempty"`
}

func (g *Gateway) describeAnthropic(name string, t *core.Target) any {
	display := t.Model + " at " + t.Provider
	if g.cfg.Simulated {
		display += " (simulated)"
	}
	return anthropicModel{
		Type: "model", ID: name, DisplayName: display, CreatedAt: unknownDate,
		MaxInputTokens: t.ContextTokens, MaxTokens: t.MaxOutput,
	}
}

func listAnthropic(all []any, names []string) any {
	return struct {
		Data    []any  `json:"data"`
		HasMore bool   `json:"has_more"`
		FirstID string `json:"first_id"`
		LastID  string `json:"last_id"`
	}{all, false, names[0], names[len(names)-1]} // a catalog is never empty
}

type openAIModel struct {
	ID        string `json:"id"`
	Object    string `json:"object"`
	Created   int64  `json:"created"`
	OwnedBy   string `json:"owned_by"`
	Simulated bool   `json:"simulated,omitempty"`
}

func (g *Gateway) describeOpenAI(name string, t *core.Target) any {
	return openAIModel{ID: name, Object: "model", OwnedBy: t.Vendor, Simulated: g.cfg.Simulated}
}

func listOpenAI(all []any, _ []string) any {
	return struct {
		Object string `json:"object"`
		Data   []any  `json:"data"`
	}{"list", all}
}

// nearest returns up to n of the names that a mistyped one may have meant,
// closest first. What differs in more than half of its letters is no neighbour.
func nearest(name string, names []string, n int) []string {
	const longest = 100
	if len(name) > longest {
		return nil
	}
	type candidate struct {
		name     string
		distance int
	}
	var all []candidate
	for _, c := range names {
		d := distance(strings.ToLower(name), strings.ToLower(c))
		if d <= max(len(name), len(c))/2 {
			all = append(all, candidate{c, d})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var out []string
	for _, c := range all {
		if len(out) < n && !slices.Contains(out, c.name) {
			out = append(out, c.name)
		}
	}
	return out
}

// distance is Levenshtein's: the insertions, deletions and changes of bytes
// between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
