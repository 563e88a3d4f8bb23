package gateway

import (
	"net/http"

	"github.com/spillway-llm/spillway/core/wire"
)

// complete serves a request for an answer.
func (g *Gateway) complete(w http.ResponseWriter, r *http.Request, f wire.Format, path string) {
	if r.Method != http.MethodPost {
		g.refuse(w, r, f, wrongMethod(r, http.MethodPost))
		return
	}
	c, e := g.identify(r)
	if e != nil {
		g.refuse(w, r, f, e)
		return
	}
	out := newReply(g, w, f)
	defer out.close()
	x := g.exchanges.Begin(f.Wire(), out)
	defer x.End()
	if e = g.receive(x, w, r); e == nil {
		e = x.Understand(r, path, c.KeyID, &c.Grants)
	}
	if e != nil {
		g.refuse(w, r, f, e)
		return
	}
	if x.Streamed() {
		g.keeper.add(out)
		defer g.keeper.remove(out)
	}
	// The caller was told of a failure, and the decision says it too.
	_ = x.Run(r.Context())
}
