package gateway

import (
	"net/http"
	"strconv"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/exchange"
	"github.com/spillway-llm/spillway/core/wire"
)

func unauthenticated(message string) *core.Error {
	return exchange.Refusal(core.KindInvalidRequest, http.StatusUnauthorized, "%s", message)
}

func wrongMethod(r *http.Request, allowed string) *core.Error {
	return exchange.Refusal(core.KindInvalidRequest, http.StatusMethodNotAllowed, "%.20s is not possible here: use %s %.100s",
		r.Method, allowed, r.URL.Path)
}

func wrongPath(r *http.Request) *core.Error {
	if r.URL.Path == "/v1/responses" {
		return exchange.Refusal(core.KindNotFound, http.StatusNotFound,
			"the Responses API is not served here: set the client to Chat Completions, which is at %s", pathCompletions)
	}
	known := []string{pathMessages, pathCompletions, pathModels, pathPlan, "/health"}
	hint := ""
	if near := exchange.Nearest(r.URL.Path, known, 1); len(near) > 0 {
		hint = "; did you mean " + near[0] + "?"
	}
	return exchange.Refusal(core.KindNotFound, http.StatusNotFound,
		"nothing at %.100s%s Anthropic clients take this gateway's address as base URL, OpenAI clients its address with /v1",
		r.URL.Path, hint)
}

// refuse answers a request that never reached the engine.
func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, f wire.Format, e *core.Error) {
	id := g.refusalID()
	body, status := f.AppendError(nil, e, id)
	if e.Status != 0 {
		status = e.Status
	}
	h := w.Header()
	switch status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusMethodNotAllowed:
		h.Set("Allow", allowedAt(r.URL.Path))
	}
	h[exchange.RequestIDHeader(f.Wire())] = []string{id}
	writeJSON(w, status, body)
}

// allowedAt names the method of a path.
func allowedAt(path string) string {
	switch path {
	case pathMessages, "/messages", pathCompletions, "/chat/completions", pathPlan:
		return http.MethodPost
	}
	return http.MethodGet
}

// refusalID names a request without a decision, so that a report and a
// packet capture can be matched.
func (g *Gateway) refusalID() string {
	return "refused-" + strconv.FormatInt(g.cfg.Clock.Wall().UnixMilli(), 36) + "-" +
		strconv.FormatUint(g.refused.Add(1), 36)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	// A failed write is a caller that left; there is nobody to tell.
	_, _ = w.Write(body)
}
