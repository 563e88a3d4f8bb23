package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/console/live"
	"github.com/spillway-llm/spillway/console/storybook"
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/audit"
	"github.com/spillway-llm/spillway/core/circuit"
)

const (
	opusPage = "/console/targets/claude-opus-5-5"
	solPage  = "/console/targets/gpt-6-sol"
)

func says(t *testing.T, a answer, wants ...string) {
	t.Helper()
	s := text(a.body)
	for _, want := range wants {
		if !strings.Contains(s, want) {
			t.Errorf("the page lacks %q:\n%s", want, s)
		}
	}
}

func TestTarget_Page(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	says(t, b.get(opusPage).status(http.StatusOK).wholePage(),
		"claude-opus-5-5 simulated", "Success 12.1% p95 30.00 s First content 380 ms Requests/min 31",
		"assistant Blocked (open) Blocked (open) overloaded 22:05:36 JST (in 23 s) 8.2% (41 tokens)",
		"None: what is computed is in effect.",
		"About 31 requests a minute go elsewhere. For a plain request the policy says, asked at 22:05:13 JST: assistant → gpt-6-sol",
		"overloaded 529 ×20 11-29 22:05:14 JST", "429 rate limited 429 ×10",
		"assistant: Blocked (open) · cause: overloaded · until 22:05:36 JST", "Quota group anthropic",
	)
	says(t, b.get(solPage),
		"assistant Blocked (open) held open by aki Serving (closed) – 22:16:13 JST (in 11m00s)",
		"gpt-6-sol, assistant: held open by aki Why: vendor maintenance until 11-29 22:16:13 JST · 11m00s left Release",
		"payments nobody: the policy has no other target", "No call to this target failed lately.",
		"gpt-6-sol, assistant: held open by aki: vendor maintenance · until 22:16:13 JST",
	)
	says(t, b.get("/console/targets/claude-haiku-5-5"), "batch Probing (half-open) Probing (half-open) first content late with the next call")
	b.get("/console/").has(`<a href="/console/targets/gpt-6-sol">gpt-6-sol</a>`)
}

func TestTarget_Standby(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.book.Rev.Catalog.Targets[4].Labels = map[string]string{"standby": "yes", "team": "core"}
	says(t, b.get("/console/targets/gpt-6-luna"), "simulated standby", "In reserve: it serves when no other target can", "Labels standby: yes, team: core")
	card(t, b.get("/console/"), "gpt-6-luna").has("standby")
	b.get(opusPage).lacks("In reserve")
}

func TestTarget_Unknown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.get("/console/targets/claude-opus-55").status(http.StatusNotFound).wholePage()
	a.has("No target is called claude-opus-55", `href="/console/targets/claude-opus-5-5"`, a.Header.Get("X-Request-Id"))
	if n := strings.Count(a.body, `<li><a href="/console/targets/`); n != 3 {
		t.Errorf("%d names are offered, want 3", n)
	}
	b.get("/console/targets/" + strings.Repeat("x", 5000)).status(http.StatusNotFound)
	b.get("/console/targets/%3Cscript%3E").status(http.StatusNotFound).lacks("<script>").has("&lt;script&gt;")
	for _, action := range []string{"/hold", "/release"} {
		b.post("/console/targets/nobody"+action, "hold", "forced_open", "reason", "x", "minutes", "15").status(http.StatusNotFound).has("No target is called nobody")
	}
	if len(b.book.Overrides) > 0 {
		t.Errorf("something was held: %+v", b.book.Overrides)
	}
}

// An operator must be able to hold a circuit while the history can't be read.
func TestTarget_HistoryIsDown(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *console.Config) { c.History = brokenHistory{} })
	says(t, b.get(solPage).status(http.StatusOK), "The history can&#39;t be read now", "held open by aki", "Put this hold in force")
	b.post(solPage+"/hold", "hold", "observe", "reason", "x", "minutes", "5").status(http.StatusSeeOther)
}

type brokenHistory struct{}

func (brokenHistory) Decisions(context.Context, audit.Filter) ([]audit.Decision, error) {
	return nil, errors.New("disk")
}

func (brokenHistory) Decision(context.Context, string) (audit.Detail, error) {
	return audit.Detail{}, errors.New("disk")
}

func (brokenHistory) Events(context.Context, int64, int64, int, ...string) ([]audit.Event, error) {
	return nil, errors.New("disk")
}

