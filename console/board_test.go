package console_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/console/live"
	"github.com/spillway-llm/spillway/console/storybook"
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// tab is an open page with its live socket.
type tab struct {
	t    *testing.T
	conn *websocket.Conn
}

func (b *bench) serve() string {
	ts := httptest.NewServer(b.con)
	b.t.Cleanup(ts.Close)
	b.t.Cleanup(b.con.Close)
	return ts.URL
}

func (b *bench) dial(url, query, sid, origin string) (*websocket.Conn, *http.Response, error) {
	h := http.Header{}
	if origin != "" {
		h.Set("Origin", origin)
	}
	if sid != "" {
		h.Set("Cookie", "sid="+sid)
	}
	if b.lang != "" {
		h.Set("Accept-Language", b.lang)
	}
	conn, resp, err := websocket.DefaultDialer.Dial(strings.Replace(url, "http", "ws", 1)+"/console/ws?"+query, h)
	if err == nil {
		b.t.Cleanup(func() { _ = conn.Close() })
	}
	return conn, resp, err
}

func (b *bench) open(url, query string) tab {
	b.t.Helper()
	conn, _, err := b.dial(url, query, b.sid, url)
	if err != nil {
		b.t.Fatal(err)
	}
	return tab{b.t, conn}
}

// until reads frames until one satisfies ok.
func (s tab) until(what string, ok func(live.Frame) bool) live.Frame {
	s.t.Helper()
	if err := s.conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	for {
		var f live.Frame
		if err := s.conn.ReadJSON(&f); err != nil {
			s.t.Fatalf("waiting for %s: %v", what, err)
		}
		if ok(f) {
			return f
		}
	}
}

func (s tab) closeCode() int {
	s.t.Helper()
	if err := s.conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	for {
		if _, _, err := s.conn.ReadMessage(); err != nil {
			closed, ok := err.(*websocket.CloseError)
			if !ok {
				s.t.Fatalf("the socket ended without a close code: %v", err)
			}
			return closed.Code
		}
	}
}

// pageState is where a page stands: what live.js reads from its body.
func pageState(a answer) string {
	m := regexp.MustCompile(`data-epoch="([^"]*)" data-seq="([^"]*)"`).FindStringSubmatch(a.body)
	if m == nil {
		a.t.Fatal("the page does not say where it stands")
	}
	return "epoch=" + m[1] + "&since=" + m[2]
}

