package gateway

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire"
)

// refusal is the gateway's own no to a request, with a message that says what
// to do. Status and kind decide how a format words it.
func refusal(kind core.Kind, status int, format string, args ...any) *core.Error {
	return &core.Error{Op: "receive request", Kind: kind, Status: status, Message: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) *core.Error {
	return refusal(core.KindInvalidRequest, http.StatusBadRequest, format, args...)
}

func unauthenticated(message string) *core.Error {
	return refusal(core.KindInvalidRequest, http.StatusUnauthorized, "%s", message)
}

func wrongMethod(r *http.Request, allowed string) *core.Error {
	return refusal(core.KindInvalidRequest, http.StatusMethodNotAllowed, "%.20s is not possible here: use %s %.100s",
		r.Method, allowed, r.URL.Path)
}

func wrongPath(r *http.Request) *core.Error {
	if r.URL.Path == "/v1/responses" {
		return refusal(core.KindNotFound, http.StatusNotFound,
			"the Responses API is not served here: set the client to Chat Completions, which is at %s", pathCompletions)
	}
	known := []string{pathMessages, pathCompletions, pathModels, pathPlan, "/health"}
	hint := ""
	if near := nearest(r.URL.Path, known, 1); len(near) > 0 {
		hint = "; did you mean " + near[0] + "?"
	}
	return refusal(core.KindNotFound, http.StatusNotFound,
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
	h[requestIDHeader(f)] = []string{id}
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

// requestIDHeader is where each vendor's SDKs look for the request's id.
func requestIDHeader(f wire.Format) string {
	if f.Wire() == core.WireAnthropic {
		return "Request-Id"
	}
	return "X-Request-Id"
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	// A failed write is a caller that left; there is nobody to tell.
	_, _ = w.Write(body)
}

// sdkPatience is the longest Retry-After that the SDKs obey: above it openai's
// falls back to its own short backoff (wire.md 2.3).
const sdkPatience = 60 * time.Second

// adviseRetry tells the caller's SDK whether and when to try again: the layers
// must not multiply (R4.5).
func adviseRetry(h http.Header, e *core.Error, attempts int) {
	if e.RetryAfter > 0 {
		h["Retry-After"] = []string{strconv.FormatInt(int64(math.Ceil(e.RetryAfter.Seconds())), 10)}
	}
	wait := e.RetryAfter > 0 && e.RetryAfter <= sdkPatience
	throttled := e.Kind == core.KindRateLimited || attempts == 0
	if throttled && wait && !e.Spent {
		return // obeying the hint is the right retry
	}
	if attempts > 0 || e.RetryAfter > sdkPatience {
		h["X-Should-Retry"] = []string{"false"}
	}
}
