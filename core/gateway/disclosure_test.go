package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
)

// told sets the texts of a fallback for paid and admin keys.
func told(tb *core.Tables) {
	noRetries(tb)
	for u := range tb.Disclosures {
		for a := 1; a <= 2; a++ {
			tb.Disclosures[u][a][core.SituationFallback][0].Text = "now on {target} (normally {preferred}){age}"
			tb.Disclosures[u][a][core.SituationFallback][1].Text = "現在は{target}です"
		}
	}
}

// spillwayHeaders are the answer's Spillway headers by their short names.
func spillwayHeaders(h http.Header) map[string]string {
	out := map[string]string{}
	for name, v := range h {
		if s, ok := strings.CutPrefix(name, "Spillway-"); ok {
			out[s] = v[0]
		}
	}
	return out
}

// TestDisclosure_ByAudience holds R11.1: free keys learn the decision's id and
// nothing else, paid ones who answered, admins everything.
func TestDisclosure_ByAudience(t *testing.T) {
	t.Parallel()
	busy := says(529, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`)
	good := messageStart + messageDelta("x") + messageEnd
	text := "now on claude-b (normally claude)"
	paid := map[string]string{"Target": "claude-b", "Policy": "default", "Fallback": "true", "Degraded": text}
	admin := map[string]string{
		"Target": "claude-b", "Policy": "default", "Fallback": "true", "Degraded": text, "Attempts": "2; claude=overloaded; claude-b",
	}
	tests := []struct {
		key, language string
		want          map[string]string
		disclosed     core.Disclosed
	}{
		{freeKey, "en", nil, core.Disclosed{Detail: core.DetailNone}},
		{paidKey, "en", paid, core.Disclosed{Detail: core.DetailTarget, Text: text}},
		{adminKey, "en", admin, core.Disclosed{Detail: core.DetailAdmin, Text: text}},
		{paidKey, "ja", map[string]string{
			"Target": "claude-b", "Policy": "default", "Fallback": "true",
			"Degraded": "UTF-8'ja'%E7%8F%BE%E5%9C%A8%E3%81%AFclaude-b%E3%81%A7%E3%81%99",
		}, core.Disclosed{Detail: core.DetailTarget, Text: "現在はclaude-bです"}},
	}
	for _, tt := range tests {
		for _, stream := range []bool{false, true} {
			t.Run(tt.key+"/"+tt.language, func(t *testing.T) {
				t.Parallel()
				answer, ask := says(200, messageAnswer), askMessages
				if stream {
					answer, ask = streams(good), askMessagesStream
				}
				r := twoRig(t, newVendor(t, busy), newVendor(t, answer), setup{tables: told})
				got := r.ask(t, "/v1/messages", ask, "X-Api-Key", tt.key, "Accept-Language", tt.language)
				headers := spillwayHeaders(got.header)
				d := r.tape.decision(t, 1)
				if headers["Decision"] != d.ID {
					t.Errorf("decision %q, recorded %q", headers["Decision"], d.ID)
				}
				delete(headers, "Decision")
				if len(headers) != len(tt.want) {
					t.Errorf("told %v, want %v", headers, tt.want)
				}
				for k, v := range tt.want {
					if headers[k] != v {
						t.Errorf("%s: %q, want %q", k, headers[k], v)
					}
				}
				if d.Disclosed != tt.disclosed {
					t.Errorf("recorded %+v, want %+v", d.Disclosed, tt.disclosed)
				}
			})
		}
	}
}

// TestDisclosure_Circuits holds that admins see the circuits that are not closed.
func TestDisclosure_Circuits(t *testing.T) {
	t.Parallel()
	busy := says(529, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`)
	r := twoRig(t, newVendor(t, busy), newVendor(t, says(200, messageAnswer)), setup{tables: func(tb *core.Tables) {
		noRetries(tb)
		tb.Circuits[0][0].FailureThreshold = 1
	}})
	r.ask(t, "/v1/messages", askMessages, "X-Api-Key", adminKey)
	got := r.ask(t, "/v1/messages", askMessages, "X-Api-Key", adminKey)
	if c := got.header.Get("Spillway-Circuits"); c != "claude=open" {
		t.Errorf("circuits %q", c)
	}
	if a := got.header.Get("Spillway-Attempts"); a != "1; claude-b" {
		t.Errorf("attempts %q: an open circuit is skipped without one", a)
	}
}
