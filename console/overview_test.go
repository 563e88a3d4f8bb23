package console_test

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/console/storybook"
	"github.com/spillway-llm/spillway/core"
)

// card returns the HTML of one target's card.
func card(t *testing.T, a answer, target string) answer {
	t.Helper()
	m := regexp.MustCompile(`(?s)<article class="card" id="target-` + target + `".*?</article>`).FindString(a.body)
	if m == "" {
		t.Fatalf("no card of %s", target)
	}
	return answer{t, a.Response, m}
}

func TestOverview_Cards(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.get("/console/").status(http.StatusOK).wholePage()
	for _, tc := range []struct {
		target string
		want   string
	}{
		{"claude-opus-5-5", "Blocked (open) assistant Blocked (open) · overloaded · for 7 s 23 s left"},
		{"claude-opus-5-5", "→ gpt-6-sol would serve Success 12.1% p95 30.00 s First content 380 ms Requests/min 31 Retry budget 8.2% (41 tokens)"},
		{"claude-sonnet-5", "Cooling down (429) All keys wait after a 429. 17 s left"},
		{"claude-haiku-5-5", "Probing (half-open) batch Probing (half-open) · first content late · for 2 s"},
		{"gpt-6-sol", "Held by operator computed: serving assistant held open by aki · computed: serving · for 4m00s 11m00s left"},
		{"gpt-6-luna", "No traffic (closed) Success – p95 – First content – Requests/min 0"},
	} {
		got := card(t, a, tc.target)
		got.has("simulated")
		if s := text(got.body); !regexp.MustCompile(regexp.QuoteMeta(tc.want)).MatchString(s) {
			t.Errorf("%s: %q lacks %q", tc.target, s, tc.want)
		}
	}
	card(t, a, "claude-sonnet-5").lacks("overloaded", "Blocked")
}

func TestOverview_WorstFirst(t *testing.T) {
	t.Parallel()
	a := newBench(t).get("/console/")
	var got []string
	for _, m := range regexp.MustCompile(`data-target="([^"]+)"`).FindAllStringSubmatch(a.body, -1) {
		got = append(got, m[1])
	}
	want := []string{"claude-opus-5-5", "gpt-6-sol", "claude-haiku-5-5", "claude-sonnet-5", "gpt-6-luna"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestOverview_LevelsAndCounts(t *testing.T) {
	t.Parallel()
	a := newBench(t).get("/console/")
	s := text(a.body)
	for _, want := range []string{
		"assistant degraded for 7 s", "payments unhealthy", "1 blocked", "1 cooling down", "1 held", "1 probing", "0 serving", "1 no traffic",
		"151 requests/min", "policy revision 3 · a91f03c7",
	} {
		if !regexp.MustCompile(regexp.QuoteMeta(want)).MatchString(s) {
			t.Errorf("the overview lacks %q", want)
		}
	}
	a.has("<title>(1 blocked) Overview · spillway</title>", "icon-degraded.svg", `href="/console/?state=blocked"`)
}

// TestOverview_ActingRevision holds that the page names what acts, not what was
// activated last: the watchdog may have taken that one out.
func TestOverview_ActingRevision(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.get("/console/").has("policy revision 3 · a91f03c7")
	b.con.Record(&core.PolicyChange{At: storybook.Now(), Action: "activate", Revision: "beef", Number: 4, By: "admin"})
	b.get("/console/").has("policy revision a91f03c7").lacks("policy revision 4 ·")
}

func TestOverview_Filter(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.get("/console/?state=blocked").status(http.StatusOK).has(`data-target="claude-opus-5-5"`, "only: blocked", `data-order="order.blocked"`)
	a.lacks(`data-target="gpt-6-luna"`)
	b.get("/console/?state=unusable").has("No target is in this state")
	b.get("/console/?state=nonsense").status(http.StatusNotFound)
}

func TestOverview_Unusable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := storybook.Healthy(b.book.Rev)
	s.Targets[0].Healthy, s.Targets[0].Unusable = false, "key out of service: billing"
	b.book.Show(s)
	card(t, b.get("/console/"), "claude-opus-5-5").has(`data-state="unusable"`, "Out of service", "key out of service: no credit")
	b.lang = "ja"
	card(t, b.get("/console/"), "claude-opus-5-5").has("使用不可", "キー使用停止：残高なし")
}

func TestOverview_FirstRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.get("/console/").has("No requests yet", "curl http://127.0.0.1:8080/v1/messages", "spw_simulated_admin_key")
	b.con.Record(&core.Decision{At: storybook.Now().Add(-25 * time.Minute)})
	b.get("/console/").lacks("No requests yet", "curl").has("No requests since 21:40:13 JST")

	withoutKey := newBench(t, func(c *console.Config) { c.ExampleKey = "" })
	withoutKey.get("/console/").has("$SPILLWAY_KEY")
}