func TestSocket_TransitionShowsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	url := b.serve()
	b.book.Show(storybook.Healthy(b.book.Rev))
	s := b.open(url, pageState(b.get("/console/")))
	s.until("a first frame", func(f live.Frame) bool {
		if len(f.Parts) > 0 {
			t.Errorf("a page that was just rendered gets parts again: %v", f.Parts)
		}
		return true
	})

	b.book.Show(storybook.Outage(b.book.Rev))
	e := core.Transition{
		At: storybook.Now(), Target: "claude-opus-5-5", UseCase: "assistant", From: circuit.Closed, To: circuit.Open,
		Cause: "overloaded", Until: storybook.Now().Add(23 * time.Second),
	}
	b.con.Record(&e)
	e = core.Transition{} // the recorder must have kept nothing of it
	f := s.until("the card", func(f live.Frame) bool { return f.Parts["state-claude-opus-5-5"] != "" })
	part := f.Parts["state-claude-opus-5-5"]
	if !strings.Contains(part, `data-state="blocked"`) || strings.Contains(part, "23 s left") {
		t.Errorf("the part must have the state and leave its fields out: %s", part)
	}
	for key, want := range map[string]string{
		"t.claude-opus-5-5.c.assistant.left": "23 s left", "t.claude-opus-5-5.success": "12.1%", "count.blocked": "1",
		"title": "(1 blocked) ", "t.claude-opus-5-5.budget": "82",
	} {
		if got := f.Fields[key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if !strings.HasPrefix(f.Fields["order."], "claude-opus-5-5 gpt-6-sol") || f.Fields["order.blocked"] != "claude-opus-5-5" {
		t.Errorf("the orders are %q and %q", f.Fields["order."], f.Fields["order.blocked"])
	}
	if note := f.Note; note != "" && !strings.Contains(note, "Blocked (open)") {
		t.Errorf("announced %q", note)
	}
}

// TestSocket_FieldsMatchThePage holds that a patched page equals a fresh one:
// every field of the page is on the board, with the page's own text.
func TestSocket_FieldsMatchThePage(t *testing.T) {
	t.Parallel()
	for _, lang := range []string{"en", "ja"} {
		b := newBench(t)
		b.lang = lang
		url := b.serve()
		a := b.get("/console/")
		for i := range b.book.Rev.Catalog.Targets {
			a.body += b.get("/console/targets/" + b.book.Rev.Catalog.Targets[i].ID).status(http.StatusOK).body
		}
		f := b.open(url, "epoch=other&since=0").until("everything", func(f live.Frame) bool { return len(f.Fields) > 0 })
		found := 0
		for _, m := range regexp.MustCompile(`<span data-f="([^"]+)">([^<]*)</span>`).FindAllStringSubmatch(a.body, -1) {
			if got, ok := f.Fields[m[1]]; !ok || got != m[2] {
				t.Errorf("%s: the page says %q, the board %q (%t)", m[1], m[2], got, ok)
			}
			found++
		}
		if found < 100 {
			t.Errorf("only %d fields compared", found)
		}
		for id := range f.Parts {
			a.has(`id="` + id + `"`)
		}
	}
}

func TestSocket_Refusals(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	url := b.serve()
	for _, origin := range []string{"", "null", "https://evil.example"} {
		if _, resp, err := b.dial(url, "", b.sid, origin); err == nil || resp.StatusCode != http.StatusForbidden {
			t.Errorf("origin %q: %v", origin, err)
		}
	}
	for _, sid := range []string{"", "wrong", b.book.SignedIn(true)} {
		conn, _, err := b.dial(url, "", sid, url)
		if err != nil {
			t.Fatal(err)
		}
		if code := (tab{t, conn}).closeCode(); code != live.CloseSessionEnded {
			t.Errorf("session %q: close code %d, want %d", sid, code, live.CloseSessionEnded)
		}
	}
}

func TestSocket_EndsWithTheSession(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.open(b.serve(), "")
	s.until("a first frame", func(live.Frame) bool { return true })
	b.post("/console/sign-out").status(http.StatusSeeOther)
	if code := s.closeCode(); code != live.CloseSessionEnded {
		t.Errorf("close code %d, want %d", code, live.CloseSessionEnded)
	}
}

func TestSocket_CloseSaysGoingAway(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.open(b.serve(), "")
	s.until("a first frame", func(live.Frame) bool { return true })
	done := make(chan struct{})
	go func() { defer close(done); b.con.Close() }()
	if code := s.closeCode(); code != websocket.CloseGoingAway {
		t.Errorf("close code %d, want %d", code, websocket.CloseGoingAway)
	}
	<-done
	b.con.Close() // again is allowed
	b.get("/console/").status(http.StatusOK)
}

func TestSocket_DecisionsTail(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	url := b.serve()
	b.book.Lock()
	newest := b.book.History[:6]
	b.book.History = b.book.History[6:]
	b.book.Unlock()
	a := b.get("/console/decisions?outcome=failed")
	m := regexp.MustCompile(`data-live="/console/ws\?([^"]*)"`).FindStringSubmatch(a.body)
	if m == nil {
		t.Fatal("the list has no live tail")
	}
	s := b.open(url, strings.ReplaceAll(m[1], "&amp;", "&"))
	s.until("an empty tail", func(f live.Frame) bool { return f.Fields["new"] == "" })
	b.book.Lock()
	b.book.History = append(newest[:6:6], b.book.History...)
	b.book.Unlock()
	b.con.Record(&core.Decision{At: storybook.Now()})
	f := s.until("new rows", func(f live.Frame) bool { return f.Fields["new"] != "" })
	if got, want := f.Fields["new"], "2 new – show"; got != want {
		t.Errorf("got %q, want %q: only rows that pass the filter count", got, want)
	}
}

// TestRecord_Allocations does not run in parallel: it counts allocations.
func TestRecord_Allocations(t *testing.T) {
	b := newBench(t)
	d := &core.Decision{At: storybook.Now(), Target: "a", Plan: &core.Plan{Preferred: "b"}}
	b.con.Record(d)
	if n := testing.AllocsPerRun(100, func() { b.con.Record(d) }); n > 0 {
		t.Errorf("recording a decision allocates %v times", n)
	}
}

func TestRecord_NeverBlocks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 1000 {
		b.con.Record(&core.Transition{At: storybook.Now(), Target: "many"})
		b.con.Record(&core.BudgetSample{})
	}
	if n := strings.Count(b.get("/console/").body, "many, "); n != 30 {
		t.Errorf("the feed shows %d events, want its 30", n)
	}
}

func TestNew_Incomplete(t *testing.T) {
	t.Parallel()
	cfg := storybook.New().Config()
	cfg.History = nil
	if _, err := console.New(cfg); err == nil || !strings.Contains(err.Error(), "History is not set") {
		t.Errorf("got %v", err)
	}
}
