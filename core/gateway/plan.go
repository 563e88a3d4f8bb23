package gateway

import (
	"encoding/json"
	"net/http"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire"
)

// planned is the answer of /v1/plan. How much of the plan it shows depends on
// the key's audience, as a disclosure does (R11.1).
type planned struct {
	// Possible reports that there is a target to try.
	Possible bool       `json:"possible"`
	Facts    core.Facts `json:"facts"`
	// Steps and Preferred are told to paid and admin keys.
	Steps     []core.Step `json:"steps,omitempty"`
	Preferred string      `json:"preferred,omitempty"`
	NoTarget  string      `json:"no_target,omitempty"`
	// Plan is everything, for admin keys.
	Plan json.RawMessage `json:"plan,omitempty"`
}

// plan says what would be done with a request, without doing it (R2.6).
func (g *Gateway) plan(w http.ResponseWriter, r *http.Request) {
	f := g.spoken(r)
	if r.Method != http.MethodPost {
		g.refuse(w, r, f, wrongMethod(r, http.MethodPost))
		return
	}
	c, e := g.identify(r)
	if e != nil {
		g.refuse(w, r, f, e)
		return
	}
	// Nothing is sent: the exchange is there to read and to understand.
	x := g.exchanges.Begin(f.Wire(), nil)
	defer x.End()
	if e = g.receive(x, w, r); e == nil {
		f = g.written(r, x.Body())
		x.Speak(f.Wire())
		e = x.Understand(r, pathPlan, c.KeyID, &c.Grants)
	}
	if e != nil {
		g.refuse(w, r, f, e)
		return
	}
	facts := &x.Request.Facts
	p := g.cfg.Engine.Plan(facts)
	out := planned{Possible: len(p.Steps) > 0, Facts: *facts}
	if facts.Audience != core.AudienceFree {
		out.Steps, out.Preferred, out.NoTarget = p.Steps, p.Preferred, p.NoTarget
	}
	if facts.Audience == core.AudienceAdmin {
		_, out.Plan = p.Document()
	}
	writePage(w, http.StatusOK, out)
}

// written guesses the format that a body is written in: the header decides,
// then the fields that only Anthropic's format has.
func (g *Gateway) written(r *http.Request, body []byte) wire.Format {
	var fields map[string]json.RawMessage
	if len(r.Header["Anthropic-Version"]) > 0 || json.Unmarshal(body, &fields) != nil {
		return g.spoken(r)
	}
	for _, name := range [...]string{"system", "stop_sequences", "top_k", "thinking", "output_config"} {
		if _, ok := fields[name]; ok {
			return g.anthropic
		}
	}
	return g.openai
}