func TestOverview_WhoServesInstead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := core.Decision{At: storybook.Now().Add(-5 * time.Second), Plan: &core.Plan{Preferred: "claude-opus-5-5"}}
	for _, target := range []string{"gpt-6-sol", "gpt-6-sol", "gpt-6-luna", "gpt-6-sol", "claude-opus-5-5", ""} {
		d.Target = target
		b.con.Record(&d)
	}
	card(t, b.get("/console/"), "claude-opus-5-5").has("→ gpt-6-sol serves 75% of its requests")
}

func TestOverview_Feed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	at := storybook.Now()
	for _, e := range []core.Event{
		&core.LevelChange{At: at.Add(time.Second), UseCase: "batch", From: core.Degraded, To: core.Healthy},
		&core.KeyState{At: at.Add(2 * time.Second), Provider: "openai", Key: "main", Usable: true, By: "admin"},
		&core.PolicyChange{At: at.Add(3 * time.Second), Action: "rollback", Number: 7, By: "aki", Reason: "slower"},
		&core.ConfigChange{At: at.Add(4 * time.Second), By: "admin"},
		&core.FaultChange{At: at.Add(5 * time.Second), Vendor: "openai", By: "admin"},
		&core.BudgetSample{At: at.Add(6 * time.Second), Target: "unseen"},
	} {
		b.con.Record(e)
	}
	a := b.get("/console/")
	feed := text(regexp.MustCompile(`(?s)<ol id="feed".*?</ol>`).FindString(a.body))
	want := []string{
		"Simulated vendor openai was healed by admin.", "The configuration was reloaded by admin.",
		"Rolled back as revision 7 by aki: slower", "Key openai/main is back in service (admin).", "batch is healthy now (was degraded).",
		"claude-haiku-5-5, batch: Probing (half-open) · cause: time is up", "claude-sonnet-5 cools down after a 429 · until 22:05:30 JST",
		"assistant is degraded now (was healthy).", "claude-opus-5-5, assistant: Blocked (open) · cause: overloaded · until 22:05:36 JST",
		"Simulated vendor anthropic was broken (529 overloaded) by admin.", "gpt-6-sol, assistant: held open by aki: vendor maintenance",
		"Revision 3 was activated by mika: weigh success higher", "Key openai/main left service: no credit (vendor).",
		"A new configuration from admin was refused: targets[2].provider:", "Missing audit records: 17 (the process ended suddenly).", "The server started.",
	}
	from := 0
	for _, w := range want {
		loc := regexp.MustCompile(regexp.QuoteMeta(w)).FindStringIndex(feed[from:])
		if loc == nil {
			t.Fatalf("the feed lacks %q, or has it in another place:\n%s", w, feed)
		}
		from += loc[1]
	}
}