// Callers' own mistakes and leaving are not the target's failures.
func TestTarget_Errors(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.book.History[0]
	for i := range b.book.History {
		b.book.History[i].Attempts = nil
	}
	d.Attempts = nil
	for i, kind := range []string{"connect", "invalid_request", "caller_gone", "none", "connect", "timeout_idle", "a_later_kind", "server_error", "stream_cut", "bad_response"} {
		d.Attempts = append(d.Attempts, audit.Attempt{Number: i + 1, Target: "claude-opus-5-5", Kind: kind, StartMS: int64(i) * 1000})
	}
	d.Attempts = append(d.Attempts, audit.Attempt{Number: 11, Target: "gpt-6-sol", Kind: "overloaded"})
	b.book.History[0] = d
	a := b.get(opusPage)
	part := regexp.MustCompile(`(?s)<section aria-labelledby="title-errors">.*?</section>`).FindString(a.body)
	var got []string
	for _, m := range regexp.MustCompile(`(?s)<th scope="row"[^>]*>([^<]*)<`).FindAllStringSubmatch(part, -1) {
		got = append(got, m[1])
	}
	if want := "malformed answer, stream cut, server error, a_later_kind, stream fell silent"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want the newest five: %q", got, want)
	}
	b.get(opusPage).has(`href="/console/decisions/` + d.ID + `"`)
}

// TestTarget_Log holds that the list has what is about the target, each once,
// whether it came live or from the history.
func TestTarget_Log(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	at := storybook.Now()
	log := func() string {
		a := b.get(solPage)
		return text(regexp.MustCompile(`(?s)<ol id="log-gpt-6-sol".*?</ol>`).FindString(a.body))
	}
	b.con.Record(&core.Transition{At: at.Add(time.Second), Target: "claude-opus-5-5", UseCase: "batch", To: circuit.Closed, Cause: "probes"})
	b.con.Record(&core.Override{At: at.Add(2 * time.Second), Target: "gpt-6-sol", By: core.ByTime, Reason: "because"})
	b.con.Record(&core.Override{At: at.Add(3 * time.Second), UseCase: "batch", Hold: circuit.HoldEmergency, By: "aki", Reason: "slow vendor", Until: at.Add(time.Hour)})
	b.con.Record(&core.Override{At: at.Add(4 * time.Second), UseCase: "batch", By: "mika"})
	b.con.Record(&core.LevelChange{At: at.Add(5 * time.Second), UseCase: "batch"})
	want := "11-29 22:05:17 JST every target, batch: released by mika " +
		"11-29 22:05:16 JST every target, batch: emergency preset by aki: slow vendor · until 23:05:13 JST " +
		"11-29 22:05:15 JST gpt-6-sol, every use case: the hold ended, its time was up. " +
		"11-29 22:01:13 JST gpt-6-sol, assistant: held open by aki: vendor maintenance · until 22:16:13 JST"
	for range 2 {
		if got := log(); got != want {
			t.Errorf("got %q\nwant %q", got, want)
		}
	}
	for i := range 50 {
		b.con.Record(&core.Cooldown{At: at.Add(time.Duration(10+i) * time.Second), Target: "gpt-6-sol"})
	}
	if n := strings.Count(log(), "cools down"); n != 20 {
		t.Errorf("%d events are listed, want 20", n)
	}
}

func TestTarget_Live(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.open(b.serve(), pageState(b.get(opusPage)))
	s.until("a first frame", func(live.Frame) bool { return true })
	b.post(opusPage+"/hold", "hold", "observe", "reason", "new thresholds", "minutes", "30").status(http.StatusSeeOther)
	o := b.book.Overrides[0]
	b.con.Record(&o)
	f := s.until("the hold", func(f live.Frame) bool { return strings.Contains(f.Parts["holds-claude-opus-5-5"], "new thresholds") })
	for part, want := range map[string]string{
		"circuits-claude-opus-5-5": "observed only by admin", "holds-claude-opus-5-5": "every use case: observed only by admin",
		"state-claude-opus-5-5": `data-state="held"`, "log-claude-opus-5-5": "new thresholds",
	} {
		if !strings.Contains(f.Parts[part], want) {
			t.Errorf("%s lacks %q: %s", part, want, f.Parts[part])
		}
	}
	if got := f.Fields["t.claude-opus-5-5.h.claude-opus-5-5..left"]; got != "30m00s left" {
		t.Errorf("the hold's time left is %q in %v", got, f.Fields)
	}
}

func TestTarget_ManyUseCases(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.post(opusPage+"/hold", "hold", "forced_closed", "reason", "a", "minutes", "15")
	b.post(opusPage+"/hold", "hold", "emergency", "use_case", "batch", "everywhere", "1", "reason", "b", "minutes", "15")
	a := b.get(opusPage)
	if n := strings.Count(a.body, "data-release"); n != 2 {
		t.Errorf("%d holds are listed, want each once", n)
	}
	says(t, a, "every target, batch: emergency preset by admin", "claude-opus-5-5, every use case: held closed by admin")
	a.has(fmt.Sprintf(`action="%s/release"`, opusPage), `name="everywhere"`)
}
