package gateway

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/exchange"
)

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
			_, e := g.exchanges.Resolve(id, &c.Grants)
			if e == nil {
				e = exchange.Refusal(core.KindNotFound, http.StatusNotFound, "%.100q is no model: see GET %s", id, pathModels)
			}
			g.refuse(w, r, f, e)
			return
		}
		out = describe(id, &rev.Catalog.Targets[i])
	} else {
		var all []any
		for _, name := range exchange.ModelNames(rev.Catalog) {
			if i, ok := rev.Catalog.ByModel(name); ok {
				all = append(all, describe(name, &rev.Catalog.Targets[i]))
			}
		}
		out = list(all, exchange.ModelNames(rev.Catalog))
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