func TestVendors_BreakAndHeal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.htmx("/console/vendors/anthropic/fault", "fault", "overloaded").status(http.StatusOK).fragment().
		has(`id="vendor-anthropic"`, `data-fault="overloaded"`, "broken: 529 overloaded")
	if got := b.book.Vendors()[0].Fault; got != console.FaultOverloaded {
		t.Errorf("the vendor's fault is %q", got)
	}
	b.post("/console/vendors/anthropic/fault", "fault", "").status(http.StatusSeeOther).leadsTo("/console/")
	if got := b.book.Vendors()[0].Fault; got != console.FaultNone {
		t.Errorf("the vendor's fault is %q", got)
	}
	b.htmx("/console/vendors/anthropic/fault", "fault", "meteor").status(http.StatusUnprocessableEntity).fragment().has("There is no such fault")
	b.post("/console/vendors/nobody/fault", "fault", "cut").status(http.StatusNotFound)
	for _, f := range console.Faults() {
		b.htmx("/console/vendors/openai/fault", "fault", string(f)).status(http.StatusOK)
	}

	real := newBench(t, func(c *console.Config) { c.Vendors = nil })
	real.get("/console/").lacks("Break something")
	real.post("/console/vendors/anthropic/fault", "fault", "cut").status(http.StatusNotFound)
}

// TestErrors_Fragments is field-failures R43 (c): an internal error reaches the
// operator as a piece for htmx and as a page otherwise, and never its cause.
func TestErrors_Fragments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.book.Fail = errors.New("disk on fire at /secret/path")
	a := b.htmx("/console/vendors/anthropic/fault", "fault", "cut").status(http.StatusInternalServerError).fragment()
	a.has("The server could not do this", "Nothing was changed", a.Header.Get("X-Request-Id")).lacks("fire", "/secret/path")
	if a.Header.Get("HX-Retarget") != "#notice" || a.Header.Get("HX-Reswap") != "innerHTML" {
		t.Errorf("the fragment goes to %q by %q", a.Header.Get("HX-Retarget"), a.Header.Get("HX-Reswap"))
	}
	b.get("/console/decisions").status(http.StatusInternalServerError).wholePage().lacks("fire", "Nothing was changed")
	b.get("/console/").status(http.StatusOK)
}

func TestSettings_Reload(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.post("/console/settings/reload").status(http.StatusSeeOther).leadsTo("/console/settings?reloaded=1")
	b.get("/console/settings?reloaded=1").has("was read and is in force")
	b.book.ReloadErr = errors.Join(console.ErrRefused, errors.New(`line 3: unknown field "falbacks", did you mean "fallbacks"?`))
	b.post("/console/settings/reload").status(http.StatusUnprocessableEntity).wholePage().
		has("did you mean", "The configuration in force is unchanged")
	b.book.ReloadErr = errors.New("open /etc/secret.yaml")
	b.post("/console/settings/reload").status(http.StatusInternalServerError).lacks("secret.yaml")

	fixed := newBench(t, func(c *console.Config) { c.Reloader = nil })
	fixed.get("/console/settings").lacks(`id="reload"`)
	fixed.post("/console/settings/reload").status(http.StatusNotFound)
}

// TestOverview_Unpriced holds that a target whose cost nobody knows is told from
// one that is cheap.
func TestOverview_Unpriced(t *testing.T) {
	t.Parallel()
	a := newBench(t).get("/console/")
	card(t, a, "gpt-6-luna").has("no price: cost unknown")
	card(t, a, "gpt-6-sol").lacks("no price")
}

// TestOverview_Keys holds that a pool of keys that shrinks shows, and asks for
// somebody before it is empty.
func TestOverview_Keys(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := storybook.Healthy(b.book.Revision())
	s.Providers = []core.ProviderLive{{UsableKeys: 3, Keys: 5}, {UsableKeys: 2, Keys: 5}}
	b.book.Show(s)
	a := b.get("/console/")
	card(t, a, "claude-opus-5-5").has("3 of 5 keys usable").lacks("only")
	card(t, a, "gpt-6-sol").has("only 2 of 5 keys usable: look after them")
	s.Providers[0].UsableKeys = 5
	b.book.Show(s)
	card(t, b.get("/console/"), "claude-opus-5-5").lacks("keys usable")
}
